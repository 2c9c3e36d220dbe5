# SPDX-License-Identifier: GPL-2.0-only
"""Hogs, two a CPU, half of them nice, spread from one CPU to weights within 10 % of the mean in 200 ms, and then rest."""
import guest
from guest import require

LIMIT_MS = 200
RUN_MS = 2200
# Guest time counts instructions here, so that a busy host cannot fail the test.
GUEST = ['--cpus', '4', '--icount']


def test(times=4):
    with guest.Steward() as steward:
        for number in range(int(times)):
            nice = (5, 3)[number % 2]
            seen = guest.load_report('even', number % 4, 4, nice, RUN_MS)
            guest.note(f'{number + 1}: half of them nice {nice}, from CPU {number % 4}: {seen}')
            require(0 <= seen['first_ms'] <= LIMIT_MS, f'even only after {seen["first_ms"]} ms')
            require(seen['worst_after_200_ms'] <= 0.1, f'a CPU is {seen["worst_after_200_ms"]:.0%} off the mean')
            require(seen['moves_after_200_ms'] <= 1, 'the hogs do not come to rest')
        stats = steward.stats()
        guest.note(f"moved {stats['moved']}, {stats['passes']} passes, {stats['pass_ns']['sum'] // max(stats['passes'], 1)} ns each")
