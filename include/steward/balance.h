/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who gives a task to whom: pure functions over what the pass saw of each CPU
 * (steward_seen). They choose one pair at a time; the pass tries to carry it
 * out, tells them with steward_plan_moved() or steward_plan_refused(), and asks
 * again.
 *
 * Load is the number of runnable tasks: those in the queue and the one that
 * runs. A pair needs a difference of two: moving a task then leaves at most the
 * same difference the other way round, so repeated passes come to rest and two
 * nearly equal CPUs never exchange a task for ever. Between long queues it also
 * needs a ratio, the kernel's imbalance percentage: a few tasks more or less do
 * not pay for the cold caches. And between busy CPUs it must have stood for two
 * passes: tasks that block and wake in bursts make queues of any length for a
 * moment. An idle CPU takes whatever waits, at once.
 */
#pragma once

#include "abi.h"

#define STEWARD_GAP_MIN 2

/* The least load that relieves a taker of load @taker_load. @imbalance_pct: how
 * much more load, in percent, is worth a move (100: any).
 */
STEWARD_INLINE __u32 steward_load_needed(__u32 taker_load, __u32 imbalance_pct)
{
	__u32 by_gap = taker_load + STEWARD_GAP_MIN;
	__u32 by_ratio = (taker_load * imbalance_pct + 99) / 100;

	return by_gap > by_ratio ? by_gap : by_ratio;
}

STEWARD_INLINE struct steward_seen *steward_seen_of(struct steward_cell *cells, __u32 cpu)
{
	return &cells[steward_index(cpu)].seen;
}

STEWARD_INLINE __u32 steward_load(const struct steward_seen *seen)
{
	return seen->nr_queued + (seen->idle ? 0 : 1);
}

/* What a CPU has to take on or to give away by two looks: its greater load as
 * the taker, its lesser one as the giver.
 */
STEWARD_INLINE __u32 steward_load_most(const struct steward_seen *seen)
{
	__u32 load = steward_load(seen);

	return load > seen->last_load ? load : seen->last_load;
}

STEWARD_INLINE __u32 steward_load_least(const struct steward_seen *seen)
{
	__u32 load = steward_load(seen);

	return load < seen->last_load ? load : seen->last_load;
}

/* The online CPU with the least load that may still take in this pass, or
 * STEWARD_NO_CPU. Looks from @start on, so that among equals each gets its turn.
 * O(nr).
 */
STEWARD_INLINE __s32 steward_pick_taker(struct steward_cell *cells, __u32 nr, __u32 start)
{
	__s32 best = STEWARD_NO_CPU;
	__u32 best_load = ~0u;
	__u32 i;

	steward_for(i, 0, nr) {
		__u32 cpu = start + i < nr ? start + i : start + i - nr;
		const struct steward_seen *seen = steward_seen_of(cells, cpu);

		if (!seen->online || seen->spent || steward_load(seen) >= best_load)
			continue;
		best_load = steward_load(seen);
		best = (__s32)cpu;
		if (!best_load)
			break;
	}
	return best;
}

/* The CPU that @taker should relieve, or STEWARD_NO_CPU: of those with enough
 * more load and something queued, the nearest, then the most loaded. Skips one
 * that has refused this taker. O(nr).
 */
STEWARD_INLINE __s32 steward_pick_giver(struct steward_cell *cells,
					const volatile struct steward_cpu *topo, __u32 nr,
					__u32 taker, __u32 imbalance_pct)
{
	const struct steward_seen *to = steward_seen_of(cells, taker);
	bool idle = steward_load(to) == 0;
	__u32 need = steward_load_needed(idle ? 0 : steward_load_most(to), imbalance_pct);
	__u32 best_level = STEWARD_LEVEL_NR;
	__s32 best = STEWARD_NO_CPU;
	__u32 best_load = 0;
	__u32 cpu;

	steward_for(cpu, 0, nr) {
		const struct steward_seen *seen = steward_seen_of(cells, cpu);
		__u32 load = idle ? steward_load(seen) : steward_load_least(seen);
		__u32 level;

		if (!seen->nr_queued || load < need || seen->refused == taker + 1)
			continue;
		level = steward_level_between(&topo[steward_index(cpu)],
					      &topo[steward_index(taker)]);
		if (level > best_level || (level == best_level && load <= best_load))
			continue;
		best_level = level;
		best_load = load;
		best = (__s32)cpu;
	}
	return best;
}

/* A task went from @giver to @taker. */
STEWARD_INLINE void steward_plan_moved(struct steward_cell *cells, __u32 giver, __u32 taker)
{
	struct steward_seen *from = steward_seen_of(cells, giver);
	struct steward_seen *to = steward_seen_of(cells, taker);

	from->nr_queued--;
	from->moved_out++;
	to->nr_queued++;
	to->moved_in++;
}

/* Nothing in @giver's queue could go to @taker; do not ask it again for that
 * one in this pass.
 */
STEWARD_INLINE void steward_plan_refused(struct steward_cell *cells, __u32 giver, __u32 taker)
{
	steward_seen_of(cells, giver)->refused = taker + 1;
}

/* A CPU that ran none of its waiting tasks for so many slices, and at least so
 * long, does not serve its queue. It must exceed the slices that the CPU may be
 * in before it charges any time. One that balked is tried again after a while:
 * it may have nothing of its own whose running would show that it serves.
 */
#define STEWARD_BALK_SLICES 4
#define STEWARD_BALK_MIN_NS 20000000ull
#define STEWARD_BALK_RETRY_NS 1000000000ull

/* Judge whether a CPU serves its queue: sets @seen->balks. @busy_ns: its
 * steward_run.busy_ns at @now; @seen->nr_queued is fresh, the other fields are
 * what the last call left. Once per pass and CPU.
 */
STEWARD_INLINE void steward_watch_service(struct steward_seen *seen, __u64 busy_ns, __u64 slice_ns,
					  __u64 now)
{
	__u64 patience_ns = STEWARD_BALK_SLICES * slice_ns;
	bool ran = busy_ns != seen->busy_seen_ns;
	bool nothing_to_serve = !seen->nr_queued && !seen->balks;
	bool retry = seen->balks && now - seen->served_ns > STEWARD_BALK_RETRY_NS;
	bool first_look = !seen->served_ns; /* at a queue; looks may be seconds apart */

	if (patience_ns < STEWARD_BALK_MIN_NS)
		patience_ns = STEWARD_BALK_MIN_NS;
	if (ran || nothing_to_serve || retry || first_look) {
		seen->busy_seen_ns = busy_ns;
		seen->served_ns = nothing_to_serve ? 0 : now;
		seen->balks = 0;
	} else if (now - seen->served_ns > patience_ns) {
		seen->balks = 1;
	}
}

/* When the next pass is due. @idle_gained: an idle CPU got a task, or would have
 * but for a task's rest; @waiting: tasks still in queues.
 */
STEWARD_INLINE enum steward_pace steward_pace_next(__u32 idle_gained, __u32 waiting)
{
	if (!waiting)
		return STEWARD_PACE_PARKED;
	return idle_gained ? STEWARD_PACE_FAST : STEWARD_PACE_SLOW;
}

/* ns between passes at a pace. */
STEWARD_INLINE __u64 steward_pace_ns(enum steward_pace pace, const struct steward_tunables *tun)
{
	__u64 us = pace == STEWARD_PACE_FAST   ? tun->balance_fast_us
		   : pace == STEWARD_PACE_SLOW ? tun->balance_slow_us
					       : tun->balance_parked_us;

	return us * 1000;
}
