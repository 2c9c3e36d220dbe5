/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every structure that crosses the border between BPF and the loader. All of
 * them are globals of the BPF object that the loader maps, so reading them
 * costs no system call.
 *
 * Rule of writers (design, section 5): a cache line has one writer at a time.
 * Each structure says who that is. Readers may see different fields from
 * different moments; every field is one aligned word and so never torn.
 */
#pragma once

#include "load.h"
#include "pelt.h"
#include "platform.h"
#include "topology.h"

/* Raised with every change of this file; compared at load. */
#define STEWARD_ABI_VERSION 2

/* Two lines of 64 bytes: the adjacent-line prefetcher pairs them. */
#define STEWARD_LINE 128

/* What a CPU runs.
 * Writer: the holder of this CPU's rq lock (running, stopping, dispatch), which
 * is this CPU but for rare attribute changes of a running task.
 */
struct steward_run {
	__u64 vtime_now;     /* ns of weighted time; the front of this CPU's queue */
	__u64 charged_ns;    /* run time of the running task that is charged already */
	__u64 idle_since_ns; /* when a dispatch here last found nothing to run */
	__u64 busy_ns;	     /* time tasks ran here, in sum */
	__u64 curr_load;     /* load of the running task when it started; steward_decayed */
	__u64 curr_weight;   /* its weight; 0: none runs. See steward_load_running() */
	__u64 blocked;	     /* load of the tasks that sleep and last ran here; steward_decayed */
	__u64 util;	     /* share of time tasks ran, to 1024; steward_decayed */
	struct steward_pelt busy; /* the same, exactly; not for readers, which may tear it */
} STEWARD_ALIGN(STEWARD_LINE);

/* What this CPU did for others.
 * Writer: code that executes on this CPU with interrupts off.
 */
struct steward_local {
#define STEWARD_CPU_STAT(name, help) __u64 name;
#include "stats.def"
	__u64 summon_ns; /* when this CPU last summoned the timer CPU */
} STEWARD_ALIGN(STEWARD_LINE);

/* What the last pass saw of this CPU, and whether it ran one.
 * Writer: the pass, that is the timer CPU; online by the hotplug callbacks.
 */
struct steward_seen {
	__u64 balance_passes;	    /* passes that executed on this CPU */
	__u64 idle_while_queued_ns; /* upper bound: idle while a task it could run waited */
	__u64 busy_seen_ns;	    /* steward_run.busy_ns then */
	__u64 served_ns;	    /* when it was last seen to serve its queue; 0: that is empty */
	__u32 balks;	     /* 1: does not serve its queue; takes nothing until it runs a task */
	__u32 nr_queued;     /* tasks in this CPU's queue */
	__u32 idle;	     /* 1: in the kernel's idle mask */
	__u32 moved_in;	     /* tasks moved here, in sum */
	__u32 moved_out;     /* tasks moved away, in sum */
	__u32 online;	     /* 1: scheduled by us */
	__u32 last_load;     /* runnable_load when the last pass ended */
	__u32 spent;	     /* scratch of the pass: takes no more in this one */
	__u32 refused;	     /* scratch: the taker this giver had nothing for, + 1 */
	__u32 runnable_load; /* load of the tasks that run or wait here */
	__u32 blocked_load;  /* load of the tasks that sleep here, without those that left */
	__u32 util;	     /* share of time it ran tasks, to 1024 */
	__u32 queue_mean;    /* raw load of a task in its queue, when last looked at */
	__u32 waking;	 /* scratch: raw load of tasks that wait but still count as asleep here */
	__u64 removed;	 /* load that left steward_run.blocked; steward_decayed */
	__u64 ring_tail; /* records of this CPU's ring that were read, in sum */
} STEWARD_ALIGN(STEWARD_LINE);

/* The cell of a CPU. */
struct steward_cell {
	struct steward_run run;
	struct steward_local local;
	struct steward_seen seen;
};

STEWARD_ASSERT(sizeof(struct steward_run) == STEWARD_LINE, "one writer, one line");
STEWARD_ASSERT(sizeof(struct steward_local) == STEWARD_LINE, "one writer, one line");
STEWARD_ASSERT(sizeof(struct steward_seen) == STEWARD_LINE, "one writer, one line");

/* How the load of sleeping tasks is tracked, chosen at load. */
enum steward_blocked_load {
	STEWARD_BLOCKED_NONE = 0,   /* not at all */
	STEWARD_BLOCKED_RING = 1,   /* each CPU writes its own numbers only */
	STEWARD_BLOCKED_ATOMIC = 2, /* as kernels up to 4.2: one total, remote subtraction */
};

/* The words that `atomic` shares. Writers: every CPU, by atomic operations. */
struct steward_shared {
	__u64 total; /* raw blocked load of the machine */
} STEWARD_ALIGN(STEWARD_LINE);

/* What tasks that ran elsewhere take from a CPU's blocked sum under `atomic`.
 * Writers: any CPU adds, the owner takes, by atomic operations.
 */
struct steward_removed {
	__u64 raw;
} STEWARD_ALIGN(STEWARD_LINE);

/* The knobs in force. Writer: the loader. Readers: everybody, on every path;
 * a change is in force with the next read.
 */
struct steward_tunables {
#define STEWARD_TUNABLE(name, unit, min, max, def, why) __u64 name;
#include "tunables.def"
#undef STEWARD_TUNABLE
	__s64 timer_cpu; /* the operator's wish; STEWARD_NO_CPU: choose */
} STEWARD_ALIGN(STEWARD_LINE);

/* The period that the timer runs at. */
enum steward_pace {
	STEWARD_PACE_PARKED = 0, /* nothing waits */
	STEWARD_PACE_SLOW = 1,	 /* tasks wait, no CPU idles */
	STEWARD_PACE_FAST = 2,	 /* a task waits that an idle CPU could run */
};

/* What scheduling paths ask of the balancer: few words, read often, rarely
 * written. Writer: the timer CPU; timer_cpu also by the hotplug callbacks and
 * the loader's retarget program, all of which elect the same CPU.
 */
struct steward_steer {
	__s32 timer_cpu;    /* the CPU that balances */
	__s32 armed_cpu;    /* the CPU whose timer is set; STEWARD_NO_CPU: none */
	__u32 pace;	    /* enum steward_pace */
	__u32 waiting;	    /* tasks in queues at the last pass, CPUs going offline */
	__u64 last_pass_ns; /* when the last pass began */
} STEWARD_ALIGN(STEWARD_LINE);

/* The balancer's own numbers. Writer: the pass. */
struct steward_balance {
#define STEWARD_PASS_STAT(name, help) __u64 name;
#include "stats.def"
	__u64 passes;
	__u64 pass_ns_last;
	__u64 pass_ns_max;
	__u64 next_cpu;	   /* where the next pass begins, so that nobody is always last */
	__u64 expires_ns;  /* when the timer is due */
	__u64 in_pass;	   /* 1: a pass is running; guards against a nested one */
	__u64 walk_load;   /* scratch: load that the last walk moved */
	__u64 walk_heavy;  /* scratch: least load that was too heavy for it; 0: none */
	__u64 looks_left;  /* scratch: queue entries that this pass may still look at */
	__u64 next_refuge; /* where the search for a refuge begins */
} STEWARD_ALIGN(STEWARD_LINE);

#define STEWARD_REASON_LEN 128
#define STEWARD_MESSAGE_LEN 1024
#define STEWARD_DUMP_LEN 32768

/* Why the scheduler ended. Writer: ops.exit, once; kind last. */
struct steward_exit {
	__s32 kind; /* enum scx_exit_kind of the running kernel; 0: still runs */
	__s32 cpu;  /* where, from 7.3 on; STEWARD_NO_CPU: unknown */
	__s64 code;
	char reason[STEWARD_REASON_LEN];
	char message[STEWARD_MESSAGE_LEN];
};
