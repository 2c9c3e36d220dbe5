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
const volatile bool may_read_kernel = true;		  /* false under lockdown=confidentiality */
const volatile __u32 blocked_load = STEWARD_BLOCKED_RING; /* enum steward_blocked_load */
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
struct steward_ring rings[STEWARD_MAX_CPUS];
struct steward_shared shared_load;
struct steward_removed removed[STEWARD_MAX_CPUS];
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

/* What we keep of a task beyond the kernel's own p->scx. Created in init_task.
 * Writers: the pass of moved_ns; the waker of the task of the pair fields, whose
 * wake-ups of one task the kernel serialises; of the rest the holder of the
 * task's rq lock.
 */
struct task_ctx {
	u64 moved_ns;	  /* when a pass last moved it */
	s32 waker_pid;	  /* who woke it synchronously last */
	u32 alternations; /* sync wake-ups in a row that answered one of its own */
	struct steward_pelt pelt;
	u64 queued_ns;	 /* when it began to wait, where the kernel does not say */
	u64 slept_ns;	 /* since when it sleeps; 0: it does not */
	u32 blocked_raw; /* its load in the blocked sum of its home; 0: not there */
	s32 home;	 /* the CPU it last ran on when it went to sleep */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_ctx);
} tasks SEC(".maps");
