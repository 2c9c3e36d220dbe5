# SPDX-License-Identifier: GPL-2.0-only
"""No root, no BTF: one clear sentence, status 1, nothing changed."""
import guest
from guest import require


def unchanged(before):
    after = snapshot()
    require(before == after, f'something changed: {before} to {after}')


def snapshot():
    run = guest.Path('/run/scx_steward')
    return {'state': guest.sysfs('state'), 'enable_seq': guest.sysfs('enable_seq'), **guest.bpf_objects(),
            'files': sorted(str(path) for path in run.rglob('*')) if run.exists() else []}


def test():
    before = snapshot()
    require(before['state'] == 'disabled', 'a scheduler is loaded already')
    guest.refused(guest.command('setpriv', '--reuid', 65534, '--regid', 65534, '--clear-groups', guest.BINARY),
                  'root', 'privilege', 'CAP_')
    unchanged(before)
    hide = 'mount -t tmpfs none /sys/kernel/btf && exec "$0" "$@"'
    guest.refused(guest.command('unshare', '-m', 'sh', '-c', hide, guest.BINARY), 'BTF')
    unchanged(before)
