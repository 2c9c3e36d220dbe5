#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What a command finds in a real guest: guest_test.py fast|virtme [KERNEL]. Status 77 where no guest can be booted."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

RUN = Path(__file__).resolve().parents[2] / 'tools/vm/run'

# Prints one line for each thing that is not as promised.
LOOK = r'''
wrong() { echo "wrong: $*"; }
[ "$(id -u)" = 0 ] || wrong "not root"
[ "$PWD" = "$EXPECTED_PWD" ] || wrong "runs in $PWD"
[ "$(cat here)" = content ] || wrong "the folder of the caller is not visible"
[ -r /sys/kernel/sched_ext/state ] || wrong "no sched_ext"
[ -r /sys/kernel/btf/vmlinux ] || wrong "no BTF"
grep -q CONFIG_SCHED_CLASS_EXT=y "/boot/config-$(uname -r)" || wrong "no kernel configuration in /boot"
dmesg | grep -q 'Linux version' || wrong "the kernel's messages cannot be read"
[ "$(nproc)" = 4 ] || wrong "$(nproc) CPUs"
[ "$(cat /sys/devices/system/cpu/cpu0/topology/thread_siblings_list)" = 0-1 ] || wrong "no SMT siblings"
grep -q cpu /sys/fs/cgroup/cgroup.controllers || wrong "no cgroup2"
[ "$(stat -f -c %T /sys/fs/bpf)" = bpf_fs ] || wrong "no bpffs"
ip -o link show lo | grep -q ',UP' || wrong "the loopback is down"
[ "$SAID" = "two  words" ] || wrong "--env gave '$SAID'"
echo kept >"$WRITABLE/file" || wrong "the writable folder is not"
echo lost >here 2>/dev/null
echo lost >/etc/lost 2>/dev/null
'''
# Only the fast guest promises these.
LOOK_FAST = r'''
[ -d "/lib/modules/$(uname -r)" ] || [ -r /proc/config.gz ] || wrong "no kernel modules"
[ -d /sys/kernel/tracing/events/sched ] || wrong "no tracefs"
[ -d /sys/kernel/debug/sched ] || wrong "no debugfs"
[ "$(stat -f -c %T /dev/shm)" = tmpfs ] || wrong "no /dev/shm"
unshare -U true || wrong "no user namespaces"
[ "$(cat /sys/devices/system/node/possible)" = 0-1 ] || wrong "no NUMA nodes"
(echo again >/dev/stdout) || wrong "/dev/stdout cannot be opened again"
# A leftover that is found after whatever starts from here on, and must not keep the guest's end waiting.
echo 8999 >/proc/sys/kernel/ns_last_pid || wrong "process numbers cannot be chosen"
sleep 1000 &
echo 999 >/proc/sys/kernel/ns_last_pid
'''
FINISH = 'printf "\\0raw\\377\\n"; echo to stderr >&2; exit 42\n'


def main():
    runner = sys.argv[1]
    fast = runner == 'fast'
    arguments = ['--runner', runner, '--timeout', '500', '--env', 'SAID=two  words']
    arguments += ['--smp', '4,sockets=2,cores=1,threads=2' + (',numa' if fast else '')]
    arguments += ['--kernel', sys.argv[2]] if len(sys.argv) > 2 else []
    with tempfile.TemporaryDirectory(prefix='guest-test-') as folder:
        caller, writable = Path(folder, 'caller'), Path(folder, 'writable')
        caller.mkdir()
        writable.mkdir()
        (caller / 'here').write_text('content\n')
        arguments += ['--rwdir', str(writable), '--env', f'WRITABLE={writable}', '--env', f'EXPECTED_PWD={caller}']
        script = LOOK + (LOOK_FAST if fast else '') + FINISH
        done = subprocess.run([RUN, *arguments, '--', 'sh', '-c', script], cwd=caller, capture_output=True, check=False)
        sys.stderr.buffer.write(done.stderr)
        sys.stdout.buffer.write(done.stdout)
        sys.stdout.flush()
        if done.returncode == 77:
            return 77
        assert done.returncode == 42, f'status {done.returncode} instead of 42'
        assert done.stdout == (b'again\n' if fast else b'') + b'\0raw\xff\n', done.stdout
        assert b'to stderr\n' in done.stderr
        assert (writable / 'file').read_text() == 'kept\n'
        assert (caller / 'here').read_text() == 'content\n', 'the guest wrote to the host'
        assert not os.path.exists('/etc/lost'), 'the guest wrote to the host'
    print('ok')
    return 0


if __name__ == '__main__':
    sys.exit(main())
