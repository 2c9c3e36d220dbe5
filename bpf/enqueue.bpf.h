/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a task waits: ops.enqueue. Called under the rq lock of the task's CPU,
 * possibly from a waker on another one. No kick is needed for the CPU itself:
 * the kernel reschedules an idle CPU that a task is activated on.
 */
#pragma once

/* Ask the timer CPU for a pass, at most once per fast period from this CPU unless
 * the last one was answered, and not at all at the fast pace, where one is due within
 * that period anyway. The timer CPU limits the passes.
 * PREEMPT, because only a dispatch can start a pass and the kernel skips that
 * while the running task has time left.
 */
static void summon(void)
{
	struct steward_local *local = local_here();
	u64 now;

	if (steer.pace == STEWARD_PACE_FAST)
		return;
	now = kernel_now();
	if (now - local->summon_ns < tunables.balance_fast_us * 1000 &&
	    steward_read(steer.last_pass_ns) <= local->summon_ns)
		return;
	local->summon_ns = now;
	local->summons++;
	local->kicks++;
	scx_bpf_kick_cpu(steer.timer_cpu, KVAL(scx_kick_flags, SCX_KICK_PREEMPT));
}

/* A task that may run on one CPU only. True: done with it.
 *
 * Kernel threads among them (ksoftirqd, which may carry our own timer, kworker,
 * rcuc) hold up the whole machine when they wait, so they go first on wake-up;
 * one that keeps running queues like anybody else. Others skip the queue where
 * it is empty: nobody can be overtaken and no balancer could move them anyway.
 */
static bool enqueue_pinned(struct task_struct *p, s32 cpu, u64 enq_flags)
{
	if (!(enq_flags & KVAL(scx_enq_flags, SCX_ENQ_WAKEUP)))
		return false;
	if (p->flags & PF_KTHREAD) {
		count(enq_kthread);
		kernel_insert(p, SCX_DSQ_LOCAL, slice_ns(),
			      enq_flags | KVAL(scx_enq_flags, SCX_ENQ_PREEMPT));
		return true;
	}
	if (scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL_ON | cpu) || scx_bpf_dsq_nr_queued(cpu))
		return false;
	count(enq_pinned);
	kernel_insert(p, SCX_DSQ_LOCAL, slice_ns(), enq_flags);
	return true;
}

/* Whether some CPU that @p may use idles. */
static bool idle_cpu_for(struct task_struct *p)
{
	const struct cpumask *idle;
	bool found;

	if (p->nr_cpus_allowed == 1)
		return false;
	idle = scx_bpf_get_idle_cpumask();
	found = bpf_cpumask_intersects(idle, p->cpus_ptr);
	scx_bpf_put_idle_cpumask(idle);
	return found;
}

void STEWARD_OPS(steward_enqueue, struct task_struct *p, u64 enq_flags)
{
	s32 cpu = scx_bpf_task_cpu(p);
	u64 clock = steward_read(cell_of(cpu)->run.vtime_now);

	/* Also for a task that skips the queue: if it then runs on, what it is owed
	 * is what others wait for.
	 */
	p->scx.dsq_vtime = steward_vtime_clamp(p->scx.dsq_vtime, clock, slice_ns(), p->scx.weight);
	if (p->nr_cpus_allowed == 1 && enqueue_pinned(p, cpu, enq_flags))
		return;
	count(enq_wait);
	if (!kernel_knows_queued_since()) {
		struct task_ctx *t = bpf_task_storage_get(&tasks, p, NULL, 0);

		if (t)
			t->queued_ns = kernel_now();
	}
	kernel_insert_vtime(p, cpu, slice_ns(), p->scx.dsq_vtime, enq_flags);

	/* Nobody watches the queues while the timer is parked. Otherwise a task whose
	 * wake-up searched for an idle CPU waits because there is none; for one that
	 * comes back from running nobody has searched, so look.
	 */
	if (steer.pace == STEWARD_PACE_PARKED ||
	    (!kernel_cpu_selected(enq_flags) && idle_cpu_for(p)))
		summon();
}
