/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether a CPU serves its queue: one that a higher scheduling class holds, or that
 * the kernel no longer lets dispatch, does not, and its tasks must leave.
 */
#pragma once

#include "abi.h"

/* A CPU that ran none of its waiting tasks for so many slices, and at least so
 * long, does not serve its queue. Both must exceed what a CPU may run before it
 * charges any time: our slices, and the kernel's of 20 ms for exiting tasks and a
 * tick. One that balked is tried again after a while: it may have nothing of its own
 * whose running would show that it serves.
 */
#define STEWARD_BALK_SLICES 4
#define STEWARD_BALK_MIN_NS 50000000ull
#define STEWARD_BALK_RETRY_NS 1000000000ull

/* Judge whether a CPU serves its queue: sets @seen->balks. @busy_ns: its
 * steward_run.busy_ns at @now; @seen->nr_queued is fresh, the other fields are
 * what the last call left. Once per pass and CPU.
 */
STEWARD_INLINE void steward_watch_service(struct steward_seen *seen, __u64 busy_ns, __u64 slice_ns,
					  __u64 now)
{
	__u64 patience_ns = STEWARD_BALK_SLICES * slice_ns;
	bool ran = busy_ns != seen->busy_seen_ns;
	bool nothing_to_serve = !seen->nr_queued && !seen->balks;
	bool retry = seen->balks && now - seen->served_ns > STEWARD_BALK_RETRY_NS;
	bool first_look = !seen->served_ns; /* at a queue; looks may be seconds apart */

	if (patience_ns < STEWARD_BALK_MIN_NS)
		patience_ns = STEWARD_BALK_MIN_NS;
	if (ran || nothing_to_serve || retry || first_look) {
		seen->busy_seen_ns = busy_ns;
		seen->served_ns = nothing_to_serve ? 0 : now;
		seen->balks = 0;
	} else if (now - seen->served_ns > patience_ns) {
		seen->balks = 1;
	}
}
