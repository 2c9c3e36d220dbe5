# SPDX-License-Identifier: GPL-2.0-only
"""Four hogs that were held on one CPU run on four CPUs within 100 ms of being let go, 20 times of 20."""
import guest
from guest import require

LIMIT_MS = 100
# Guest time counts instructions here, so that a busy host cannot fail the test. The CPUs then share one stream of
# instructions, which makes it harder, not easier.
GUEST = ['--cpus', '4', '--icount']


def test(times=20):
    worst = 0.0
    with guest.Steward() as steward:
        for number in range(int(times)):
            # Let go by another task, or each by itself when it first runs.
            who = ('parent', 'self')[number % 2]
            # On every CPU in turn, so on the timer CPU too.
            seen = guest.load_report('spread', who, (number // 2) % 4, 4, 300)
            guest.note(f'{number + 1}: opened by {who}: {seen}')
            require(0 <= seen['first_ms'] <= LIMIT_MS, f"time {number + 1}: on four CPUs after {seen['first_ms']} ms: {seen}")
            require(seen['apart_share'] >= 0.7, f'time {number + 1}: they did not stay apart: {seen}')
            worst = max(worst, seen['first_ms'])
        stats = steward.stats()
        guest.note(f"worst {worst} ms; moved {stats['moved']}, {stats['passes']} passes")
