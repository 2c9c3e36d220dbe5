/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Charging run time: ops.running, ops.stopping, and the renewal of a slice in
 * ops.dispatch. All act for the CPU the task is on, under that CPU's rq lock,
 * which makes their plain stores to its steward_run race-free even when an
 * attribute change lets them execute on another CPU.
 *
 * Time really run is charged here and nowhere else, so weights also hold for a
 * task that the core keeps running without a new enqueue.
 */
#pragma once

static __always_inline u64 slice_ns(void)
{
	return tunables.slice_us * 1000;
}

/* Time @p has run since it was last charged on this CPU. The kernel has just
 * brought its own sum up to date in every callback that asks; reading it costs
 * no clock, and it leaves interrupts out where the kernel does.
 */
static __always_inline u64 uncharged_ns(const struct steward_run *run, const struct task_struct *p)
{
	return p->se.sum_exec_runtime - run->charged_ns;
}

static __always_inline void charge(struct steward_run *run, struct task_struct *p)
{
	u64 ran_ns = uncharged_ns(run, p);

	run->charged_ns = p->se.sum_exec_runtime;
	steward_write(run->busy_ns, run->busy_ns + ran_ns);
	p->scx.dsq_vtime += steward_vtime_cost(ran_ns, p->scx.weight);
}

/* @p starts a slice here, now or anew. */
static __always_inline void start_slice(struct steward_run *run, const struct task_struct *p)
{
	u64 vtime = p->scx.dsq_vtime;

	if (steward_vtime_before(run->vtime_now, vtime))
		steward_write(run->vtime_now, vtime);
}

void STEWARD_OPS(steward_running, struct task_struct *p)
{
	struct steward_run *run = &cell_of(scx_bpf_task_cpu(p))->run;

	run->charged_ns = p->se.sum_exec_runtime;
	start_slice(run, p);
}

void STEWARD_OPS(steward_stopping, struct task_struct *p, bool runnable)
{
	charge(&cell_of(scx_bpf_task_cpu(p))->run, p);
}
