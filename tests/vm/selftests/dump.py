# SPDX-License-Identifier: GPL-2.0-only
"""Ejected by SysRq-S or the watchdog the loader ends with status 1 and says why; dumps hold our lines."""
import guest
from guest import require

TRACE = guest.Path('/sys/kernel/tracing')


def ended(steward):
    """The log of a scheduler that the kernel is about to end."""
    require(guest.state_becomes('disabled', 20), f"sched_ext is still {guest.sysfs('state')}")
    status = steward.process.wait(20)
    log = guest.LOG.read_text(encoding='utf-8', errors='replace')
    require(status == 1, f'the loader ended with {status} after an ejection')
    exits = [line for line in log.splitlines() if line.startswith('EXIT')]
    require(exits, f'no EXIT line: {log}')
    guest.note(exits[-1])
    return log


def sysrq(key):
    guest.Path('/proc/sysrq-trigger').write_text(key, encoding='ascii')


def by_sysrq():
    guest.LOG.unlink(missing_ok=True)
    steward = guest.Steward().start()
    with guest.hogs(6):
        event = TRACE / 'events/sched_ext/sched_ext_dump/enable'
        if event.exists():
            event.write_text('1', encoding='ascii')
            guest.time.sleep(0.3)
            sysrq('D')
            guest.time.sleep(0.3)
            event.write_text('0', encoding='ascii')
            trace = (TRACE / 'trace').read_text(encoding='utf-8', errors='replace')
            require('steward' in trace and 'timer_cpu' in trace, f'SysRq-D shows none of our lines: {trace[-3000:]}')
        steward.require_alive()
        sysrq('S')
        require('sysrq' in ended(steward).lower(), 'the report does not say SysRq')


def by_watchdog():
    guest.LOG.unlink(missing_ok=True)
    # Four tasks that take turns of 100 ms cannot all run every 100 ms.
    steward = guest.Steward('--slice-us', 100000, watchdog_ms=100).start()
    with guest.hogs(5, cpus={1}):
        log = ended(steward)
    for what in ('stall', 'CPU 1', 'vm-load', 'steward: queued=', 'timer_cpu'):
        require(what in log, f'the report does not show {what!r}: {log[-2000:]}')
    require(len(log.splitlines()) > 20, 'the dump is too short')


def test():
    guest.Path('/proc/sys/kernel/sysrq').write_text('1', encoding='ascii')
    by_sysrq()
    by_watchdog()
    with guest.Steward():
        guest.time.sleep(0.2)
