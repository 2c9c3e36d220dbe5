# SPDX-License-Identifier: GPL-2.0-only
"""When SysRq-S ejects the scheduler the loader ends non-zero, with the reason and a dump that holds our lines."""
import guest
from guest import require


def test():
    guest.LOG.unlink(missing_ok=True)
    guest.Path('/proc/sys/kernel/sysrq').write_text('1', encoding='ascii')
    steward = guest.Steward().start()
    with guest.hogs(6):
        guest.time.sleep(0.5)
        steward.require_alive()
        guest.Path('/proc/sysrq-trigger').write_text('S', encoding='ascii')
        require(guest.state_becomes('disabled', 10), f"sched_ext is {guest.sysfs('state')} after SysRq-S")
        status = steward.process.wait(10)
    log = guest.LOG.read_text(encoding='utf-8', errors='replace')
    require(status == 1, f'the loader ended with {status} after an ejection')
    for what in ('EXIT', 'sysrq', 'CPU ', 'timer_cpu'):
        require(what.lower() in log.lower(), f'the report does not show {what!r}')
    lines = [line.strip() for line in log.splitlines()]
    require(len(lines) > 20, 'the dump is too short')
    guest.note(f"{len(lines)} lines; {[line for line in lines if 'EXIT' in line][0]}")
    with guest.Steward():
        guest.time.sleep(0.2)
