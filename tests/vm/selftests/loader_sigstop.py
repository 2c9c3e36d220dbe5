# SPDX-License-Identifier: GPL-2.0-only
"""With the loader stopped for 20 s under load, tasks still spread, balancing goes on and nothing stalls."""
import signal

import guest
from guest import require


def test():
    with guest.Steward() as steward:
        before = steward.stats()
        steward.process.send_signal(signal.SIGSTOP)
        stopped = guest.time.monotonic()
        spread = guest.load_report('spread', 'parent', 0, 4, 1000)
        require(spread['cpus_at_end'] == 4, f'hogs did not spread while the loader was stopped: {spread}')
        with guest.background('stress-ng', '--cpu', 6, '--fork', 2, '--switch', 2, '-t', 60, '-q'), \
                guest.hogs(1, cpus={2}) as pinned:
            while guest.time.monotonic() - stopped < 20:
                ran = guest.run_ns(pinned[0].pid)
                guest.time.sleep(2)
                require(guest.run_ns(pinned[0].pid) > ran, 'the pinned hog did not run for 2 s')
        steward.require_alive()
        steward.process.send_signal(signal.SIGCONT)
        after = steward.stats()
        passes = after['passes'] - before['passes']
        require(passes >= 100, f'only {passes} passes in 20 s under load')
        require(guest.moved(after) > guest.moved(before), 'no task was moved')
        guest.note(f'{passes} passes, {guest.moved(after) - guest.moved(before)} moves in 20 s, '
                   f"hogs apart after {spread['first_ms']} ms")
