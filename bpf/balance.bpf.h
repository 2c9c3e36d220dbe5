/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The pass, run by the timer CPU only: from the pinned timer, or from that CPU's
 * dispatch when it was summoned. It gathers what include/steward/balance.h plans
 * from, and carries the plan out.
 *
 * Tasks move from queue to queue, never to a local one: there a stale affinity
 * ends the scheduler, and the task could not be moved on. A move between queues
 * checks no affinity and wakes nobody, so both are done here.
 */
#pragma once

/* Pairs tried in one pass, moved or not: bounds its time, as each try reads every
 * CPU's line. The next pass begins elsewhere.
 */
#define PASS_TRIES 64
/* Queue entries that a pass looks at to weigh, and then to move: each costs some 300
 * instructions, a part of them with a queue locked.
 */
#define WEIGH_LOOKS 64
#define MOVE_LOOKS 128

/* What a walk of a queue came to. */
enum walk {
	WALK_NOTHING = 0, /* no task there may go to the taker */
	WALK_RESTING = 1, /* one could, but for its rest */
	WALK_MOVED = 2,
};

/* The functions below that are not static are verified by themselves, once per
 * program, instead of along every path that leads to them: on 6.12 that is the
 * difference between 240,000 verified instructions and a tenth of it.
 */

/* Whether @p may go to @taker now: WALK_MOVED if so; counts why not. */
static enum walk may_move(struct task_struct *p, struct task_ctx *t, s32 taker, u64 now)
{
	if (!bpf_cpumask_test_cpu(taker, p->cpus_ptr) || kernel_migration_disabled(p)) {
		balance.skip_affinity++;
		return WALK_NOTHING;
	}
	/* Signed: one may have been queued since, or by a clock that is ahead. */
	if ((s64)(now - queued_since(p, t)) < (s64)(tunables.migration_cost_us * 1000)) {
		balance.skip_hot++;
		return WALK_RESTING;
	}
	if ((s64)(now - t->moved_ns) < (s64)(tunables.moved_rest_us * 1000)) {
		balance.skip_moved++;
		return WALK_RESTING;
	}
	return WALK_MOVED;
}

/* Load of a task that waits in a queue, raw, as it will be found when it runs. */
static u32 waiting_load(struct task_struct *p, const struct task_ctx *t, u64 now)
{
	struct steward_pelt pelt = t->pelt;

	track_wait(&pelt, t, p, now);
	return steward_load_raw(p->scx.weight, steward_pelt_runnable(&pelt));
}

/* Move the first task of @giver's queue that may go to @taker and is of such a load.
 * Returns enum walk. Leaves in balance.walk_load what was moved, and in
 * balance.walk_heavy the least load that was above the range; 0: none.
 */
__noinline int walk_queue(s32 giver, s32 taker, u32 least, u32 most, u64 now)
{
	u64 from = steward_read(cell_of(giver)->run.vtime_now);
	u64 to = steward_read(cell_of(taker)->run.vtime_now);
	u32 left = tunables.pass_walk;
	enum walk result = WALK_NOTHING;
	struct task_struct *p;

	balance.walk_heavy = 0;
	bpf_rcu_read_lock();
	bpf_for_each(scx_dsq, p, giver, 0) {
		struct task_ctx *t;
		enum walk can;
		u32 load;
		u64 vtime;

		if (!left-- || !balance.looks_left)
			break;
		balance.looks_left--;
		t = bpf_task_storage_get(&tasks, p, NULL, 0);
		if (!t)
			continue;
		load = waiting_load(p, t, now) >> STEWARD_DECAYED_FRACTION_BITS;
		if (load < least)
			continue;
		can = may_move(p, t, taker, now);
		if (can == WALK_MOVED && load > most) {
			balance.skip_heavy++;
			if (!balance.walk_heavy || load < balance.walk_heavy)
				balance.walk_heavy = load;
			continue;
		}
		if (can != WALK_MOVED) {
			if (can > result)
				result = can;
			continue;
		}
		vtime = steward_vtime_rebase(p->scx.dsq_vtime, from, to);
		vtime = steward_vtime_clamp(vtime, to, slice_ns(), p->scx.weight);
		t->moved_ns = now;
		if (kernel_move_vtime(KERNEL_DSQ_ITER, p, taker, vtime)) {
			balance.walk_load = load;
			result = WALK_MOVED;
		} else {
			balance.move_failed++;
		}
		break;
	}
	bpf_rcu_read_unlock();
	return result;
}

/* A CPU but @from that serves its queue and may run @p, each in turn, or
 * STEWARD_NO_CPU.
 */
static s32 refuge_for(struct task_struct *p, s32 from)
{
	u32 start = balance.next_refuge, i;

	if (kernel_migration_disabled(p))
		return STEWARD_NO_CPU;
	if (start >= nr_cpu_ids)
		start = 0;
	bpf_for(i, 0, nr_cpu_ids) {
		s32 cpu = start + i < nr_cpu_ids ? start + i : start + i - nr_cpu_ids;

		if (cpu != from && !cell_of(cpu)->seen.balks &&
		    steward_read(cell_of(cpu)->seen.online) &&
		    bpf_cpumask_test_cpu(cpu, p->cpus_ptr)) {
			balance.next_refuge = cpu + 1;
			return cpu;
		}
	}
	return STEWARD_NO_CPU;
}

/* Empty the queue of a CPU that does not serve it: offline, about to be (the
 * kernel lets it take no task from another CPU's rq before it tells us, and waits
 * for RCU meanwhile, whose threads may be among those), or held by a higher
 * class.
 *
 * A task that may run on no other CPU waits for one that is held. One that goes
 * offline dispatches no more, but the kernel waits until its tasks have left: they
 * go to the kernel's global queue, which that CPU still looks at, where the kernel
 * then breaks their affinity. A long queue takes several passes.
 */
__noinline int drain(s32 from)
{
	bool offline = !steward_read(cell_of(from)->seen.online);
	u32 left = tunables.pass_walk;
	struct task_struct *p;

	bpf_rcu_read_lock();
	bpf_for_each(scx_dsq, p, from, 0) {
		u64 clock = steward_read(cell_of(from)->run.vtime_now);
		s32 to;

		/* All at once where no pass may come before the CPU is gone. */
		if (!offline && !left--)
			break;
		to = refuge_for(p, from);
		if (to == STEWARD_NO_CPU) {
			if (offline && kernel_move(KERNEL_DSQ_ITER, p, SCX_DSQ_GLOBAL))
				balance.moved_offline++;
			continue;
		}
		clock = steward_vtime_rebase(p->scx.dsq_vtime, clock,
					     steward_read(cell_of(to)->run.vtime_now));
		if (kernel_move_vtime(KERNEL_DSQ_ITER, p, to, clock)) {
			balance.moved_offline++;
			scx_bpf_kick_cpu(to, KVAL(scx_kick_flags, SCX_KICK_IDLE));
		}
	}
	bpf_rcu_read_unlock();
	return 0;
}

/* Watch that a CPU serves its queue; empty it if not. */
__noinline int watch_service(s32 cpu, u64 now)
{
	struct steward_seen *seen = &cell_of(cpu)->seen;

	steward_watch_service(seen, steward_read(cell_of(cpu)->run.busy_ns), slice_ns(), now);
	if (seen->nr_queued && (seen->balks || !seen->online))
		drain(cpu);
	return 0;
}

/* A CPU that the kernel is taking offline waits, idle, until the last task that is
 * attached to it has left. Those may be in other CPUs' queues, for a move between
 * queues leaves a task attached where it was, and the kernel looks again only when
 * that CPU reschedules. True: @cpu is such a one.
 */
static bool help_leave(s32 cpu, const struct cpumask *online)
{
	if (cell_of(cpu)->seen.online || !bpf_cpumask_test_cpu(cpu, online))
		return false;
	scx_bpf_kick_cpu(cpu, 0);
	return true;
}

/* Take what sleepers that ran elsewhere took along out of our view of their homes. */
__noinline int drain_ring(s32 cpu, u64 now)
{
	struct steward_ring *ring = &rings[steward_index(cpu)];
	u64 head = steward_read(ring->head), period = steward_decayed_period(now);
	struct steward_seen *seen = &cell_of(cpu)->seen;
	u64 lost = steward_ring_lost(head, seen->ring_tail);
	struct steward_removal removal;
	u32 i;

	if (lost) {
		balance.ring_overflow += lost;
		seen->ring_tail += lost;
	}
	bpf_for(i, 0, STEWARD_RING_SLOTS) {
		struct steward_seen *home;
		u64 word;

		if (seen->ring_tail == head)
			break;
		word = steward_read(ring->slots[steward_ring_slot(seen->ring_tail)]);
		if (!steward_ring_unpack(word, seen->ring_tail, period, &removal))
			break;
		seen->ring_tail++;
		balance.ring_records++;
		home = &cell_of(removal.home)->seen;
		home->removed = steward_decayed_add(
			home->removed, now,
			steward_decayed_read_raw(steward_decayed_pack(removal.period, removal.raw),
						 now));
	}
	return 0;
}

__noinline int drain_rings(u64 now)
{
	s32 cpu;

	bpf_for(cpu, 0, nr_cpu_ids)
		drain_ring(cpu, now);
	return 0;
}

/* Raw load of the tasks that wait in a queue: of the first few, the rest by their
 * mean. One that woke and has not run yet still counts as asleep at its home.
 */
__noinline u32 queued_load(s32 cpu, u64 now)
{
	struct steward_seen *seen = &cell_of(cpu)->seen;
	u32 limit = steward_min(tunables.pass_walk, balance.looks_left), left = limit;
	u32 queued = seen->nr_queued;
	struct task_struct *p;
	u64 sum = 0;

	bpf_rcu_read_lock();
	bpf_for_each(scx_dsq, p, cpu, 0) {
		struct task_ctx *t;

		if (!left)
			break;
		left--;
		t = bpf_task_storage_get(&tasks, p, NULL, 0);
		if (!t)
			continue;
		sum += waiting_load(p, t, now);
		if (t->blocked_raw)
			cell_of(t->home)->seen.waking +=
				steward_decayed_since(t->blocked_raw, t->slept_ns, now);
	}
	bpf_rcu_read_unlock();
	balance.looks_left -= limit - left;
	if (limit - left)
		seen->queue_mean = sum / (limit - left);
	if (!left && queued > limit)
		sum = (u64)seen->queue_mean * queued;
	return sum < STEWARD_DECAYED_VALUE_MAX ? sum : STEWARD_DECAYED_VALUE_MAX;
}

/* Read every CPU once. Returns the number of waiting tasks; a CPU that is leaving
 * counts as one, so that the next pass comes soon.
 */
__noinline int gather(u64 now)
{
	const struct cpumask *idle = scx_bpf_get_idle_cpumask();
	const struct cpumask *online = scx_bpf_get_online_cpumask();
	u32 waiting = 0;
	s32 cpu;

	bpf_for(cpu, 0, nr_cpu_ids) {
		struct steward_seen *seen = &cell_of(cpu)->seen;
		s32 queued;

		if (!(topo_of(cpu)->flags & STEWARD_CPU_POSSIBLE))
			continue;
		seen->last_load = seen->runnable_load;
		queued = scx_bpf_dsq_nr_queued(cpu);
		if (queued < 0)
			queued = 0;
		seen->nr_queued = queued;
		seen->idle = bpf_cpumask_test_cpu(cpu, idle);
		if (seen->idle && queued) {
			/* It fell asleep as its queue filled. */
			scx_bpf_kick_cpu(cpu, KVAL(scx_kick_flags, SCX_KICK_IDLE));
			seen->idle = 0;
		}
		watch_service(cpu, now);
		seen->spent = seen->balks;
		seen->refused = 0;
		if (seen->online)
			waiting += queued;
		else if (help_leave(cpu, online))
			waiting++;
	}
	scx_bpf_put_cpumask(online);
	scx_bpf_put_idle_cpumask(idle);
	return waiting;
}

/* One task from @giver to @taker happened: book it and wake the taker. */
static void book_move(s32 giver, s32 taker, u64 now)
{
	struct steward_cell *cell = cell_of(taker);

	switch (steward_level_between(topo_of(giver), topo_of(taker))) {
	case STEWARD_LEVEL_LLC:
		balance.moved_llc++;
		break;
	case STEWARD_LEVEL_NODE:
		balance.moved_node++;
		break;
	default:
		balance.moved_machine++;
	}
	if (steward_is_free(&cell->seen)) {
		u64 since = steward_read(cell->run.idle_since_ns);

		if (since < steer.last_pass_ns)
			since = steer.last_pass_ns;
		if (now > since)
			cell->seen.idle_while_queued_ns += now - since;
	}
	/* Also if it looked busy: it may have become idle since. */
	balance.balance_kicks++;
	scx_bpf_kick_cpu(taker, KVAL(scx_kick_flags, SCX_KICK_IDLE));
	steward_plan_moved(cells, giver, taker, balance.walk_load);
}

__noinline int find_taker(u32 start)
{
	return steward_pick_taker(cells, topo, nr_cpu_ids, start);
}

__noinline int find_giver(u32 taker)
{
	return steward_pick_giver(cells, topo, nr_cpu_ids, taker, tunables.imbalance_pct);
}

/* Bring a task from @giver to @taker: one that fits, or one that is too heavy in
 * exchange for a lighter one. Returns enum walk.
 */
__noinline int relieve(s32 giver, s32 taker, u64 now)
{
	struct steward_seen *from = &cell_of(giver)->seen, *to = &cell_of(taker)->seen;
	u32 gap = steward_task_gap(from, topo_of(giver)->capacity, to, topo_of(taker)->capacity,
				   tunables.imbalance_pct);
	struct steward_range range = steward_move_range(gap, to);
	u32 heavy;
	int result;

	result = walk_queue(giver, taker, range.least, range.most, now);
	heavy = balance.walk_heavy;
	if (result == WALK_NOTHING && heavy && to->nr_queued) {
		range = steward_swap_range(gap, heavy);
		if (walk_queue(taker, giver, range.least, range.most, now) != WALK_MOVED)
			return WALK_NOTHING;
		book_move(taker, giver, now);
		/* If the heavy one is gone, the light one has moved up a gap: no harm. */
		result = walk_queue(giver, taker, heavy, heavy, now);
	}
	if (result == WALK_MOVED)
		book_move(giver, taker, now);
	return result;
}

/* Move tasks until the plan or the budget ends. Returns how many times an idle
 * CPU got a task or would have got one but for the task's rest.
 */
__noinline int even_out(u64 now)
{
	u32 start = balance.next_cpu;
	u32 idle_gained = 0, moved = 0;
	u32 try;

	if (start >= nr_cpu_ids)
		start = 0;
	balance.looks_left = MOVE_LOOKS;

	bpf_for(try, 0, PASS_TRIES) {
		s32 taker, giver;
		bool was_free;
		int result;

		if (moved >= tunables.pass_moves)
			break;
		taker = find_taker(start);
		if (taker < 0)
			break;
		/* Where the tries end, the next pass goes on. */
		balance.next_cpu = taker + 1;
		giver = find_giver(taker);
		if (giver < 0) {
			/* It refused all, or the machine is even. */
			cell_of(taker)->seen.spent = 1;
			continue;
		}
		was_free = steward_is_free(&cell_of(taker)->seen);
		result = relieve(giver, taker, now);
		if (was_free && result != WALK_NOTHING)
			idle_gained++;
		if (result == WALK_MOVED)
			moved++;
		else
			steward_plan_refused(cells, giver, taker);
	}
	return idle_gained;
}

/* Set the timer on this CPU, which must be the timer CPU. */
static void arm(s32 cpu, u64 now, u64 delay_ns)
{
	struct timer_slot *slot;
	u32 key = 0;

	slot = bpf_map_lookup_elem(&timers, &key);
	if (!slot)
		return;
	if (bpf_timer_start(&slot->timer, delay_ns, BPF_F_TIMER_CPU_PIN)) {
		/* Tried again at this CPU's next dispatch. */
		steer.armed_cpu = STEWARD_NO_CPU;
		steward_write(steer.pace, STEWARD_PACE_PARKED);
		balance.timer_errors++;
		return;
	}
	balance.expires_ns = now + delay_ns;
	steward_write(steer.armed_cpu, cpu);
}

/* What runs, waits and sleeps on each CPU, as load. */
__noinline int weigh(u64 now)
{
	u32 start = balance.next_cpu, i;
	s32 cpu;

	if (start >= nr_cpu_ids)
		start = 0;
	balance.looks_left = WEIGH_LOOKS;
	bpf_for(i, 0, nr_cpu_ids) {
		struct steward_cell *cell;
		u32 raw;

		cpu = start + i < nr_cpu_ids ? start + i : start + i - nr_cpu_ids;
		cell = cell_of(cpu);
		if (!(topo_of(cpu)->flags & STEWARD_CPU_POSSIBLE))
			continue;
		raw = steward_load_running(steward_read(cell->run.curr_load),
					   steward_read(cell->run.curr_weight), now);
		if (cell->seen.nr_queued)
			raw += queued_load(cpu, now);
		cell->seen.runnable_load = raw >> STEWARD_DECAYED_FRACTION_BITS;
	}
	/* After all queues were walked: a task may wait far from its home. */
	bpf_for(cpu, 0, nr_cpu_ids) {
		struct steward_cell *cell = cell_of(cpu);
		u32 raw = steward_decayed_read_raw(steward_read(cell->run.blocked), now);
		u32 gone = steward_decayed_read_raw(cell->seen.removed, now) + cell->seen.waking;

		if (blocked_load == STEWARD_BLOCKED_ATOMIC)
			gone += steward_read(removed[steward_index(cpu)].raw);
		cell->seen.waking = 0;
		cell->seen.blocked_load =
			raw > gone ? (raw - gone) >> STEWARD_DECAYED_FRACTION_BITS : 0;
		cell->seen.util = steward_util_at(steward_read(cell->run.util),
						  steward_read(cell->run.curr_weight) != 0, now);
	}
	return 0;
}

/* One pass on @cpu, the timer CPU, and the timer set for the next. */
__noinline int pass(s32 cpu, u64 now)
{
	u32 waiting, idle_gained = 0;
	u64 took_ns;

	if (balance.in_pass)
		return 0;
	balance.in_pass = 1;

	if (blocked_load == STEWARD_BLOCKED_RING)
		drain_rings(now);
	waiting = gather(now);
	weigh(now);
	if (waiting)
		idle_gained = even_out(now);
	steward_write(steer.pace, steward_pace_next(idle_gained, waiting));
	steward_write(steer.waiting, waiting);
	steward_write(steer.last_pass_ns, now);

	took_ns = kernel_now() - now;
	cell_of(cpu)->seen.balance_passes++;
	balance.passes++;
	balance.pass_ns_last = took_ns;
	balance.pass_ns_sum += took_ns;
	if (took_ns > balance.pass_ns_max)
		balance.pass_ns_max = took_ns;
	arm(cpu, now, steward_pace_ns(steer.pace, &tunables));
	balance.in_pass = 0;
	return 0;
}

/* The timer's callback. After an offline it may find itself on another CPU: it
 * then does nothing but call the right one, whose dispatch sets it again.
 */
static int timer_fired(void *map, u32 *key, struct timer_slot *slot)
{
	s32 cpu = bpf_get_smp_processor_id();

	if (cpu != steer.timer_cpu) {
		steward_write(steer.armed_cpu, STEWARD_NO_CPU);
		steward_write(steer.pace, STEWARD_PACE_PARKED);
		scx_bpf_kick_cpu(steer.timer_cpu, KVAL(scx_kick_flags, SCX_KICK_PREEMPT));
		return 0;
	}
	balance.timer_passes++;
	pass(cpu, kernel_now());
	return 0;
}
