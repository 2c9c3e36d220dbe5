/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Load of tasks and CPUs, and the records of sleepers that left a CPU.
 *
 * Load is weight times the share of recent time that a task was runnable (PELT):
 * 1024 for a task of nice 0 that always is. Kept with six fraction bits, "raw",
 * as steward_decayed is.
 */
#pragma once

#include "pelt.h"
#include "topology.h"
#include "vtime.h"

#define STEWARD_LOAD_FULL 1024

/* Raw load of a task of @weight (1..10000) that was runnable for @avg (0..1024)
 * of recent time. Less than 2^23.
 */
STEWARD_INLINE __u32 steward_load_raw(__u32 weight, __u32 avg)
{
	return (avg << STEWARD_DECAYED_FRACTION_BITS) * weight / STEWARD_WEIGHT_DFL;
}

/* What @word, a raw value, has grown to at @now_ns if it counts in full (@full, raw)
 * since: the part that is missing decays.
 */
STEWARD_INLINE __u32 steward_grown_raw(__u64 word, __u32 full, __u64 now_ns)
{
	__u32 began = word & STEWARD_DECAYED_VALUE_MAX;

	if (began >= full)
		return full;
	word = steward_decayed_pack(word >> STEWARD_DECAYED_VALUE_BITS, full - began);
	return full - steward_decayed_read_raw(word, now_ns);
}

/* Raw load at @now_ns of the task that runs on a CPU since it published @word, its
 * load then, and @weight: the old part decays, and what the task has run since
 * then counts in full. 0 if none runs (weight 0).
 */
STEWARD_INLINE __u32 steward_load_running(__u64 word, __u32 weight, __u64 now_ns)
{
	return weight ? steward_grown_raw(word, steward_load_raw(weight, STEWARD_LOAD_FULL), now_ns)
		      : 0;
}

/* Share of time, to 1024, that a CPU ran tasks, from what it published: @running
 * is whether it has run one since.
 */
STEWARD_INLINE __u32 steward_util_at(__u64 word, bool running, __u64 now_ns)
{
	__u32 full = STEWARD_LOAD_FULL << STEWARD_DECAYED_FRACTION_BITS;
	__u32 raw = running ? steward_grown_raw(word, full, now_ns)
			    : steward_decayed_read_raw(word, now_ns);

	return raw >> STEWARD_DECAYED_FRACTION_BITS;
}

/* --- removal ring: single producer, single consumer ---
 *
 * A task that slept has its load in the blocked sum of its home, the CPU it last
 * ran on. If it runs next on another CPU, that CPU may not write the home's sum:
 * it appends a record to its own ring, and the pass subtracts what it finds
 * there from its own view of the home.
 *
 * A record is one word, so it is never torn, and tells by a bit that flips with
 * every lap whether it is there yet: no order between record and head is needed,
 * on any machine. Bits: home 10, lap 1, period 26 (of 1.05 ms: 19 hours), raw
 * load 27.
 */
#define STEWARD_RING_SLOTS 256

STEWARD_ASSERT((STEWARD_RING_SLOTS & (STEWARD_RING_SLOTS - 1)) == 0, "slots are masked");
STEWARD_ASSERT(STEWARD_MAX_CPUS <= 1 << 10, "a home has ten bits");

/* Writer: the holder of the rq lock of the CPU that the task runs on now. */
struct steward_ring {
	__u64 head; /* records appended, in sum */
	__u64 slots[STEWARD_RING_SLOTS];
} STEWARD_ALIGN(128);

#define STEWARD_RING_RAW_BITS 27
#define STEWARD_RING_PERIOD_BITS 26
#define STEWARD_RING_LAP_SHIFT (STEWARD_RING_RAW_BITS + STEWARD_RING_PERIOD_BITS)
#define STEWARD_RING_HOME_SHIFT (STEWARD_RING_LAP_SHIFT + 1)
#define STEWARD_RING_RAW_MASK ((1u << STEWARD_RING_RAW_BITS) - 1)
#define STEWARD_RING_PERIOD_MASK ((1u << STEWARD_RING_PERIOD_BITS) - 1)

struct steward_removal {
	__u32 home;
	__u32 raw;    /* load that left */
	__u64 period; /* whose decay it has already had */
};

STEWARD_INLINE __u32 steward_ring_slot(__u64 position)
{
	return position & (STEWARD_RING_SLOTS - 1);
}

/* The lap bit of a position; 1 in the first lap, as memory begins as 0. */
STEWARD_INLINE __u64 steward_ring_lap(__u64 position)
{
	return !(position / STEWARD_RING_SLOTS & 1);
}

STEWARD_INLINE __u64 steward_ring_pack(__u64 position, const struct steward_removal *removal)
{
	return (__u64)removal->home << STEWARD_RING_HOME_SHIFT |
	       steward_ring_lap(position) << STEWARD_RING_LAP_SHIFT |
	       (removal->period & STEWARD_RING_PERIOD_MASK) << STEWARD_RING_RAW_BITS |
	       (removal->raw & STEWARD_RING_RAW_MASK);
}

/* The record of @position, if it is there. @now_period restores the bits of the
 * period that a record leaves out.
 */
STEWARD_INLINE bool steward_ring_unpack(__u64 word, __u64 position, __u64 now_period,
					struct steward_removal *removal)
{
	__u64 age;

	if ((word >> STEWARD_RING_LAP_SHIFT & 1) != steward_ring_lap(position))
		return false;
	removal->home = word >> STEWARD_RING_HOME_SHIFT;
	removal->raw = word & STEWARD_RING_RAW_MASK;
	age = (now_period - (word >> STEWARD_RING_RAW_BITS)) & STEWARD_RING_PERIOD_MASK;
	/* A record from a clock that is a little ahead. */
	if (age > STEWARD_RING_PERIOD_MASK / 2)
		age = 0;
	removal->period = now_period - age;
	return true;
}

/* Append a record. One store a word: a reader on another CPU may look meanwhile. */
STEWARD_INLINE void steward_ring_append(struct steward_ring *ring,
					const struct steward_removal *removal)
{
	__u64 head = ring->head;

	steward_write(ring->slots[steward_ring_slot(head)], steward_ring_pack(head, removal));
	steward_write(ring->head, head + 1);
}

/* How many records are lost to a reader at @tail that the writer has lapped. The
 * reader then goes on with the newer half.
 */
STEWARD_INLINE __u64 steward_ring_lost(__u64 head, __u64 tail)
{
	return head - tail > STEWARD_RING_SLOTS ? head - tail - STEWARD_RING_SLOTS / 2 : 0;
}
