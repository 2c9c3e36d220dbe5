/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Charging run time and tracking load: ops.running, ops.stopping, ops.disable,
 * and the renewal of a slice in ops.dispatch. All act for the CPU the task is
 * on, under that CPU's rq lock, which makes their plain stores to its
 * steward_run and ring race-free even when an attribute change lets them execute
 * on another CPU.
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

/* --- load of sleepers: count_blocked() when one goes to sleep on @cpu,
 * forget_blocked() when it runs again or leaves us, on @cpu.
 */

/* `atomic`: what others have taken from this CPU's sum since it last looked. */
static __always_inline void take_removed(struct steward_run *run, s32 cpu, u64 now)
{
	u64 *raw = &removed[steward_index(cpu)].raw;

	if (steward_read(*raw))
		run->blocked =
			steward_decayed_sub(run->blocked, now, __sync_lock_test_and_set(raw, 0));
}

static __always_inline void count_blocked(struct steward_run *run, struct task_ctx *t, s32 cpu,
					  u32 raw, u64 now)
{
	if (blocked_load == STEWARD_BLOCKED_NONE || !raw)
		return;
	if (blocked_load == STEWARD_BLOCKED_ATOMIC) {
		take_removed(run, cpu, now);
		__sync_fetch_and_add(&shared_load.total, raw);
	}
	steward_write(run->blocked, steward_decayed_add(run->blocked, now, raw));
	t->blocked_raw = raw;
	t->home = cpu;
}

static __always_inline void forget_blocked(struct steward_run *run, struct task_ctx *t, s32 cpu,
					   u64 now)
{
	u32 raw;

	if (blocked_load == STEWARD_BLOCKED_NONE || !t->blocked_raw)
		return;
	raw = steward_decayed_since(t->blocked_raw, t->slept_ns, now);
	if (blocked_load == STEWARD_BLOCKED_ATOMIC) {
		__sync_fetch_and_sub(&shared_load.total, t->blocked_raw);
		if (t->home != cpu)
			__sync_fetch_and_add(&removed[steward_index(t->home)].raw, raw);
		take_removed(run, cpu, now);
	}
	t->blocked_raw = 0;
	if (t->home == cpu) {
		steward_write(run->blocked, steward_decayed_sub(run->blocked, now, raw));
	} else if (blocked_load == STEWARD_BLOCKED_RING && raw) {
		struct steward_removal removal = {
			.home = t->home,
			.raw = raw,
			.period = steward_decayed_period(now),
		};

		steward_ring_append(&rings[steward_index(cpu)], &removal);
	}
}

/* When a waiting task began to wait. */
static __always_inline u64 queued_since(const struct task_struct *p, const struct task_ctx *t)
{
	return kernel_knows_queued_since() ? kernel_queued_since(p) : t->queued_ns;
}

/* Time since the task's last event: asleep until it was woken, if it slept, then
 * waiting, which counts as runnable. One whose waking is not known (it went straight
 * to an idle CPU) woke just now.
 */
static __always_inline void track_wait(struct steward_pelt *pelt, const struct task_ctx *t,
				       const struct task_struct *p, u64 now)
{
	if (t->slept_ns) {
		u64 woken = queued_since(p, t);

		if (woken < t->slept_ns || woken > now)
			woken = now;
		steward_pelt_update(pelt, woken, false, false);
	}
	steward_pelt_update(pelt, now, true, false);
}

static __always_inline void publish_util(struct steward_run *run, u64 now)
{
	u32 raw = steward_pelt_util(&run->busy) << STEWARD_DECAYED_FRACTION_BITS;

	steward_write(run->util, steward_decayed_pack(steward_decayed_period(now), raw));
}

void STEWARD_OPS(steward_running, struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct steward_run *run = &cell_of(cpu)->run;
	struct task_ctx *t;
	u64 now;
	u32 raw;

	run->charged_ns = p->se.sum_exec_runtime;
	start_slice(run, p);

	t = bpf_task_storage_get(&tasks, p, NULL, 0);
	if (!t)
		return;
	now = kernel_now();
	track_wait(&t->pelt, t, p, now);
	forget_blocked(run, t, cpu, now);
	t->slept_ns = 0;
	steward_pelt_update(&run->busy, now, false, false);
	publish_util(run, now);
	raw = steward_load_raw(p->scx.weight, steward_pelt_runnable(&t->pelt));
	steward_write(run->curr_load, steward_decayed_pack(steward_decayed_period(now), raw));
	steward_write(run->curr_weight, p->scx.weight);
}

void STEWARD_OPS(steward_stopping, struct task_struct *p, bool runnable)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct steward_run *run = &cell_of(cpu)->run;
	struct task_ctx *t;
	u64 now;

	charge(run, p);

	t = bpf_task_storage_get(&tasks, p, NULL, 0);
	if (!t)
		return;
	now = kernel_now();
	steward_pelt_update(&t->pelt, now, true, true);
	steward_pelt_update(&run->busy, now, true, true);
	publish_util(run, now);
	steward_write(run->curr_weight, 0);
	if (runnable)
		return;
	t->slept_ns = now;
	count_blocked(run, t, cpu, steward_load_raw(p->scx.weight, steward_pelt_runnable(&t->pelt)),
		      now);
}

/* @p leaves us, by its end or for another class: its load goes with it. */
void STEWARD_OPS(steward_disable, struct task_struct *p)
{
	struct task_ctx *t = bpf_task_storage_get(&tasks, p, NULL, 0);
	s32 cpu = scx_bpf_task_cpu(p);

	if (t)
		forget_blocked(&cell_of(cpu)->run, t, cpu, kernel_now());
}
