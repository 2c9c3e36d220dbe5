# SPDX-License-Identifier: GPL-2.0-only
"""When the loader is killed the kernel's own scheduler takes over at once, and a new start works."""
import signal

import guest
from guest import require


def test():
    for _ in range(2):
        steward = guest.Steward().start()
        with guest.hogs(6) as hogs:
            guest.time.sleep(1)
            steward.require_alive()
            steward.process.send_signal(signal.SIGKILL)
            steward.process.wait(10)
            require(guest.state_becomes('disabled', 10), f"sched_ext is still {guest.sysfs('state')}")
            before = [guest.run_ns(hog.pid) for hog in hogs]
            guest.time.sleep(1)
            require(all(guest.run_ns(hog.pid) > old for hog, old in zip(hogs, before)), 'a hog stands still')
            trouble = guest.TROUBLE.search(guest.kernel_log())
            require(not trouble, f'the kernel says: {trouble and trouble.group(0)}')
    with guest.Steward() as steward:
        require(steward.stats()['cpus'], 'the new run has no statistics')
