/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Load tracking: how much of the recent past a task was runnable, and running,
 * by the kernel's arithmetic (kernel/sched/pelt.c), so that our figures can be
 * compared with the kernel's; and a decaying load in a single word, for a CPU to
 * publish what others read.
 *
 * Time is cut into periods of 1024 units of 1024 ns. A unit that lies n periods
 * back counts y^n, with y^32 = 1/2: what was 34 ms ago counts half. An average
 * of 1024 is one task that is always runnable, or always running.
 */
#pragma once

#include "platform.h"

#define STEWARD_PELT_UNIT_SHIFT 10			   /* ns to units */
#define STEWARD_PELT_PERIOD 1024u			   /* units in a period */
#define STEWARD_PELT_PERIOD_SHIFT 20			   /* ns to periods */
#define STEWARD_PELT_HALF_LIFE 32u			   /* periods */
#define STEWARD_PELT_FULL 1024u				   /* the average of always */
#define STEWARD_PELT_GONE (63ull * STEWARD_PELT_HALF_LIFE) /* periods no value outlives */

/* The units of an endless past, 1024 / (1 - y) = 47788, as the kernel has them: the
 * fixed point of m -> decay(m, 1) + 1024, which its rounding leaves 46 lower.
 */
#define STEWARD_PELT_MAX 47742u

/* y^n * (2^32 - 1), rounded down. */
static const __u32 steward_pelt_inverse[STEWARD_PELT_HALF_LIFE] = {
	0xffffffff, 0xfa83b2da, 0xf5257d14, 0xefe4b99a, 0xeac0c6e6, 0xe5b906e6, 0xe0ccdeeb,
	0xdbfbb796, 0xd744fcc9, 0xd2a81d91, 0xce248c14, 0xc9b9bd85, 0xc5672a10, 0xc12c4cc9,
	0xbd08a39e, 0xb8fbaf46, 0xb504f333, 0xb123f581, 0xad583ee9, 0xa9a15ab4, 0xa5fed6a9,
	0xa2704302, 0x9ef5325f, 0x9b8d39b9, 0x9837f050, 0x94f4efa8, 0x91c3d373, 0x8ea4398a,
	0x8b95c1e3, 0x88980e80, 0x85aac367, 0x82cd8698,
};

/* @v * y^(@periods mod 32) * 2^32. The table's index is masked where it is used, for
 * the verifier; see steward_index().
 */
STEWARD_INLINE __u64 steward_pelt_scaled(__u64 v, __u64 periods)
{
	__asm__ volatile("" : "+r"(periods));
	return v * steward_pelt_inverse[periods & (STEWARD_PELT_HALF_LIFE - 1)];
}

/* @v * y^@periods, rounded down as the kernel does it: never too high, and less than
 * 2.25 too low for v < 2^30 (1 by the shift, 1 by the product, and by the table 2^-31
 * of what the shift has left). No period leaves @v as it is, where the kernel's
 * function, which is never asked that, would take one off.
 */
STEWARD_INLINE __u32 steward_pelt_decay(__u32 v, __u64 periods)
{
	if (!periods)
		return v;
	if (periods > STEWARD_PELT_GONE)
		return 0;
	/* In 64 bits: the shift is up to 63. */
	return (__u32)(steward_pelt_scaled((__u64)v >> (periods / STEWARD_PELT_HALF_LIFE),
					   periods) >>
		       32);
}

/* What one task, or any other single thing that runs or waits, has been doing.
 * Plain data: the writer is whoever owns the structure it is in. A reader beside the
 * writer may see the fields from different moments, and a sum under the wrong stamp
 * is wrong by a factor: publish a steward_decayed word to other CPUs, not this.
 */
struct steward_pelt {
	__u64 stamp_ns;	    /* the time up to which everything is counted */
	__u32 period_part;  /* units of the current period before stamp_ns, 0..1023 */
	__u32 runnable_sum; /* units runnable, weighted by age, * 1024; below 2^26 */
	__u32 util_sum;	    /* units running, the same way */
};

/* The units that an average of 1024 means at the phase of the period that @p is in:
 * past periods, and as much as there has been of the current one.
 */
STEWARD_INLINE __u32 steward_pelt_divider(const struct steward_pelt *p)
{
	return STEWARD_PELT_MAX - STEWARD_PELT_PERIOD + p->period_part;
}

STEWARD_INLINE __u32 steward_pelt_average(const struct steward_pelt *p, __u32 sum)
{
	__u32 average = sum / steward_pelt_divider(p);

	/* Summed up piece by piece, always comes to 1025: STEWARD_PELT_MAX is low. */
	return average < STEWARD_PELT_FULL ? average : STEWARD_PELT_FULL;
}

/* The averages at @p's stamp, 0..1024, rounded down. The kernel keeps the one of the
 * last period boundary; this is the current one, by the kernel's divider.
 */
STEWARD_INLINE __u32 steward_pelt_runnable(const struct steward_pelt *p)
{
	return steward_pelt_average(p, p->runnable_sum);
}

STEWARD_INLINE __u32 steward_pelt_util(const struct steward_pelt *p)
{
	return steward_pelt_average(p, p->util_sum);
}

/* Begin at @now_ns with a past of which the share @average (0..1024) was spent
 * running. A new task starts with all of it: nothing is known against it.
 */
STEWARD_INLINE void steward_pelt_init(struct steward_pelt *p, __u64 now_ns, __u32 average)
{
	p->stamp_ns = now_ns;
	p->period_part = 0;
	p->runnable_sum = average * steward_pelt_divider(p);
	p->util_sum = p->runnable_sum;
}

/* The time from the stamp to @now_ns was spent @runnable and @running; a task that is
 * not runnable does not run. Any span in one go. Less than a unit stays for the next
 * call, and goes by what that one says.
 *
 * A clock that went backward adds nothing and leaves the stamp. The kernel moves its
 * stamp back, which a CPU's own clock allows; our clocks are those of several CPUs,
 * which lag each other by a little all the time, and each time the span between the
 * two would be counted again. The price is that a clock that was once far ahead stops
 * the count until the others get there.
 */
STEWARD_INLINE void steward_pelt_update(struct steward_pelt *p, __u64 now_ns, int runnable,
					int running)
{
	__s64 ahead_ns = (__s64)(now_ns - p->stamp_ns);
	__u64 units, part, periods;
	__u32 added;

	if (ahead_ns < (1 << STEWARD_PELT_UNIT_SHIFT))
		return;
	units = (__u64)ahead_ns >> STEWARD_PELT_UNIT_SHIFT;
	part = p->period_part + units;
	periods = part / STEWARD_PELT_PERIOD;
	part %= STEWARD_PELT_PERIOD;

	added = (__u32)part;
	if (!periods) {
		added = (__u32)units;
	} else {
		/* The rest of the period that the stamp is in; the whole periods after
		 * it, 1024 * (y^1 + ... + y^(periods - 1)), as the difference of two
		 * endless sums; and the part of the current one.
		 */
		added += steward_pelt_decay(STEWARD_PELT_PERIOD - p->period_part, periods);
		added += STEWARD_PELT_MAX - STEWARD_PELT_PERIOD -
			 steward_pelt_decay(STEWARD_PELT_MAX, periods);
		p->runnable_sum = steward_pelt_decay(p->runnable_sum, periods);
		p->util_sum = steward_pelt_decay(p->util_sum, periods);
	}
	if (runnable)
		p->runnable_sum += added * 1024;
	if (runnable && running)
		p->util_sum += added * 1024;
	p->stamp_ns += units << STEWARD_PELT_UNIT_SHIFT;
	p->period_part = (__u32)part;
}

/* What @p will be at @now_ns if it spends the time until then so. For readers. */
STEWARD_INLINE struct steward_pelt steward_pelt_at(const struct steward_pelt *p, __u64 now_ns,
						   int runnable, int running)
{
	struct steward_pelt at = *p;

	steward_pelt_update(&at, now_ns, runnable, running);
	return at;
}

/*
 * A decaying load in one word (a plain __u64 here), so that no reader sees a value
 * under the stamp of another:
 *
 *   high 34 bits: index of the period that the value stands for, now_ns >> 20,
 *		   which comes round every 2^54 ns = 208 days
 *   low 30 bits:  the value, in 64ths of a unit of load (raw); 1024 units are one
 *		   task of nice 0, and 2^24 units, 16384 such tasks, are the most
 *
 * A word of 0 is no load at any time. These functions compute the new word; to store
 * it is up to the writer: one, or many with compare-and-swap.
 *
 * Clocks differ between CPUs, and a virtual CPU may sleep between reading the clock
 * and storing the word. So a time before the word's period is not an error: such a
 * reader gets the value as it is, and such a writer keeps the period, and what it adds
 * or takes is aged up to there. So the order of writers matters to the rounding only.
 */
#define STEWARD_DECAYED_VALUE_BITS 30
#define STEWARD_DECAYED_VALUE_MAX ((1u << STEWARD_DECAYED_VALUE_BITS) - 1)
#define STEWARD_DECAYED_PERIOD_MAX (~0ull >> STEWARD_DECAYED_VALUE_BITS)
#define STEWARD_DECAYED_FRACTION_BITS 6
#define STEWARD_DECAYED_ONE (1u << STEWARD_DECAYED_FRACTION_BITS) /* raw per unit of load */

/* A time up to so many periods (137 s) before a word's is a clock that lags; any other
 * is a later time. More than a watchdog (30 s at most) lets a CPU sleep, and little of
 * the 208 days: a word that nobody wrote for that long reads as 0, but as undecayed
 * during the last 137 s before the index comes round, and after that as if young.
 */
#define STEWARD_DECAYED_LAG_MAX (1ull << 17)

STEWARD_INLINE __u64 steward_decayed_period(__u64 now_ns)
{
	return now_ns >> STEWARD_PELT_PERIOD_SHIFT & STEWARD_DECAYED_PERIOD_MAX;
}

/* Periods from one index to a later one; 0 if @to is before @from. */
STEWARD_INLINE __u64 steward_decayed_elapsed(__u64 from, __u64 to)
{
	__u64 elapsed = (to - from) & STEWARD_DECAYED_PERIOD_MAX;

	return elapsed > STEWARD_DECAYED_PERIOD_MAX - STEWARD_DECAYED_LAG_MAX ? 0 : elapsed;
}

/* @value: raw; more than fits is cut off. */
STEWARD_INLINE __u64 steward_decayed_pack(__u64 period, __u64 value)
{
	if (value > STEWARD_DECAYED_VALUE_MAX)
		value = STEWARD_DECAYED_VALUE_MAX;
	return period << STEWARD_DECAYED_VALUE_BITS | value;
}

/* The word moved on to @now_ns. Rounded down, so that it comes to 0 however often it
 * is moved: a word that is moved every period is low by up to 1 / (1 - y) = 47 raw, 0.7
 * units, whatever it holds (70 raw near its maximum).
 */
STEWARD_INLINE __u64 steward_decayed_at(__u64 word, __u64 now_ns)
{
	__u64 period = steward_decayed_period(now_ns);
	__u64 elapsed = steward_decayed_elapsed(word >> STEWARD_DECAYED_VALUE_BITS, period);
	__u32 value = word & STEWARD_DECAYED_VALUE_MAX;

	if (value && !elapsed)
		return word;
	return steward_decayed_pack(period, steward_pelt_decay(value, elapsed));
}

STEWARD_INLINE __u32 steward_decayed_read_raw(__u64 word, __u64 now_ns)
{
	return steward_decayed_at(word, now_ns) & STEWARD_DECAYED_VALUE_MAX;
}

/* In units of load, rounded down. */
STEWARD_INLINE __u32 steward_decayed_read(__u64 word, __u64 now_ns)
{
	return steward_decayed_read_raw(word, now_ns) >> STEWARD_DECAYED_FRACTION_BITS;
}

/* A load after @periods, rounded to nearest: the word loses to rounding once however
 * many loads it holds, but this is done for each load that leaves it.
 */
STEWARD_INLINE __u32 steward_decayed_aged(__u32 load_raw, __u64 periods)
{
	if (load_raw > STEWARD_DECAYED_VALUE_MAX)
		load_raw = STEWARD_DECAYED_VALUE_MAX;
	/* 2^30 has come to 1/4 by then, and the shift stays below 64. */
	if (periods >= 32 * STEWARD_PELT_HALF_LIFE)
		return 0;
	if (!periods)
		return load_raw;
	return (__u32)(((steward_pelt_scaled(load_raw, periods) >>
			 (31 + periods / STEWARD_PELT_HALF_LIFE)) +
			1) >>
		       1);
}

/* What is left at @now_ns of a load that was added at @then_ns: by the difference of
 * the indices, as the word has it, not by that of the times.
 */
STEWARD_INLINE __u32 steward_decayed_since(__u32 load_raw, __u64 then_ns, __u64 now_ns)
{
	__s64 periods = (__s64)(now_ns >> STEWARD_PELT_PERIOD_SHIFT) -
			(__s64)(then_ns >> STEWARD_PELT_PERIOD_SHIFT);

	if (!periods && load_raw <= STEWARD_DECAYED_VALUE_MAX)
		return load_raw;
	return steward_decayed_aged(load_raw, periods > 0 ? (__u64)periods : 0);
}

/* The word at @now_ns with @load_raw on top; stays at its maximum if that is more. */
STEWARD_INLINE __u64 steward_decayed_add(__u64 word, __u64 now_ns, __u32 load_raw)
{
	__u64 at, period, lag, sum = word + load_raw;

	/* As most are, in the word's period, and not too much for it: a short cut. */
	if (sum >> STEWARD_DECAYED_VALUE_BITS == now_ns >> STEWARD_PELT_PERIOD_SHIFT &&
	    word >> STEWARD_DECAYED_VALUE_BITS == now_ns >> STEWARD_PELT_PERIOD_SHIFT)
		return sum;
	at = steward_decayed_at(word, now_ns);
	period = at >> STEWARD_DECAYED_VALUE_BITS;
	lag = steward_decayed_elapsed(steward_decayed_period(now_ns), period);
	return steward_decayed_pack(period, (at & STEWARD_DECAYED_VALUE_MAX) +
						    steward_decayed_aged(load_raw, lag));
}

/* The word at @now_ns without @load_raw, at least 0. To take back what was added at
 * then_ns, @load_raw is steward_decayed_since() from there to @now_ns, and @now_ns is
 * not before then_ns. Each taking leaves an error of at most half a raw unit.
 */
STEWARD_INLINE __u64 steward_decayed_sub(__u64 word, __u64 now_ns, __u32 load_raw)
{
	__u32 value = word & STEWARD_DECAYED_VALUE_MAX;
	__u64 at, period, lag;
	__u32 taken;

	/* In the word's period: a short cut. */
	if (word >> STEWARD_DECAYED_VALUE_BITS == now_ns >> STEWARD_PELT_PERIOD_SHIFT)
		return word - (value > load_raw ? load_raw : value);
	at = steward_decayed_at(word, now_ns);
	period = at >> STEWARD_DECAYED_VALUE_BITS;
	lag = steward_decayed_elapsed(steward_decayed_period(now_ns), period);
	value = at & STEWARD_DECAYED_VALUE_MAX;
	taken = steward_decayed_aged(load_raw, lag);
	return steward_decayed_pack(period, value > taken ? value - taken : 0);
}
