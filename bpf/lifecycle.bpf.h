/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Coming and going: of the scheduler, of CPUs, of tasks, and of the timer CPU's
 * duty.
 */
#pragma once

static bool online(s32 cpu)
{
	return cpu >= 0 && cpu < nr_cpu_ids && steward_read(cell_of(cpu)->seen.online);
}

/* Choose the timer CPU: the operator's wish if online, else the present one, else
 * the first online CPU that is not nohz_full, else the first online one. Every
 * caller comes to the same result, so that two at once do no harm.
 */
__noinline int elect(void)
{
	s32 wish = tunables.timer_cpu;
	s32 cpu, chosen = STEWARD_NO_CPU, first = STEWARD_NO_CPU;

	if (online(wish)) {
		chosen = wish;
	} else if (online(steer.timer_cpu)) {
		chosen = steer.timer_cpu;
	} else {
		bpf_for(cpu, 0, nr_cpu_ids) {
			if (!online(cpu))
				continue;
			if (first == STEWARD_NO_CPU)
				first = cpu;
			if (!(topo_of(cpu)->flags & STEWARD_CPU_QUIET)) {
				chosen = cpu;
				break;
			}
		}
		if (chosen == STEWARD_NO_CPU)
			chosen = first;
	}
	if (chosen != STEWARD_NO_CPU && chosen != steer.timer_cpu)
		steward_write(steer.timer_cpu, chosen);
	return 0;
}

/* Elect, and have the timer CPU's dispatch set the timer if it is new. */
static void retarget(void)
{
	elect();
	if (steer.armed_cpu == steer.timer_cpu)
		return;
	/* Until it does, whoever queues must know that nobody watches. */
	steward_write(steer.pace, STEWARD_PACE_PARKED);
	scx_bpf_kick_cpu(steer.timer_cpu, KVAL(scx_kick_flags, SCX_KICK_PREEMPT));
}

/* Run by the loader after the attach and after a change of tunables.timer_cpu. */
SEC("syscall")
int steward_retarget(void *ctx)
{
	retarget();
	return 0;
}

void STEWARD_OPS(steward_cpu_online, s32 cpu)
{
	steward_write(cell_of(cpu)->seen.online, 1);
	retarget();
}

/* Excluded first, then emptied, so that no pass refills its queue. */
void STEWARD_OPS(steward_cpu_offline, s32 cpu)
{
	steward_write(cell_of(cpu)->seen.online, 0);
	retarget();
	drain(cpu);
}

s32 STEWARD_OPS_SLEEPABLE(steward_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	if (!bpf_task_storage_get(&tasks, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE))
		return -12; /* ENOMEM: fails the fork, not the scheduler */
	count(tasks_init);
	return 0;
}

void STEWARD_OPS(steward_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	count(tasks_exit);
}

/* A task enters at the front of its CPU's queue, owed nothing and owing nothing,
 * and counts in full until it shows that it sleeps, as in the kernel.
 */
void STEWARD_OPS(steward_enable, struct task_struct *p)
{
	struct task_ctx *t = bpf_task_storage_get(&tasks, p, NULL, 0);

	p->scx.dsq_vtime = steward_read(cell_of(scx_bpf_task_cpu(p))->run.vtime_now);
	if (t)
		steward_pelt_init(&t->pelt, kernel_now(), STEWARD_LOAD_FULL);
}

/* Run by the loader before the attach: the kernel's timekeeper makes the best timer
 * CPU, as its tick never stops for long. A hint, read once; where the duty wanders
 * later does not matter. Where symbols are hidden from us there is none.
 */
SEC("syscall")
int steward_prefer_timekeeper(void *ctx)
{
	s32 cpu;

	if (!may_read_kernel || !kernel_timekeeper(&cpu))
		cpu = STEWARD_NO_CPU;
	steer.timer_cpu = cpu;
	return 0;
}

s32 STEWARD_OPS_SLEEPABLE(steward_init)
{
	const struct cpumask *mask;
	struct timer_slot *slot;
	u32 key = 0;
	s32 cpu, err;

	mask = scx_bpf_get_online_cpumask();
	bpf_for(cpu, 0, nr_cpu_ids) {
		struct steward_seen *seen = &cell_of(cpu)->seen;

		seen->online = bpf_cpumask_test_cpu(cpu, mask);
		seen->queue_mean = steward_load_raw(STEWARD_WEIGHT_DFL, STEWARD_LOAD_FULL);
	}
	scx_bpf_put_cpumask(mask);

	bpf_for(cpu, 0, nr_cpu_ids) {
		if (!(topo_of(cpu)->flags & STEWARD_CPU_POSSIBLE))
			continue;
		err = scx_bpf_create_dsq(cpu, -1);
		if (err)
			return err;
	}

	/* Set here, because from 7.1 on the callback is judged as part of the
	 * program that sets it, and this one may move tasks between queues.
	 */
	slot = bpf_map_lookup_elem(&timers, &key);
	if (!slot)
		return -3; /* ESRCH */
	err = bpf_timer_init(&slot->timer, &timers, CLOCK_MONOTONIC);
	if (err)
		return err;
	err = bpf_timer_set_callback(&slot->timer, timer_fired);
	if (err)
		return err;

	steer.armed_cpu = STEWARD_NO_CPU;
	cpu = steer.timer_cpu;
	if (!online(cpu) || topo_of(cpu)->flags & STEWARD_CPU_QUIET)
		steer.timer_cpu = STEWARD_NO_CPU;
	elect();
	return 0;
}

void STEWARD_OPS(steward_exit, struct scx_exit_info *ei)
{
	if (may_read_kernel) {
		bpf_probe_read_kernel_str(exit_info.reason, sizeof(exit_info.reason), ei->reason);
		bpf_probe_read_kernel_str(exit_info.message, sizeof(exit_info.message), ei->msg);
		bpf_probe_read_kernel_str(exit_dump, sizeof(exit_dump), ei->dump);
	}
	exit_info.code = ei->exit_code;
	exit_info.cpu = kernel_exit_cpu(ei);
	/* Last, and as an exchange, which orders: who sees the kind may read the rest. */
	__sync_lock_test_and_set(&exit_info.kind, ei->kind);
}

void STEWARD_OPS(steward_dump, struct scx_dump_ctx *dctx)
{
	kernel_dump("steward: timer_cpu=%d armed_cpu=%d pace=%u waiting=%u passes=%llu",
		    steer.timer_cpu, steer.armed_cpu, steer.pace, steer.waiting, balance.passes);
	kernel_dump("steward: last pass %llu us ago, took %llu ns, max %llu ns",
		    (kernel_now() - steer.last_pass_ns) / 1000, balance.pass_ns_last,
		    balance.pass_ns_max);
}

void STEWARD_OPS(steward_dump_cpu, struct scx_dump_ctx *dctx, s32 cpu, bool idle)
{
	struct steward_cell *cell = cell_of(cpu);

	if (idle && !scx_bpf_dsq_nr_queued(cpu))
		return;
	kernel_dump("steward: queued=%d vtime=%llu online=%u moved_in=%u moved_out=%u",
		    scx_bpf_dsq_nr_queued(cpu), cell->run.vtime_now, cell->seen.online,
		    cell->seen.moved_in, cell->seen.moved_out);
}

void STEWARD_OPS(steward_dump_task, struct scx_dump_ctx *dctx, struct task_struct *p)
{
	struct task_ctx *task = bpf_task_storage_get(&tasks, p, NULL, 0);

	kernel_dump("steward: vtime=%llu weight=%u moved=%llu alternations=%u", p->scx.dsq_vtime,
		    p->scx.weight, task ? task->moved_ns : 0, task ? task->alternations : 0);
}
