/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who gives a task to whom: pure functions over what the pass saw of each CPU
 * (steward_seen). They choose one pair at a time; the pass tries to carry it
 * out, tells them with steward_plan_moved() or steward_plan_refused(), and asks
 * again.
 *
 * Load is that of the tasks that run or wait on a CPU (steward_seen.runnable_load,
 * 1024: one task of nice 0 that never sleeps), relative to the CPU's capacity.
 * The sleepers' load decides only between takers that are equal: a CPU that they
 * will come back to is the worse place, but no reason to move anything.
 *
 * An idle CPU takes whatever waits, at once. Between busy CPUs a difference must
 * pay for the cold caches: it must exceed the imbalance percentage, have stood for
 * two passes (tasks that block and wake in bursts make queues of any length for a
 * moment), and be reduced by a good part by the very task that moves. Each move
 * makes the sum of squared loads smaller, so repeated passes come to rest, and two
 * nearly equal CPUs never exchange a task for ever.
 */
#pragma once

#include "abi.h"

STEWARD_INLINE struct steward_seen *steward_seen_of(struct steward_cell *cells, __u32 cpu)
{
	return &cells[steward_index(cpu)].seen;
}

/* Whether a CPU runs nothing and has nothing to run. */
STEWARD_INLINE bool steward_is_free(const struct steward_seen *seen)
{
	return seen->idle && !seen->nr_queued;
}

/* The load that a taker counts with. A CPU that is busy with none of our tasks is
 * held by another class: as good as by a task of ours.
 */
STEWARD_INLINE __u32 steward_taker_load(const struct steward_seen *seen)
{
	return seen->runnable_load || seen->idle ? seen->runnable_load : STEWARD_LOAD_FULL;
}

/* @load on a CPU of @capacity (1..1024) as it would be on the fastest. */
STEWARD_INLINE __u32 steward_relative(__u32 load, __u32 capacity)
{
	if (capacity == STEWARD_CAPACITY_FULL || !capacity)
		return load;
	return (__u64)load * STEWARD_CAPACITY_FULL / capacity;
}

STEWARD_INLINE __u32 steward_min(__u32 a, __u32 b)
{
	return a < b ? a : b;
}

STEWARD_INLINE __u32 steward_max(__u32 a, __u32 b)
{
	return a > b ? a : b;
}

/* The online CPU with the least load that may still take in this pass, or
 * STEWARD_NO_CPU. Looks from @start on, so that among equals each gets its turn.
 * O(nr).
 */
STEWARD_INLINE __s32 steward_pick_taker(struct steward_cell *cells,
					const volatile struct steward_cpu *topo, __u32 nr,
					__u32 start)
{
	__s32 best = STEWARD_NO_CPU;
	__u64 best_load = ~0ull;
	__u32 i;

	steward_for(i, 0, nr) {
		__u32 cpu = start + i < nr ? start + i : start + i - nr;
		const struct steward_seen *seen = steward_seen_of(cells, cpu);
		__u64 load;

		if (!seen->online || seen->spent)
			continue;
		load = (__u64)!steward_is_free(seen) << 63 |
		       (__u64)steward_relative(steward_taker_load(seen),
					       topo[steward_index(cpu)].capacity)
			       << 24 |
		       steward_min(seen->blocked_load, 0xffffff);
		if (load >= best_load)
			continue;
		best_load = load;
		best = (__s32)cpu;
	}
	return best;
}

/* By how much @giver has more load than @taker by both looks, if that is enough to
 * move something; else 0. Relative to the fastest CPU's capacity.
 */
STEWARD_INLINE __u32 steward_gap(const struct steward_seen *giver, __u32 giver_capacity,
				 const struct steward_seen *taker, __u32 taker_capacity,
				 __u32 imbalance_pct)
{
	__u64 from = steward_relative(steward_min(giver->runnable_load, giver->last_load),
				      giver_capacity);
	__u64 to = steward_relative(steward_max(steward_taker_load(taker), taker->last_load),
				    taker_capacity);

	if (from * 100 <= to * imbalance_pct)
		return 0;
	return from - to;
}

/* The CPU that @taker should relieve, or STEWARD_NO_CPU: of those with something
 * queued, and enough more load unless the taker is free, the nearest, then the
 * one with the widest gap. Skips one that has refused this taker. O(nr).
 */
STEWARD_INLINE __s32 steward_pick_giver(struct steward_cell *cells,
					const volatile struct steward_cpu *topo, __u32 nr,
					__u32 taker, __u32 imbalance_pct)
{
	const volatile struct steward_cpu *there = &topo[steward_index(taker)];
	const struct steward_seen *to = steward_seen_of(cells, taker);
	__u32 best_level = STEWARD_LEVEL_NR;
	__s32 best = STEWARD_NO_CPU;
	__u32 best_gap = 0;
	__u32 cpu;

	steward_for(cpu, 0, nr) {
		const volatile struct steward_cpu *here = &topo[steward_index(cpu)];
		const struct steward_seen *seen = steward_seen_of(cells, cpu);
		__u32 level, gap;

		if (!seen->nr_queued || seen->refused == taker + 1 || cpu == taker)
			continue;
		if (steward_is_free(to))
			gap = steward_relative(seen->runnable_load, here->capacity) + 1;
		else
			gap = steward_gap(seen, here->capacity, to, there->capacity, imbalance_pct);
		level = steward_level_between(here, there);
		if (!gap || level > best_level || (level == best_level && gap <= best_gap))
			continue;
		best_level = level;
		best_gap = gap;
		best = (__s32)cpu;
	}
	return best;
}

/* Loads of tasks from @least to @most. */
struct steward_range {
	__u32 least;
	__u32 most;
};

/* The gap between @giver and @taker as load of the giver's tasks: what is moved
 * counts on both sides, there by the taker's capacity.
 */
STEWARD_INLINE __u32 steward_task_gap(const struct steward_seen *giver, __u32 giver_capacity,
				      const struct steward_seen *taker, __u32 taker_capacity,
				      __u32 imbalance_pct)
{
	__u64 gap = steward_gap(giver, giver_capacity, taker, taker_capacity, imbalance_pct);

	return gap * steward_min(giver_capacity, taker_capacity) / STEWARD_CAPACITY_FULL;
}

/* Tasks whose move over a gap is worth it; a free taker takes any. To move all of
 * the gap would only turn the pair round. Seven eighths leave three quarters of it the
 * other way round, and hold against loads that waver: 3 tasks beside 2 are never
 * exchanged for ever (AlmostOneTaskApartNeverPingPong). A taker with nothing queued has
 * nothing to exchange either, so that with seven eighths eight hogs of weights 100 and
 * 51 came to rest with a CPU a third below the mean (UnequalHogsEndEven): it takes up
 * to 31/32, the least of 7/8, 15/16, 31/32 with which they do not.
 */
STEWARD_INLINE struct steward_range steward_move_range(__u32 gap, const struct steward_seen *taker)
{
	struct steward_range range = {0, gap - gap / 8};

	if (steward_is_free(taker))
		range.most = ~0u;
	else if (!taker->nr_queued)
		range.most = gap - gap / 32;
	return range;
}

/* Tasks of the taker that are worth having in exchange for a task of load @heavy,
 * which is too much to move alone: what goes over in sum is an eighth of the gap at
 * least, and less than all of it. An exchange that only just pays is taken too, as
 * it puts light tasks where there was a heavy one, with which later moves can even
 * out; without, hogs of two weights come to rest with a CPU a quarter below the mean,
 * or, with a limit of 63/64, half above it: four of weight 33 against two of 100.
 */
STEWARD_INLINE struct steward_range steward_swap_range(__u32 gap, __u32 heavy)
{
	__u32 most_over = gap ? gap - 1 : 0, least_over = gap / 8 + 1;
	struct steward_range range = {1, 0};

	if (heavy > least_over)
		range.most = heavy - least_over;
	if (heavy > most_over)
		range.least = heavy - most_over;
	return range;
}

/* A task of @load went from @giver to @taker. */
STEWARD_INLINE void steward_plan_moved(struct steward_cell *cells, __u32 giver, __u32 taker,
				       __u32 load)
{
	struct steward_seen *from = steward_seen_of(cells, giver);
	struct steward_seen *to = steward_seen_of(cells, taker);

	from->nr_queued--;
	from->moved_out++;
	from->runnable_load -= steward_min(load, from->runnable_load);
	from->last_load -= steward_min(load, from->last_load);
	to->nr_queued++;
	to->moved_in++;
	to->runnable_load += load;
	to->last_load += load;
}

/* Nothing in @giver's queue could go to @taker; do not ask it again for that
 * one in this pass.
 */
STEWARD_INLINE void steward_plan_refused(struct steward_cell *cells, __u32 giver, __u32 taker)
{
	steward_seen_of(cells, giver)->refused = taker + 1;
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
