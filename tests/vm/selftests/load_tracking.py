# SPDX-License-Identifier: GPL-2.0-only
"""The load of hogs, nice hogs and sleepers is what they do, leaves a CPU with the task, and ends with it."""
import statistics

import guest
from guest import require

FULL = 1024
# Instructions are the clock: a busy host cannot make a task run longer than it says.
GUEST = ['--cpus', '4', '--icount']


def samples(steward, field, seconds=0.5):
    """{cpu: median of a per-CPU number over some passes}."""
    seen = {}
    limit = guest.time.monotonic() + seconds
    while guest.time.monotonic() < limit:
        for cpu in steward.stats()['cpus']:
            seen.setdefault(cpu['cpu'], []).append(cpu[field])
        guest.time.sleep(0.05)
    return {cpu: statistics.median(values) for cpu, values in seen.items()}


def hogs_weigh(steward):
    with guest.hogs(1, cpus={1}), guest.hogs(2, cpus={2}), guest.hogs(2, cpus={3}, nice=5):
        guest.time.sleep(0.5)
        load = samples(steward, 'runnable_load')
        guest.note(f'runnable_load of one hog, two, two of nice 5: {load[1]:.0f} {load[2]:.0f} {load[3]:.0f}')
        for cpu, expected in ((1, FULL), (2, 2 * FULL), (3, 2 * FULL * 33 / 100)):
            require(abs(load[cpu] - expected) <= 0.02 * FULL, f'CPU {cpu} has load {load[cpu]} instead of {expected}')
        util = samples(steward, 'util')
        require(all(util[cpu] >= 1000 for cpu in (1, 2, 3)), f'util of busy CPUs: {util}')


def sleepers_weigh(steward):
    # Hogs that wait keep the passes coming.
    with guest.hogs(2, cpus={3}), guest.background(guest.LOAD, 'duty', 1, 2000, 10000) as sleeper:
        guest.time.sleep(0.6)
        blocked, running = samples(steward, 'blocked_load', 1), samples(steward, 'runnable_load', 1)
        guest.note(f'2 ms of 10 ms on CPU 1: blocked_load {blocked[1]:.0f}, runnable_load {running[1]:.0f}')
        # A sixth of the time; it swings by 18 within a period, and the wait after each wake-up counts too.
        require(abs(max(blocked[1], running[1]) - FULL * 2 / 12) <= 18 + 0.03 * FULL, 'not a sixth of a CPU')
        before = steward.stats()['ring_records']
        guest.os.sched_setaffinity(sleeper[0].pid, {2})
        guest.time.sleep(0.08)
        first = {cpu['cpu']: cpu['blocked_load'] for cpu in steward.stats()['cpus']}
        require(steward.stats()['ring_records'] > before, 'no record of the sleeper that left')
        guest.note(f'moved to CPU 2: blocked_load {first[1]} there, {first[2]} here')
        require(first[1] <= 10, f'CPU 1 keeps load {first[1]} of a sleeper that left 80 ms ago')
        require(max(samples(steward, 'blocked_load')[2], samples(steward, 'runnable_load')[2]) > 130,
                'the load did not arrive with the sleeper')


def all_fades(steward):
    # Not on CPU 0, where those that ask live.
    def left():
        return [cpu for cpu in steward.stats()['cpus'][1:] if cpu['blocked_load'] > 40 or cpu['runnable_load'] > 40]

    require(guest.poll(lambda: not left(), 8, 0.5), f'load is left after all tasks ended: {left()}')


def test():
    # The test itself, and what it starts to ask, has load too: all of it on CPU 0.
    guest.os.sched_setaffinity(0, {0})
    with guest.Steward() as steward:
        hogs_weigh(steward)
        sleepers_weigh(steward)
        all_fades(steward)
        require(steward.stats()['ring_overflow'] == 0, 'a ring overflowed')
