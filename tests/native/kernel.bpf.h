/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stands in for bpf/kernel.bpf.h where bpf/ is compiled natively: the part of
 * the kernel that the scheduler's sources touch, declared and nothing more. That
 * they compile against this proves that kernel.bpf.h is their only door.
 *
 * Field names and kfunc prototypes are the kernel's; values of enumerators are
 * those of 7.3.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

#define SEC(name)
#define __uint(name, value) int(*name)[value]
#define __type(name, value) __typeof__(value) *name
#define __noinline __attribute__((noinline))

#define KVAL(type, name) (name)
#define STEWARD_OPS(name, args...) name(args)
#define STEWARD_OPS_SLEEPABLE(name, args...) name(args)

#define PF_EXITING 0x00000004
#define PF_KTHREAD 0x00200000
#define CLOCK_MONOTONIC 1
#define BPF_F_TIMER_CPU_PIN 2
#define BPF_LOCAL_STORAGE_GET_F_CREATE 1
#define BPF_F_NO_PREALLOC 1

enum {
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_TASK_STORAGE = 29
};
enum {
	SCX_WAKE_SYNC = 16
};
enum {
	SCX_KICK_IDLE = 1,
	SCX_KICK_PREEMPT = 2
};
#define SCX_ENQ_WAKEUP 1ull
#define SCX_ENQ_PREEMPT (1ull << 32)
#define SCX_DSQ_GLOBAL ((1ull << 63) | 1)
#define SCX_DSQ_LOCAL ((1ull << 63) | 2)
#define SCX_DSQ_LOCAL_ON ((1ull << 63) | (1ull << 62))

struct cpumask;
struct bpf_timer {
	u64 opaque[2];
};

struct task_struct {
	s32 pid;
	u32 flags;
	s32 nr_cpus_allowed;
	const struct cpumask *cpus_ptr;
	struct {
		u64 sum_exec_runtime;
	} se;
	struct {
		u64 dsq_vtime;
		u64 slice;
		u32 weight;
	} scx;
};

struct scx_init_task_args;
struct scx_exit_task_args;
struct scx_dump_ctx {
	u64 at_ns;
};
struct scx_exit_info {
	s32 kind;
	s32 exit_cpu;
	s64 exit_code;
	const char *reason;
	const char *msg;
	const char *dump;
};

struct sched_ext_ops {
	s32 (*select_cpu)(struct task_struct *p, s32 prev_cpu, u64 wake_flags);
	void (*enqueue)(struct task_struct *p, u64 enq_flags);
	void (*dispatch)(s32 cpu, struct task_struct *prev);
	void (*running)(struct task_struct *p);
	void (*stopping)(struct task_struct *p, bool runnable);
	void (*enable)(struct task_struct *p);
	void (*disable)(struct task_struct *p);
	s32 (*init_task)(struct task_struct *p, struct scx_init_task_args *args);
	void (*exit_task)(struct task_struct *p, struct scx_exit_task_args *args);
	void (*cpu_online)(s32 cpu);
	void (*cpu_offline)(s32 cpu);
	s32 (*init)(void);
	void (*exit)(struct scx_exit_info *ei);
	void (*dump)(struct scx_dump_ctx *dctx);
	void (*dump_cpu)(struct scx_dump_ctx *dctx, s32 cpu, bool idle);
	void (*dump_task)(struct scx_dump_ctx *dctx, struct task_struct *p);
	char name[128];
};

/* Helpers and kfuncs. */
u32 bpf_get_smp_processor_id(void);
struct task_struct *bpf_get_current_task_btf(void);
void *bpf_map_lookup_elem(void *map, const void *key);
void *bpf_task_storage_get(void *map, struct task_struct *p, void *value, u64 flags);
long bpf_timer_init(struct bpf_timer *timer, void *map, u64 flags);
long bpf_timer_set_callback(struct bpf_timer *timer, void *callback);
long bpf_timer_start(struct bpf_timer *timer, u64 ns, u64 flags);
long bpf_probe_read_kernel(void *dst, u32 size, const void *src);
long bpf_probe_read_kernel_str(void *dst, u32 size, const void *src);
bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *mask);
bool bpf_cpumask_intersects(const struct cpumask *a, const struct cpumask *b);
void bpf_rcu_read_lock(void);
void bpf_rcu_read_unlock(void);
s32 scx_bpf_create_dsq(u64 dsq_id, s32 node);
s32 scx_bpf_dsq_nr_queued(u64 dsq_id);
void scx_bpf_kick_cpu(s32 cpu, u64 flags);
s32 scx_bpf_select_cpu_dfl(struct task_struct *p, s32 prev_cpu, u64 wake_flags, bool *is_idle);
s32 scx_bpf_task_cpu(const struct task_struct *p);
const struct cpumask *scx_bpf_get_idle_cpumask(void);
void scx_bpf_put_idle_cpumask(const struct cpumask *mask);
const struct cpumask *scx_bpf_get_online_cpumask(void);
void scx_bpf_put_cpumask(const struct cpumask *mask);
bool kernel_timekeeper(s32 *cpu);
#define bpf_ksym_exists(symbol) ((symbol) != NULL)

#define bpf_for(i, from, to) for ((i) = (from); (i) < (__typeof__(i))(to); (i)++)

struct bpf_iter_scx_dsq {
	u64 opaque[6];
};
struct bpf_iter_scx_dsq kernel_iter_begin(u64 dsq_id, u64 flags);
struct task_struct *kernel_iter_next(struct bpf_iter_scx_dsq *it);
#define bpf_for_each(type, cur, args...)                                                 \
	for (struct bpf_iter_scx_dsq ___it = kernel_iter_begin(args), *___once = &___it; \
	     ___once && ((cur) = kernel_iter_next(&___it));)
#define KERNEL_DSQ_ITER (&___it)

/* What kernel.bpf.h makes of the versions' differences. */
u64 kernel_now(void);
void kernel_insert(struct task_struct *p, u64 dsq_id, u64 slice_ns, u64 enq_flags);
void kernel_insert_vtime(struct task_struct *p, u64 dsq_id, u64 slice_ns, u64 vtime, u64 enq_flags);
bool kernel_move_to_local(u64 dsq_id);
bool kernel_move(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id);
bool kernel_move_vtime(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id, u64 vtime);
bool kernel_head_vtime(u64 dsq_id, u64 *vtime);
bool kernel_migration_disabled(const struct task_struct *p);
bool kernel_knows_queued_since(void);
u64 kernel_queued_since(const struct task_struct *p);
bool kernel_cpu_selected(u64 enq_flags);
bool kernel_queued(const struct task_struct *p);
s32 kernel_exit_cpu(const struct scx_exit_info *ei);
void kernel_print(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
#define kernel_dump(fmt, args...) kernel_print(fmt, ##args)
