# SPDX-License-Identifier: GPL-2.0-only
"""On a kernel without sched_ext: one clear sentence, status 1 (tried on this machine's own kernel)."""
import guest

ON_HOST = True


def test():
    if guest.SYSFS.exists():
        raise guest.Skip('this machine has sched_ext; a start would attach here')
    guest.refused(guest.command(guest.BINARY), 'sched_ext')
    guest.refused(guest.command(guest.BINARY, '--check'), 'sched_ext')
