# SPDX-License-Identifier: GPL-2.0-only
"""Tasks and kernel threads of one CPU do not wait without bound behind hogs on that CPU."""
import guest
from guest import require

SLICE_MS = 5
# Two hogs ahead of the sleeper at most, each for a slice that ends with a tick (4 ms), and as much again for the host.
SLEEPER_MS = 2 * 2 * (SLICE_MS + 4)
KWORKER_MS = 2 * (SLICE_MS + 4)
GUEST = ['--cpus', '4', '--icount']


def test():
    with guest.Steward('--slice-us', SLICE_MS * 1000) as steward, guest.hogs(2, cpus={1}):
        guest.time.sleep(0.2)
        seen = guest.load_report('wake', 1, 10000, 60)
        guest.note(f'sleeper on the CPU of two hogs: {seen}')
        require(seen['max_us'] <= SLEEPER_MS * 1000, f"a pinned sleeper waited {seen['max_us'] / 1000:.1f} ms")
        seen = guest.load_report('kworkers', 30, 10000)
        guest.note(f'work items on all CPUs: {seen}')
        require(seen['max_us'] <= KWORKER_MS * 1000, f"a kworker waited {seen['max_us'] / 1000:.1f} ms")
        # A hog that may go anywhere must not keep the pinned ones out.
        with guest.hogs(1, cpus={1}) as free:
            guest.os.sched_setaffinity(free[0].pid, set(guest.online_cpus()))
            seen = guest.load_report('wake', 1, 10000, 40)
            guest.note(f'and a hog that may leave: {seen}')
            require(seen['max_us'] <= SLEEPER_MS * 1000, f"a pinned sleeper waited {seen['max_us'] / 1000:.1f} ms")
        steward.require_alive()
