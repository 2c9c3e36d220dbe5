# SPDX-License-Identifier: GPL-2.0-only
"""--check says that this machine can run it, with status 0, and attaches nothing."""
import guest
from guest import require


def test():
    sequence = guest.sysfs('enable_seq')
    done = guest.command(guest.BINARY, '--check')
    guest.note(done.stdout.strip().replace('\n', '\n    '))
    require(done.returncode == 0, f'--check ends with {done.returncode}: {done.stdout}')
    require(len(done.stdout.strip()) > 10, '--check says nothing')
    require(guest.sysfs('state') == 'disabled' and guest.sysfs('enable_seq') == sequence, '--check attached')
    done = guest.command(guest.BINARY, '--version')
    require(done.returncode == 0 and 'scx_steward' in done.stdout, f'--version: {done.stdout}')
