# SPDX-License-Identifier: GPL-2.0-only
"""A task that waits on a full CPU reaches a CPU that is idle, or becomes idle, within 100 ms."""
import guest
from guest import require

LIMIT_MS = 100
# Guest time counts instructions here, so that a busy host cannot fail the test. The CPUs then share one stream of
# instructions, which makes it harder, not easier.
GUEST = ['--cpus', '4', '--icount']


def test():
    with guest.Steward() as steward:
        # Behind a hog that may not leave, while other CPUs are idle.
        with guest.hogs(1, cpus={1}):
            for _ in range(5):
                with guest.hogs(1, cpus={1}) as waiting:
                    guest.time.sleep(0.1)
                    guest.os.sched_setaffinity(waiting[0].pid, set(guest.online_cpus()))
                    before, start = guest.run_ns(waiting[0].pid), guest.time.monotonic()
                    guest.time.sleep(1)
                    share = (guest.run_ns(waiting[0].pid) - before) / 1e9 / (guest.time.monotonic() - start)
                    guest.note(f'let go behind a pinned hog: has {share:.0%} of a CPU')
                    require(share > 0.85, f'the free hog got {share:.0%} of a CPU with others idle')
        # Five hogs, four CPUs; one hog ends.
        for number in range(10):
            seen = guest.load_report('refill', 4, 400)
            guest.note(f'{number + 1}: a CPU became idle: {seen}')
            require(0 <= seen['first_ms'] <= LIMIT_MS, f"the idle CPU was filled after {seen['first_ms']} ms: {seen}")
        require(guest.moved(steward.stats()) > 0, 'the balancer moved nothing')
