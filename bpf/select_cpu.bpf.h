/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a waking task goes: ops.select_cpu. Runs on the waker's CPU, so it
 * writes only that CPU's own record and the task itself. The search for an idle
 * CPU is the kernel's (its idle masks are shared, but they are the kernel's).
 */
#pragma once

/* Sync wake-ups in a row, each answering the other, that make two tasks a pair.
 * Fewer would catch request and reply of a single exchange.
 */
#define PAIR_ALTERNATIONS 4

/* Two tasks that strictly alternate (each blocks right after it woke the other)
 * gain nothing from two CPUs: on one they need neither an interrupt nor an idle
 * CPU's wake-up. Only while nothing waits anywhere, so that the pair cannot
 * hold back a third task, and only with both queues of this CPU empty.
 */
static bool wake_pair(struct task_struct *p, s32 cpu)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	struct task_ctx *mine, *theirs;

	if (waker->flags & PF_EXITING)
		return false;
	theirs = bpf_task_storage_get(&tasks, p, NULL, 0);
	mine = bpf_task_storage_get(&tasks, waker, NULL, 0);
	if (!theirs || !mine)
		return false;

	theirs->alternations = mine->waker_pid == p->pid ? mine->alternations + 1 : 0;
	theirs->waker_pid = waker->pid;

	return theirs->alternations >= PAIR_ALTERNATIONS &&
	       bpf_cpumask_test_cpu(cpu, p->cpus_ptr) &&
	       !scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL_ON | cpu) && !scx_bpf_dsq_nr_queued(cpu);
}

/* Put a waking task straight on a CPU, its key carried to that CPU's clock. */
static __always_inline void wake_on(struct task_struct *p, s32 prev_cpu, s32 cpu)
{
	u64 from = steward_read(cell_of(prev_cpu)->run.vtime_now);
	u64 to = steward_read(cell_of(cpu)->run.vtime_now);
	u64 vtime = steward_vtime_rebase(p->scx.dsq_vtime, from, to);

	p->scx.dsq_vtime = steward_vtime_clamp(vtime, to, slice_ns(), p->scx.weight);
	kernel_insert(p, SCX_DSQ_LOCAL, slice_ns(), 0);
}

s32 STEWARD_OPS(steward_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	s32 here = bpf_get_smp_processor_id();
	bool is_idle = false;
	s32 cpu;

	if ((wake_flags & KVAL(scx_wake_flags, SCX_WAKE_SYNC)) &&
	    steer.pace == STEWARD_PACE_PARKED && wake_pair(p, here)) {
		count(wake_pair);
		wake_on(p, prev_cpu, here);
		return here;
	}

	cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &is_idle);
	if (is_idle) {
		count(wake_idle);
		wake_on(p, prev_cpu, cpu);
	} else {
		count(wake_wait);
	}
	return cpu;
}
