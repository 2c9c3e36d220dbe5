/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The only door to the kernel: its types, its kfuncs, and what differs between
 * 6.12 and 7.3. Whatever is needed for an old kernel says when it can go.
 *
 * A kfunc that some supported kernel lacks is declared weak with the suffix
 * ___compat, which libbpf drops when it looks for the symbol; the branch that
 * is not taken is dead code to the verifier. Enum values move between versions,
 * so they are read from the running kernel's BTF at load (KVAL).
 */
#pragma once

#define BPF_NO_KFUNC_PROTOTYPES /* ours below serve all versions */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define PF_EXITING 0x00000004
#define PF_KTHREAD 0x00200000
#define CLOCK_MONOTONIC 1

/* The running kernel's value of an enumerator that every supported kernel has. */
#define KVAL(type, name) bpf_core_enum_value(enum type, name)

/* A callback of struct sched_ext_ops. */
#define STEWARD_OPS(name, args...) \
	SEC("struct_ops/" #name)   \
	BPF_PROG(name, ##args)
#define STEWARD_OPS_SLEEPABLE(name, args...) \
	SEC("struct_ops.s/" #name)           \
	BPF_PROG(name, ##args)

/* In every kernel from 6.12 on. */
s32 scx_bpf_create_dsq(u64 dsq_id, s32 node) __ksym;
s32 scx_bpf_dsq_nr_queued(u64 dsq_id) __ksym;
void scx_bpf_kick_cpu(s32 cpu, u64 flags) __ksym;
s32 scx_bpf_select_cpu_dfl(struct task_struct *p, s32 prev_cpu, u64 wake_flags,
			   bool *is_idle) __ksym;
s32 scx_bpf_task_cpu(const struct task_struct *p) __ksym;
const struct cpumask *scx_bpf_get_idle_cpumask(void) __ksym;
void scx_bpf_put_idle_cpumask(const struct cpumask *mask) __ksym;
const struct cpumask *scx_bpf_get_online_cpumask(void) __ksym;
void scx_bpf_put_cpumask(const struct cpumask *mask) __ksym;
void scx_bpf_dump_bstr(char *fmt, unsigned long long *data, u32 data__sz) __ksym;
int bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *it, u64 dsq_id, u64 flags) __ksym;
struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it) __ksym;
void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *it) __ksym;
bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *mask) __ksym;
bool bpf_cpumask_intersects(const struct cpumask *a, const struct cpumask *b) __ksym;
void bpf_rcu_read_lock(void) __ksym;
void bpf_rcu_read_unlock(void) __ksym;

/* Only on some kernels; reached through the functions below. */
u64 scx_bpf_now___compat(void) __ksym __weak;
struct task_struct *scx_bpf_dsq_peek___compat(u64 dsq_id) __ksym __weak;

bool scx_bpf_dsq_insert___v2___compat(struct task_struct *p, u64 dsq_id, u64 slice,
				      u64 enq_flags) __ksym __weak;
void scx_bpf_dsq_insert___compat(struct task_struct *p, u64 dsq_id, u64 slice,
				 u64 enq_flags) __ksym __weak;
void scx_bpf_dispatch___compat(struct task_struct *p, u64 dsq_id, u64 slice,
			       u64 enq_flags) __ksym __weak;

bool __scx_bpf_dsq_insert_vtime___compat(struct task_struct *p,
					 struct scx_bpf_dsq_insert_vtime_args *args) __ksym __weak;
void scx_bpf_dsq_insert_vtime___compat(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime,
				       u64 enq_flags) __ksym __weak;
void scx_bpf_dispatch_vtime___compat(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime,
				     u64 enq_flags) __ksym __weak;

bool scx_bpf_dsq_move_to_local___v2___compat(u64 dsq_id, u64 enq_flags) __ksym __weak;
bool scx_bpf_dsq_move_to_local___compat(u64 dsq_id) __ksym __weak;
bool scx_bpf_consume___compat(u64 dsq_id) __ksym __weak;

bool scx_bpf_dsq_move___compat(struct bpf_iter_scx_dsq *it__iter, struct task_struct *p, u64 dsq_id,
			       u64 enq_flags) __ksym __weak;
bool scx_bpf_dispatch_from_dsq___compat(struct bpf_iter_scx_dsq *it__iter, struct task_struct *p,
					u64 dsq_id, u64 enq_flags) __ksym __weak;
void scx_bpf_dsq_move_set_vtime___compat(struct bpf_iter_scx_dsq *it__iter,
					 u64 vtime) __ksym __weak;
bool scx_bpf_dsq_move_vtime___compat(struct bpf_iter_scx_dsq *it__iter, struct task_struct *p,
				     u64 dsq_id, u64 enq_flags) __ksym __weak;
void scx_bpf_dispatch_from_dsq_set_vtime___compat(struct bpf_iter_scx_dsq *it__iter,
						  u64 vtime) __ksym __weak;
bool scx_bpf_dispatch_vtime_from_dsq___compat(struct bpf_iter_scx_dsq *it__iter,
					      struct task_struct *p, u64 dsq_id,
					      u64 enq_flags) __ksym __weak;

/* Monotonic ns. May lag the same moment on another CPU by a little.
 * scx_bpf_now: 6.14 and later.
 */
static __always_inline u64 kernel_now(void)
{
	if (bpf_ksym_exists(scx_bpf_now___compat))
		return scx_bpf_now___compat();
	return bpf_ktime_get_ns();
}

/* The CPU that keeps the kernel's time, if that can be known. Its variable is a plain
 * one, so not in BTF, and libbpf would read all of kallsyms for the address, half of
 * a start; the kernel finds it by name at once. Only for programs of type syscall.
 */
static __always_inline bool kernel_timekeeper(s32 *cpu)
{
	const char name[] = "tick_do_timer_cpu";
	u64 address;

	return !bpf_kallsyms_lookup_name(name, sizeof(name), 0, &address) &&
	       !bpf_probe_read_kernel(cpu, sizeof(*cpu), (const void *)address);
}

/* Append to a FIFO queue (here: only local queues). Names before 6.13:
 * scx_bpf_dispatch; ___v2 from 6.19 on.
 */
static __always_inline void kernel_insert(struct task_struct *p, u64 dsq_id, u64 slice_ns,
					  u64 enq_flags)
{
	if (bpf_ksym_exists(scx_bpf_dsq_insert___v2___compat))
		scx_bpf_dsq_insert___v2___compat(p, dsq_id, slice_ns, enq_flags);
	else if (bpf_ksym_exists(scx_bpf_dsq_insert___compat))
		scx_bpf_dsq_insert___compat(p, dsq_id, slice_ns, enq_flags);
	else
		scx_bpf_dispatch___compat(p, dsq_id, slice_ns, enq_flags);
}

/* Insert into a queue ordered by virtual time. */
static __always_inline void kernel_insert_vtime(struct task_struct *p, u64 dsq_id, u64 slice_ns,
						u64 vtime, u64 enq_flags)
{
	if (bpf_ksym_exists(__scx_bpf_dsq_insert_vtime___compat)) {
		struct scx_bpf_dsq_insert_vtime_args args = {
			.dsq_id = dsq_id,
			.slice = slice_ns,
			.vtime = vtime,
			.enq_flags = enq_flags,
		};

		__scx_bpf_dsq_insert_vtime___compat(p, &args);
	} else if (bpf_ksym_exists(scx_bpf_dsq_insert_vtime___compat)) {
		scx_bpf_dsq_insert_vtime___compat(p, dsq_id, slice_ns, vtime, enq_flags);
	} else {
		scx_bpf_dispatch_vtime___compat(p, dsq_id, slice_ns, vtime, enq_flags);
	}
}

/* Take the first task of a queue that may run on the dispatching CPU.
 * False: there is none.
 */
static __always_inline bool kernel_move_to_local(u64 dsq_id)
{
	if (bpf_ksym_exists(scx_bpf_dsq_move_to_local___v2___compat))
		return scx_bpf_dsq_move_to_local___v2___compat(dsq_id, 0);
	if (bpf_ksym_exists(scx_bpf_dsq_move_to_local___compat))
		return scx_bpf_dsq_move_to_local___compat(dsq_id);
	return scx_bpf_consume___compat(dsq_id);
}

/* Move the task under a queue iterator to another queue ordered by virtual
 * time, with a new key. False: the task has left its queue meanwhile.
 */
static __always_inline bool kernel_move_vtime(struct bpf_iter_scx_dsq *it, struct task_struct *p,
					      u64 dsq_id, u64 vtime)
{
	if (bpf_ksym_exists(scx_bpf_dsq_move_vtime___compat)) {
		scx_bpf_dsq_move_set_vtime___compat(it, vtime);
		return scx_bpf_dsq_move_vtime___compat(it, p, dsq_id, 0);
	}
	scx_bpf_dispatch_from_dsq_set_vtime___compat(it, vtime);
	return scx_bpf_dispatch_vtime_from_dsq___compat(it, p, dsq_id, 0);
}

/* Move the task under a queue iterator to the end of a FIFO queue. False: the
 * task has left its queue meanwhile.
 */
static __always_inline bool kernel_move(struct bpf_iter_scx_dsq *it, struct task_struct *p,
					u64 dsq_id)
{
	if (bpf_ksym_exists(scx_bpf_dsq_move___compat))
		return scx_bpf_dsq_move___compat(it, p, dsq_id, 0);
	return scx_bpf_dispatch_from_dsq___compat(it, p, dsq_id, 0);
}

/* The iterator that bpf_for_each(scx_dsq, ...) hides. */
#define KERNEL_DSQ_ITER (&___it)

/* The smallest virtual time in a queue, or false for an empty one.
 * scx_bpf_dsq_peek: 6.19 and later; the iterator costs a lock.
 */
static __always_inline bool kernel_head_vtime(u64 dsq_id, u64 *vtime)
{
	struct task_struct *p;
	bool found = false;

	if (bpf_ksym_exists(scx_bpf_dsq_peek___compat)) {
		p = scx_bpf_dsq_peek___compat(dsq_id);
		if (!p)
			return false;
		*vtime = p->scx.dsq_vtime;
		return true;
	}
	if (!scx_bpf_dsq_nr_queued(dsq_id))
		return false;
	*vtime = 0;
	bpf_rcu_read_lock();
	bpf_for_each(scx_dsq, p, dsq_id, 0) {
		*vtime = p->scx.dsq_vtime;
		found = true;
		break;
	}
	bpf_rcu_read_unlock();
	/* Keeps the compiler from testing p instead, which the verifier of 6.12
	 * no longer trusts here.
	 */
	barrier_var(found);
	return found;
}

/* Whether a task that is not running may not leave its CPU for now.
 * The field is absent from kernels without SMP.
 */
static __always_inline bool kernel_migration_disabled(const struct task_struct *p)
{
	return bpf_core_field_exists(p->migration_disabled) && p->migration_disabled;
}

/* Whether the kernel says when a waiting task began to wait: it must keep it
 * (CONFIG_SCHED_INFO), and by the clock that kernel_now() reads, which is another
 * one before 6.14.
 */
static __always_inline bool kernel_knows_queued_since(void)
{
	struct task_struct *p = NULL;

	return bpf_ksym_exists(scx_bpf_now___compat) &&
	       bpf_core_field_exists(p->sched_info.last_queued);
}

/* That time: the task woke or stopped running then. 0 for one that does not wait. */
static __always_inline u64 kernel_queued_since(const struct task_struct *p)
{
	return bpf_core_field_exists(p->sched_info.last_queued) ? p->sched_info.last_queued : 0;
}

/* Whether ops.select_cpu was called for this enqueue. Kernels with the flag
 * (6.15 and later) leave the call out for a task that wakes while its CPU is
 * still switching away from it, if the scheduler allows queued wake-ups.
 */
static __always_inline bool kernel_cpu_selected(u64 enq_flags)
{
	if (bpf_core_enum_value_exists(enum scx_enq_flags, SCX_ENQ_CPU_SELECTED))
		return enq_flags & KVAL(scx_enq_flags, SCX_ENQ_CPU_SELECTED);
	return enq_flags & KVAL(scx_enq_flags, SCX_ENQ_WAKEUP);
}

static __always_inline bool kernel_queued(const struct task_struct *p)
{
	return p->scx.flags & KVAL(scx_ent_flags, SCX_TASK_QUEUED);
}

/* Where the scheduler ended, or -1 (STEWARD_NO_CPU). exit_cpu: 7.3 and later. */
static __always_inline s32 kernel_exit_cpu(const struct scx_exit_info *ei)
{
	return bpf_core_field_exists(ei->exit_cpu) ? ei->exit_cpu : -1;
}

/* printf into the debug dump; one line per call. */
#define kernel_dump(fmt, args...)                                              \
	({                                                                     \
		static char ___fmt[] = fmt; /* the kfunc wants it writable */  \
		unsigned long long ___param[___bpf_narg(args)];                \
		___bpf_fill(___param, args);                                   \
		scx_bpf_dump_bstr((char *)___fmt, ___param, sizeof(___param)); \
	})
