/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Virtual time: ns of run time, weighted so that a task of twice the weight
 * ages half as fast. Each CPU has its own clock (steward_run.vtime_now), the
 * greatest virtual time of any task that has started there. Keys are compared
 * as signed differences, so wrapping around is harmless as long as two keys of
 * one queue lie less than 2^63 ns apart, which the clamps below ensure.
 */
#pragma once

#include "platform.h"

/* sched_ext's weight of nice 0 (the scale of cgroup cpu.weight). */
#define STEWARD_WEIGHT_DFL 100

STEWARD_INLINE int steward_vtime_before(__u64 a, __u64 b)
{
	return (__s64)(a - b) < 0;
}

/* Virtual time that @ran_ns of real time cost a task of @weight (1..10000). */
STEWARD_INLINE __u64 steward_vtime_cost(__u64 ran_ns, __u32 weight)
{
	if (weight == STEWARD_WEIGHT_DFL || !weight)
		return ran_ns;
	return ran_ns * STEWARD_WEIGHT_DFL / weight;
}

/* A slice ends at a tick, so a task may run this much longer: a tick at HZ=100. */
#define STEWARD_OVERRUN_NS 10000000ull

/* Bring a key into reach of a CPU's clock. A sleeper may be owed at most one
 * slice, else it would starve the others when it wakes; nobody may be further
 * ahead than one slice and its overrun, else a stale key (the task last ran
 * under another CPU's clock) would starve the task itself. What a task was really
 * charged for its last slice is below that, or weights would not hold: two hogs
 * at nice 0 and 5 shared 3.96 to 1 where the overrun was cut off.
 */
STEWARD_INLINE __u64 steward_vtime_clamp(__u64 vtime, __u64 now, __u64 slice_ns, __u32 weight)
{
	__u64 floor = now - slice_ns;
	__u64 ceiling = now + steward_vtime_cost(slice_ns + STEWARD_OVERRUN_NS, weight);

	if (steward_vtime_before(vtime, floor))
		return floor;
	if (steward_vtime_before(ceiling, vtime))
		return ceiling;
	return vtime;
}

/* Carry a key from one CPU's clock to another's: what the task was ahead or
 * behind there, it is here.
 */
STEWARD_INLINE __u64 steward_vtime_rebase(__u64 vtime, __u64 from_now, __u64 to_now)
{
	return vtime - from_now + to_now;
}
