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

/* Charge @p for the time since it was last charged on this CPU. A clock that
 * went backwards charges nothing.
 */
static __always_inline void charge(struct steward_run *run, struct task_struct *p, u64 now)
{
	u64 start = run->run_start_ns;
	u64 ran_ns = now > start ? now - start : 0;

	run->run_start_ns = now;
	steward_write(run->busy_ns, run->busy_ns + ran_ns);
	p->scx.dsq_vtime += steward_vtime_cost(ran_ns, p->scx.weight);
}

void STEWARD_OPS(steward_running, struct task_struct *p)
{
	struct steward_run *run = &cell_of(scx_bpf_task_cpu(p))->run;
	u64 vtime = p->scx.dsq_vtime;

	run->run_start_ns = kernel_now();
	if (steward_vtime_before(run->vtime_now, vtime))
		steward_write(run->vtime_now, vtime);
}

void STEWARD_OPS(steward_stopping, struct task_struct *p, bool runnable)
{
	struct steward_run *run = &cell_of(scx_bpf_task_cpu(p))->run;
	u64 now = kernel_now();

	charge(run, p, now);
	steward_write(run->stop_ns, now);
}
