/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a CPU runs next: ops.dispatch. It takes from its own queue only. On the
 * timer CPU it also answers a summons; @cpu, not the executing CPU, is meant:
 * with core scheduling a sibling may call.
 */
#pragma once

/* What a task must have left of its slice for the end of it to count as forced: a
 * good part, and no more than a tick may take off.
 */
static __always_inline u64 forced_left_ns(void)
{
	u64 quarter = slice_ns() / 4;

	return quarter < 1000000 ? quarter : 1000000;
}

/* Whether this dispatch of the timer CPU comes from a kick: out of idle with
 * nothing queued for it, or in the middle of a slice. A summons writes nothing
 * that this CPU would have to search for, so this is how it is known. A wrong
 * guess costs one pass.
 */
static bool summoned(s32 cpu, struct task_struct *prev)
{
	if (!prev)
		return !scx_bpf_dsq_nr_queued(cpu);
	return kernel_queued(prev) &&
	       uncharged_ns(&cell_of(cpu)->run, prev) + forced_left_ns() < slice_ns();
}

/* Set the timer if it is not set here; run a summoned pass, or, within a fast
 * period of the last one, see that the next comes in time.
 */
static void timer_cpu_dispatch(s32 cpu, struct task_struct *prev)
{
	u64 fast_ns = tunables.balance_fast_us * 1000;
	u64 now, due;

	if (steer.armed_cpu != cpu)
		arm(cpu, kernel_now(), fast_ns);
	if (!summoned(cpu, prev))
		return;
	now = kernel_now();
	due = steer.last_pass_ns + fast_ns;
	if (now >= due) {
		balance.summoned_passes++;
		pass(cpu, now);
	} else if (balance.expires_ns > due + fast_ns / 4) {
		steward_write(steer.pace, STEWARD_PACE_FAST);
		arm(cpu, now, due - now);
	}
}

/* Let @prev go on with a new slice. */
static __always_inline void keep(struct steward_run *run, struct task_struct *prev)
{
	prev->scx.slice = slice_ns();
	start_slice(run, prev);
	count(disp_keep);
}

void STEWARD_OPS(steward_dispatch, s32 cpu, struct task_struct *prev)
{
	struct steward_run *run = &cell_of(cpu)->run;
	bool may_keep;
	u64 head;

	if (cpu == steer.timer_cpu)
		timer_cpu_dispatch(cpu, prev);

	/* After the pass, which may have let go of this CPU's lock. */
	may_keep = prev && kernel_queued(prev);
	if (may_keep) {
		charge(run, prev);
		if (!kernel_head_vtime(cpu, &head) ||
		    !steward_vtime_before(head, prev->scx.dsq_vtime)) {
			keep(run, prev);
			return;
		}
	}
	if (kernel_move_to_local(cpu)) {
		count(disp_next);
		return;
	}
	if (may_keep) {
		keep(run, prev);
		return;
	}
	count(disp_empty);
	steward_write(run->idle_since_ns, kernel_now());
	if (steer.waiting)
		summon();
}
