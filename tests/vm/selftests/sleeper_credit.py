# SPDX-License-Identifier: GPL-2.0-only
"""A task that slept for long and then never stops is owed a slice, not the time it slept: it shares its CPU at once."""
import guest
from guest import require

SLEPT = 3


def test():
    with guest.Steward(), guest.background('sh', '-c', f'sleep {SLEPT}; exec "{guest.LOAD}" hog', cpus={1}) as sleepers:
        pid = sleepers[0].pid
        with guest.hogs(1, cpus={1}) as first:
            # It wakes to an empty queue, where single-CPU tasks skip it.
            guest.time.sleep(SLEPT - 0.7)
            require(guest.run_ns(first[0].pid) > 1e9, 'CPU 1 was not busy while the sleeper slept')
            require(guest.run_ns(pid) < 0.5e9, 'the sleeper did not sleep')
        require(guest.poll(lambda: guest.run_ns(pid) > 0.5e9, 5), 'the sleeper does not run after it woke')
        with guest.hogs(1, cpus={1}) as second:
            guest.time.sleep(0.2)
            before = [guest.run_ns(p) for p in (pid, second[0].pid)]
            guest.time.sleep(1)
            ran = [guest.run_ns(p) - old for p, old in zip((pid, second[0].pid), before)]
        guest.note(f'sleeper {ran[0] / 1e6:.0f} ms, newcomer {ran[1] / 1e6:.0f} ms')
        require(0.8 < ran[0] / max(ran[1], 1) < 1.25, 'the two do not share the CPU')
