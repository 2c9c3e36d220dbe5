# SPDX-License-Identifier: GPL-2.0-only
"""SIGINT and SIGTERM end the scheduler with status 0 and an exit report, and the kernel's own takes over."""
import signal

import guest
from guest import require


def test():
    for by in (signal.SIGINT, signal.SIGTERM):
        guest.LOG.unlink(missing_ok=True)
        steward = guest.Steward().start()
        name = guest.sysfs('root/ops')
        require(name.startswith('steward_'), f'the kernel shows the scheduler as {name}')
        with guest.hogs(6) as hogs:
            guest.time.sleep(0.5)
            before = [guest.run_ns(hog.pid) for hog in hogs]
            guest.time.sleep(1)
            require(all(guest.run_ns(hog.pid) > old for hog, old in zip(hogs, before)), 'a hog does not run')
            steward.require_alive()
            steward.stop(by, seconds=5)
        log = guest.LOG.read_text(encoding='utf-8')
        require('EXIT' in log, f'no EXIT line after {by.name}: {log}')
        guest.note(f'{by.name}: {[line for line in log.splitlines() if "EXIT" in line][0]}')
