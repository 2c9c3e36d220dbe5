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

/* Pairs tried in one pass, moved or not. */
#define PASS_TRIES 512
/* Queue entries looked at in one walk; the tunable is at most this. */
#define PASS_WALK 128

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
static enum walk may_move(struct task_struct *p, s32 taker, u64 now)
{
	struct task_ctx *ctx;

	if (!bpf_cpumask_test_cpu(taker, p->cpus_ptr) || kernel_migration_disabled(p)) {
		balance.skip_affinity++;
		return WALK_NOTHING;
	}
	if (now - kernel_queued_since(p) < tunables.migration_cost_us * 1000) {
		balance.skip_hot++;
		return WALK_RESTING;
	}
	ctx = bpf_task_storage_get(&tasks, p, NULL, 0);
	if (!ctx || now - ctx->moved_ns < tunables.moved_rest_us * 1000) {
		balance.skip_moved++;
		return WALK_RESTING;
	}
	ctx->moved_ns = now;
	return WALK_MOVED;
}

/* Move the first task of @giver's queue that may go to @taker. Returns enum walk. */
__noinline int walk_giver(s32 giver, s32 taker, u64 now)
{
	u64 from = steward_read(cell_of(giver)->run.vtime_now);
	u64 to = steward_read(cell_of(taker)->run.vtime_now);
	u32 left = tunables.pass_walk;
	enum walk result = WALK_NOTHING;
	struct task_struct *p;

	bpf_rcu_read_lock();
	bpf_for_each(scx_dsq, p, giver, 0) {
		enum walk can;
		u64 vtime;

		if (!left--)
			break;
		can = may_move(p, taker, now);
		if (can != WALK_MOVED) {
			if (can > result)
				result = can;
			continue;
		}
		vtime = steward_vtime_rebase(p->scx.dsq_vtime, from, to);
		vtime = steward_vtime_clamp(vtime, to, slice_ns(), p->scx.weight);
		if (kernel_move_vtime(KERNEL_DSQ_ITER, p, taker, vtime))
			result = WALK_MOVED;
		else
			balance.move_failed++;
		break;
	}
	bpf_rcu_read_unlock();
	return result;
}

/* The first CPU but @from that serves its queue and may run @p, or STEWARD_NO_CPU. */
static s32 refuge_for(struct task_struct *p, s32 from)
{
	s32 cpu;

	if (kernel_migration_disabled(p))
		return STEWARD_NO_CPU;
	bpf_for(cpu, 0, nr_cpu_ids) {
		if (cpu != from && !cell_of(cpu)->seen.balks &&
		    steward_read(cell_of(cpu)->seen.online) &&
		    bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
			return cpu;
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
 * then breaks their affinity.
 */
__noinline int drain(s32 from)
{
	bool offline = !steward_read(cell_of(from)->seen.online);
	struct task_struct *p;

	bpf_rcu_read_lock();
	bpf_for_each(scx_dsq, p, from, 0) {
		u64 clock = steward_read(cell_of(from)->run.vtime_now);
		s32 to = refuge_for(p, from);

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
		seen->last_load = steward_load(seen);
		queued = scx_bpf_dsq_nr_queued(cpu);
		if (queued < 0)
			queued = 0;
		seen->nr_queued = queued;
		seen->idle = !queued && bpf_cpumask_test_cpu(cpu, idle);
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
	if (cell->seen.idle && !cell->seen.nr_queued) {
		u64 since = steward_read(cell->run.idle_since_ns);

		if (since < steer.last_pass_ns)
			since = steer.last_pass_ns;
		if (now > since)
			cell->seen.idle_while_queued_ns += now - since;
		balance.balance_kicks++;
		scx_bpf_kick_cpu(taker, KVAL(scx_kick_flags, SCX_KICK_IDLE));
	}
	steward_plan_moved(cells, giver, taker);
}

__noinline int find_taker(u32 start)
{
	return steward_pick_taker(cells, nr_cpu_ids, start);
}

__noinline int find_giver(u32 taker)
{
	return steward_pick_giver(cells, topo, nr_cpu_ids, taker, tunables.imbalance_pct);
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
	balance.next_cpu = start + 1;

	bpf_for(try, 0, PASS_TRIES) {
		s32 taker, giver;
		bool was_idle;
		int result;

		if (moved >= tunables.pass_moves)
			break;
		taker = find_taker(start);
		if (taker < 0)
			break;
		giver = find_giver(taker);
		if (giver < 0) {
			/* It refused all, or the machine is even. */
			cell_of(taker)->seen.spent = 1;
			continue;
		}
		was_idle = steward_load(&cell_of(taker)->seen) == 0;
		result = walk_giver(giver, taker, now);
		if (was_idle && result != WALK_NOTHING)
			idle_gained++;
		if (result == WALK_MOVED) {
			moved++;
			book_move(giver, taker, now);
		} else {
			steward_plan_refused(cells, giver, taker);
		}
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
		balance.timer_errors++;
		return;
	}
	balance.expires_ns = now + delay_ns;
	steward_write(steer.armed_cpu, cpu);
}

/* One pass on @cpu, the timer CPU, and the timer set for the next. */
__noinline int pass(s32 cpu, u64 now)
{
	u32 waiting, idle_gained = 0;
	u64 took_ns;

	if (balance.in_pass)
		return 0;
	balance.in_pass = 1;

	waiting = gather(now);
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
