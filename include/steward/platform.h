/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one place where code shared by BPF, the loader and the simulator learns
 * which of them it is compiled for. Nothing else under include/ may test
 * __bpf__ or __cplusplus.
 *
 * Shared headers are plain C17 that is also C++20: fixed-width kernel types
 * (__u32, __u64, ...), no libc, no floating point, no unbounded loop.
 */
#pragma once

#ifdef __bpf__
/* kernel.bpf.h has already brought vmlinux.h and bpf_helpers.h. */
#define steward_for(i, from, to) bpf_for(i, from, to)
#else
#include <linux/types.h>
#define steward_for(i, from, to) for ((i) = (from); (i) < (to); (i)++)
#endif

#ifdef __cplusplus
#define STEWARD_ASSERT(cond, text) static_assert(cond, text)
#else
#define STEWARD_ASSERT(cond, text) _Static_assert(cond, text)
#endif

/* Read or write a word that another CPU may write or read at the same time:
 * one untorn access that the compiler neither repeats nor moves away.
 */
#define steward_read(x) (*(const volatile __typeof__(x) *)&(x))
#define steward_write(x, v) (*(volatile __typeof__(x) *)&(x) = (v))

#define STEWARD_INLINE static inline __attribute__((always_inline, unused))
#define STEWARD_ALIGN(bytes) __attribute__((aligned(bytes)))
