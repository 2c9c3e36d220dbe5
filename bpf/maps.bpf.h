/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every map and every global. Nothing else under bpf/ may define one, so that
 * this file answers "what state is there, and who writes it".
 */
#pragma once

/* Set by the loader before the load, constant afterwards: the verifier removes
 * what they switch off.
 */
const volatile __u32 abi_version = STEWARD_ABI_VERSION;
const volatile __u32 nr_cpu_ids = 1;
const volatile bool may_read_kernel = true; /* false under lockdown=confidentiality */
const volatile struct steward_cpu topo[STEWARD_MAX_CPUS];

/* Writer: the loader. */
struct steward_tunables tunables = {
#define STEWARD_TUNABLE(name, unit, min, max, def, why) .name = (def),
#include "tunables.def"
#undef STEWARD_TUNABLE
	.timer_cpu = STEWARD_NO_CPU,
};

/* Writers: see each structure in abi.h. */
struct steward_cell cells[STEWARD_MAX_CPUS];
struct steward_steer steer;
struct steward_balance balance;
struct steward_exit exit_info;
char exit_dump[STEWARD_DUMP_LEN];

/* The one timer. */
struct timer_slot {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct timer_slot);
} timers SEC(".maps");

/* What we keep of a task beyond the kernel's own p->scx.
 * Created in init_task. moved_ns is written by the pass; the pair fields by the
 * waker of the task, whose wake-ups of one task the kernel serialises.
 */
struct task_ctx {
	__u64 moved_ns;	    /* when a pass last moved it */
	__s32 waker_pid;    /* who woke it synchronously last */
	__u32 alternations; /* sync wake-ups in a row that answered one of its own */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_ctx);
} tasks SEC(".maps");
