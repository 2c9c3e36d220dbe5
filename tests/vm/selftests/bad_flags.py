# SPDX-License-Identifier: GPL-2.0-only
"""Wrong flags and values name what is wrong and end without attaching; wrong settings change nothing."""
import guest
from guest import require

WRONG_FLAGS = [
    (('--timer-cpu', '99'), '99'), (('--timer-cpu', '-1'), '-1'), (('--timer-cpu', '3'), 'CPU 3|cpu.*3.*offline'),
    (('--timer-cpu', 'two'), 'two'), (('--timer-cpu', ''), 'timer-cpu'), (('--slice-us', '0'), 'slice.us'),
    (('--slice-us', '1000000000'), 'slice.us'), (('--slice-us', '5ms'), '5ms'), (('--slice-us', '-5'), '-5'),
    (('--slice-us', '18446744073709551617'), 'slice.us'), (('--slice-usec', '5000'), 'slice-usec'),
    (('--timeout-ms', '99999999'), 'timeout.ms'), (('--balance-fast-us', '90000', '--balance-slow-us', '1000'), 'balance'),
    (('surplus',), 'surplus'),
]
WRONG_SETTINGS = ['timer_cpu=99', 'timer_cpu=-7', 'timer_cpu=3', 'timer_cpu=x', 'slice_us=0', 'slice_us=abc', 'slice_us=',
                  'slice_us', 'nonsense=1', 'slice_us=18446744073709551617', 'balance_fast_us=90000']


def test():
    guest.set_online(3, False)
    try:
        wrong_flags()
        wrong_settings()
    finally:
        guest.set_online(3, True)


def wrong_flags():
    sequence = guest.sysfs('enable_seq')
    for flags, hint in WRONG_FLAGS:
        done = guest.command(guest.BINARY, *flags, seconds=30)
        require(done.returncode in (1, 2, 105, 106, 109), f'{flags}: status {done.returncode}: {done.stdout}')
        guest.refused(done, hint, status=done.returncode)
    require(guest.sysfs('state') == 'disabled' and guest.sysfs('enable_seq') == sequence, 'a wrong flag attached')


def wrong_settings():
    with guest.Steward() as steward:
        before = guest.control('get').stdout
        require('slice_us' in before, f'stewardctl get shows no knobs: {before}')
        timer_cpu = steward.stats()['timer_cpu']
        for setting in WRONG_SETTINGS:
            done = guest.control('set', setting)
            require(done.returncode != 0, f'set {setting} was accepted: {done.stdout}')
            guest.refused(done, setting.split('=')[0], setting.split('=')[-1] or '=', status=done.returncode)
            # All or nothing, in the company of a good one too.
            require(guest.control('set', 'slice_us=7777', setting).returncode != 0, f'set slice_us=7777 {setting} accepted')
            require(guest.control('get').stdout == before, f'set {setting} was refused and changed something')
        require(steward.stats()['timer_cpu'] == timer_cpu, 'the timer CPU moved')
