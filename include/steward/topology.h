/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a CPU is and where it sits. Filled by the loader from sysfs before the
 * load, constant afterwards.
 */
#pragma once

#include "platform.h"

/* Highest number of CPU ids (nr_cpu_ids) supported; the loader refuses more. */
#define STEWARD_MAX_CPUS 1024

/* No CPU: an id that no CPU has. */
#define STEWARD_NO_CPU (-1)

/* Bits of steward_cpu.flags. */
#define STEWARD_CPU_POSSIBLE 1u /* the id exists */
#define STEWARD_CPU_QUIET 2u	/* nohz_full: must not get the timer by itself */

/* Capacity of the fastest CPU of the machine, as the kernel has it. */
#define STEWARD_CAPACITY_FULL 1024

/* One CPU's place. Ids of llc and node are dense, from 0, in sysfs order.
 * Written by the loader before the load; read by everybody.
 */
struct steward_cpu {
	__u16 llc;
	__u16 node;
	__u16 core;
	__u16 flags;
	__u16 capacity; /* speed, to STEWARD_CAPACITY_FULL */
};

STEWARD_ASSERT((STEWARD_MAX_CPUS & (STEWARD_MAX_CPUS - 1)) == 0, "CPU ids are masked");

/* A CPU id as an index that the verifier can see is in bounds. The empty
 * assembly keeps the compiler from masking earlier and spilling the result,
 * whose bounds the verifier forgets in loops.
 */
STEWARD_INLINE __u32 steward_index(__u32 cpu)
{
	__asm__ volatile("" : "+r"(cpu));
	return cpu & (STEWARD_MAX_CPUS - 1);
}

/* How far apart two CPUs are: the cost class of moving a task between them. */
enum steward_level {
	STEWARD_LEVEL_LLC = 0,	   /* same last-level cache */
	STEWARD_LEVEL_NODE = 1,	   /* same NUMA node, other cache */
	STEWARD_LEVEL_MACHINE = 2, /* other node */
	STEWARD_LEVEL_NR = 3,
};

STEWARD_INLINE enum steward_level steward_level_between(const volatile struct steward_cpu *a,
							const volatile struct steward_cpu *b)
{
	if (a->llc == b->llc)
		return STEWARD_LEVEL_LLC;
	if (a->node == b->node)
		return STEWARD_LEVEL_NODE;
	return STEWARD_LEVEL_MACHINE;
}
