#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""tools/vm/run with a make-believe QEMU: wrong input, how a guest can end, and that nothing is left behind."""

import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

RUN = Path(__file__).resolve().parents[2] / 'tools/vm/run'

# Plays the part that the file $STATE/part names, with the guest's sockets and the mark from the real initial ram disk.
QEMU = r'''#!/usr/bin/python3
import os, pathlib, re, signal, sys, time
state = pathlib.Path(os.environ['STATE'])
line = ' '.join(sys.argv)
with open(state / 'boots', 'a') as boots:
    boots.write(f'{os.getpid()} {line}\n')
if 'accel kvm' in line:
    print('qemu: KVM internal error')
    sys.exit(1)
def descriptor(pattern):
    return int(re.search(pattern, line).group(1))
def send(name, data):
    os.write(descriptor(f'id={name},fd=([0-9]+)'), data)
with open(descriptor('/proc/self/fd/([0-9]+)'), 'rb', closefd=False) as image:
    image.seek(0)
    mark = b'\0' + re.search(rb'MARK=(\w+)', image.read()).group(1)
part = (state / 'part').read_text()
if part == 'silent once':
    (state / 'part').write_text('good')
    sys.exit(0)
if part in ('good', 'in pieces'):
    send('out', b'to stdout\0 with a null\n')
    send('err', b'to stderr\n')
    time.sleep(0.2)
    for byte in (mark + b' 7\n') if part == 'in pieces' else []:
        send('out', bytes([byte]))
        time.sleep(0.005)
    send('out', mark + b' 7\n')
    send('err', mark + b'\n')
if part == 'panic':
    send('console', b'[1.0] Kernel panic - not syncing: out of coffee\r\n')
    sys.exit(0)
if part == 'dies':
    send('out', b'half a li')
    print('qemu: assertion failed')
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGABRT)
if part == 'no root':
    send('console', b'steward-init: no root\n')
    sys.exit(0)
time.sleep(300)
'''

# Plays virtme-ng, first with a QEMU that aborts, with the mark from the script that the guest would run.
VNG = r'''#!/usr/bin/python3
import os, pathlib, re, sys
boots = pathlib.Path(os.environ['STATE']) / 'vng-boots'
first = not boots.exists()
boots.touch()
if first:
    sys.exit('qemu: assertion failed')
mark = re.search(r'0%s .* (\w+) \$status', pathlib.Path(sys.argv[-1].split()[-1]).read_text()).group(1)
for stream, text, end in (sys.stdout, 'to stdout', ' 7'), (sys.stderr, 'to stderr', ''):
    stream.write(f'from QEMU\0{mark}\n{text}\n\0{mark}{end}\n')
'''


def kernel_image(release):
    """The least that is taken for a bzImage."""
    head = bytearray(0x400)
    head[0x202:0x206] = b'HdrS'
    head[0x20E:0x210] = (0x100).to_bytes(2, 'little')
    return bytes(head[:0x300]) + release.encode() + b' (builder)\0'


def alive(pid):
    try:
        return 'Z' not in Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0]
    except OSError:
        return False


class RunTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='vm-test-')
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for name in ('bin', 'cache/kernels/7.3', 'tmp'):
            (self.root / name).mkdir(parents=True)
        self.image = self.root / 'cache/kernels/7.3/vmlinuz'
        self.image.write_bytes(kernel_image('7.3.4-test'))
        self.qemu = self.root / 'bin/qemu-system-x86_64'
        self.qemu.write_text(QEMU)
        self.qemu.chmod(0o755)
        # The runner only packs it into the ram disk, which nobody boots here.
        (self.root / 'bin/busybox').write_text('')
        (self.root / 'bin/busybox').chmod(0o755)
        self.environment = dict(
            os.environ, PATH=f'{self.root}/bin:{os.environ["PATH"]}', STATE=str(self.root), TMPDIR=f'{self.root}/tmp',
            STEWARD_CACHE=f'{self.root}/cache', STEWARD_KERNEL_6_12=f'{self.root}/none')

    def tearDown(self):
        """However a run ended, no guest and no temporary file outlive it."""
        for line in self.boots():
            pid = line.split()[0]
            self.assertFalse(alive(pid), f'QEMU {pid} is still there')
        self.assertEqual(list((self.root / 'tmp').iterdir()), [])

    def boots(self):
        path = self.root / 'boots'
        return [line for line in path.read_text().splitlines()] if path.exists() else []

    def guest_boots(self):
        return [line for line in self.boots() if 'accel kvm' not in line]

    def play(self, part, *arguments):
        (self.root / 'part').write_text(part)
        return subprocess.run([RUN, *arguments, '--', 'job'], env=self.environment, text=True, capture_output=True,
                              timeout=60, check=False)

    def refused(self, status, part, *arguments):
        """One sentence with this part, this status, and no guest."""
        done = subprocess.run([RUN, *arguments], env=self.environment, text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn(part, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertEqual(self.boots(), [])

    def test_wrong_input(self):
        self.refused(2, 'no command to run', '--kernel', '7.3')
        self.refused(2, "'linux' is not a kernel; give a path or one of: 7.3", '--kernel', 'linux', '--', 'true')
        self.refused(2, 'no kernel image ./none', '--kernel', './none', '--', 'true')
        self.refused(2, 'is not a kernel image', '--kernel', str(self.qemu), '--', 'true')
        self.refused(2, '--cpus must be a whole number', '--cpus', '0', '--', 'true')
        self.refused(2, '--cpus must be a whole number', '--cpus=-1', '--', 'true')
        self.refused(2, 'more than the 512', '--cpus', '513', '--', 'true')
        self.refused(2, 'describes 4 CPUs, but names 8', '--smp', '8,sockets=2,cores=2', '--', 'true')
        self.refused(2, "does not understand 'boxes=2'", '--smp', '2,boxes=2', '--', 'true')
        self.refused(2, 'has one socket', '--smp', '2,cores=2,numa', '--', 'true')
        self.refused(2, 'different numbers', '--smp', '2', '--cpus', '3', '--', 'true')
        self.refused(2, 'at least 256M', '--memory', '16M', '--', 'true')
        self.refused(2, 'memory is given as', '--memory', 'lots', '--', 'true')
        self.refused(2, 'wants seconds', '--timeout', 'never', '--', 'true')
        self.refused(2, 'wants seconds', '--timeout', '0', '--', 'true')
        self.refused(2, 'no folder /none', '--rwdir', '/none', '--', 'true')
        self.refused(2, 'NAME=VALUE', '--env', '1=2', '--', 'true')
        self.refused(2, 'one thread', '--icount', '--thread', 'multi', '--', 'true')
        self.refused(2, 'unrecognized arguments', '--kernal', '7.3', '--', 'true')
        self.refused(2, '--console / cannot be written', '--console', '/', '--', 'true')
        self.refused(2, '--console /none/x cannot be written', '--console', '/none/x', '--', 'true')

    def test_cache_folder(self):
        self.environment |= {'STEWARD_CACHE': f'{self.root}/white space'}
        self.refused(2, 'has white space', '--kernel', '7.3', '--', 'true')
        # Without HOME and everything else that says it: the user's folder, as the system knows it.
        for name in ('STEWARD_CACHE', 'XDG_CACHE_HOME', 'HOME'):
            self.environment.pop(name, None)
        home = pwd.getpwuid(os.geteuid()).pw_dir
        self.refused(77, f'{home}/.cache/scx_steward', '--kernel', '9.99', '--', 'true')

    def test_lost_output(self):
        (self.root / 'part').write_text('good')
        for arguments in (['--help'], ['--list-kernels'], ['--icount', '--', 'job']):
            with open('/dev/full', 'w') as full:
                done = subprocess.run([RUN, *arguments], env=self.environment, stdout=full, stderr=subprocess.PIPE,
                                      text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn('the output could not be written: No space left', done.stderr)
            self.assertNotIn('Traceback', done.stderr)

    def test_impossible_is_a_skip(self):
        self.refused(77, 'run tools/setup --kernels 6.18', '--kernel', '6.18', '--', 'true')
        self.refused(77, 'STEWARD_KERNEL_6_12', '--kernel', '6.12', '--', 'true')
        shutil.rmtree(self.root / 'cache/kernels')
        self.refused(77, 'no guest kernel', '--', 'true')
        self.image.parent.mkdir(parents=True)
        self.image.write_bytes(kernel_image('7.3.4-test'))
        self.qemu.unlink()
        self.environment['PATH'] = str(self.root / 'bin')
        self.refused(77, 'not installed', '--', 'true')

    def test_output_and_status(self):
        for part in ('good', 'in pieces'):
            done = self.play(part, '--icount')
            self.assertEqual(done.returncode, 7)
            self.assertEqual(done.stdout, 'to stdout\0 with a null\n')
            self.assertEqual(done.stderr, 'to stderr\n')

    def test_command_line(self):
        topology = '8,sockets=2,cores=2,threads=2'
        self.play('good', '--icount', '--smp', topology + ',numa', '--append', 'one two', '--memory', '2G')
        (line,) = self.guest_boots()
        parts = ['-smp ' + topology, 'cpus=4-7', 'val=21', 'shift=0,sleep=off', 'one two', '-m 2048M', 'lpj=4000000']
        for part in parts:
            self.assertIn(part, line)

    def test_kvm_is_tried_once(self):
        if not os.access('/dev/kvm', os.W_OK):
            self.skipTest('there is no /dev/kvm')
        for _ in range(2):
            self.assertIn('KVM does not work here', self.play('good').stderr)
        self.assertEqual(len(self.boots()) - len(self.guest_boots()), 1)

    def test_panic(self):
        done = self.play('panic', '--icount')
        self.assertEqual(done.returncode, 125)
        self.assertIn('panicked: Kernel panic - not syncing: out of coffee;', done.stderr)
        self.assertEqual(len(self.guest_boots()), 1)

    def test_guest_without_root(self):
        done = self.play('no root', '--icount')
        self.assertEqual(done.returncode, 125)
        self.assertIn('could not start the command: no root;', done.stderr)

    def test_qemu_dies(self):
        done = self.play('dies', '--icount')
        self.assertEqual((done.returncode, done.stdout), (125, 'half a li'))
        self.assertIn('QEMU ended with status -6 before the command did (qemu: assertion failed)', done.stderr)
        self.assertEqual(len(self.guest_boots()), 1)

    def test_silent_end_is_tried_again(self):
        done = self.play('silent once', '--icount')
        self.assertEqual(done.returncode, 7)
        self.assertIn('trying once more', done.stderr)
        self.assertEqual(len(self.guest_boots()), 2)

    def test_virtme_tries_again_before_the_command(self):
        vng = self.root / 'bin/vng'
        vng.write_text(VNG)
        vng.chmod(0o755)
        done = self.play('', '--runner', 'virtme', '--icount')
        self.assertEqual((done.returncode, done.stdout), (7, 'to stdout\n'), done.stderr)
        self.assertIn('trying once more\nto stderr\n', done.stderr)

    def test_time_limit(self):
        done = self.play('hangs', '--icount', '--timeout', '0.5')
        self.assertEqual(done.returncode, 124)
        self.assertIn('time limit of 0.5 s', done.stderr)

    def hanging(self):
        """A run whose guest hangs, once the guest is there."""
        (self.root / 'part').write_text('hangs')
        child = subprocess.Popen([RUN, '--icount', '--', 'job'], env=self.environment, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.stderr.close)
        limit = time.monotonic() + 30
        while not self.boots() and time.monotonic() < limit:
            time.sleep(0.05)
        return child

    def test_signals_end_the_guest(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            child = self.hanging()
            child.send_signal(number)
            self.assertEqual(child.wait(20), 128 + number)
            (self.root / 'boots').rename(self.root / f'boots-{number}')
            (pid,) = re.findall(r'^\d+', (self.root / f'boots-{number}').read_text(), re.M)
            self.assertFalse(alive(pid))

    def test_guest_does_not_outlive_a_killed_runner(self):
        child = self.hanging()
        child.kill()
        child.wait(20)
        pid = self.boots()[0].split()[0]
        limit = time.monotonic() + 10
        while alive(pid) and time.monotonic() < limit:
            time.sleep(0.05)
        self.assertFalse(alive(pid))


if __name__ == '__main__':
    unittest.main()
