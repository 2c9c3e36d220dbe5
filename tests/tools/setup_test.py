#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""tools/setup with a make-believe apt: what it refuses, and that it never leaves a half-made piece."""

import os
import pwd
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

SETUP = Path(__file__).resolve().parents[2] / 'tools/setup'

# Answers as apt-get does, with packages made on the spot. $STATE/slow makes downloads hang, $STATE/plan is what a
# simulated installation prints, $STATE/locked says that another apt is at work.
APT_GET = r'''#!/bin/bash
while [[ ${1:-} == -[oys]* ]]; do
    [[ $1 == -s ]] && simulate=yes
    [[ $1 == -o ]] && shift
    shift
done
case $1 in
    update) [[ ! -e $STATE/offline ]] || { echo 'E: Failed to fetch the lists'; exit 100; } ;;
    indextargets)
        [[ ! -e $STATE/offline ]] || exit 0
        if [[ $3 == *REPO_URI* ]]; then echo 'mirror: bookworm'; else echo bookworm-backports; fi ;;
    download)
        shift
        [[ ! -e $STATE/slow ]] || sleep 300
        for package in "${@%%=*}"; do
            mkdir -p "$STATE/$package/DEBIAN" "$STATE/$package/usr/share/$package"
            printf 'Package: %s\nVersion: 1\nArchitecture: all\nMaintainer: x\nDescription: x\n' "$package" \
                >"$STATE/$package/DEBIAN/control"
            echo 'struct sched_ext_ops {' >"$STATE/$package/usr/share/$package/vmlinux.h"
            head -c 300000 /dev/urandom >"$STATE/$package/usr/share/$package/bulk"
            dpkg-deb -Znone -b "$STATE/$package" "$STATE/$package.deb" >/dev/null && cp "$STATE/$package.deb" . || exit
        done ;;
    source)
        mkdir -p "$STATE/libbpf-1/src"
        printf 'install:\n\tmkdir -p $(LIBDIR)/pkgconfig\n\techo prefix=x >$(LIBDIR)/pkgconfig/libbpf.pc\n' \
            >"$STATE/libbpf-1/src/Makefile"
        printf 'install_uapi_headers:\n' >>"$STATE/libbpf-1/src/Makefile"
        tar -C "$STATE" -czf libbpf.orig.tar.gz libbpf-1 ;;
    install)
        [[ ! -e $STATE/locked || -n $simulate ]] || { echo 'E: Could not get lock /var/lib/dpkg/lock'; exit 100; }
        [[ -z $simulate ]] || cat "$STATE/plan" ;;
esac
'''
APT_CACHE = '''#!/bin/bash
case "$*" in
    *showsrc*) echo 'Version: 1.7.0-1' ;;
    *madison*) echo ' p | 7.3.4-1 | somewhere' ;;
esac
'''
# Everything is installed and new, save what $STATE/missing names.
DPKG_QUERY = r'''#!/bin/bash
if [[ "$*" == *libc6* ]]; then printf 2.36-9; exit; fi
. "$LIB/distro.sh"
for name in "${PACKAGES[@]}" "${NEWER[@]%% *}"; do
    grep -qx "$name" "$STATE/missing" 2>/dev/null || echo "ii  $name 9:99"
done
'''


class SetupTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='setup-test-')
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.cache, self.state, programs = self.root / 'cache', self.root / 'state', self.root / 'bin'
        self.state.mkdir()
        programs.mkdir()
        for name, text in (('apt-get', APT_GET), ('apt-cache', APT_CACHE), ('dpkg-query', DPKG_QUERY)):
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        (self.root / 'debian12').write_text('ID=debian\nVERSION_ID="12"\n')
        self.environment = dict(
            os.environ, PATH=f'{programs}:{os.environ["PATH"]}', STATE=str(self.state), STEWARD_CACHE=str(self.cache),
            LIB=str(SETUP.parent / 'lib'), OS_RELEASE=str(self.root / 'debian12'), STEWARD_APT_WAIT='0')

    def setup(self, *arguments):
        return subprocess.run([SETUP, *arguments], env=self.environment, text=True, capture_output=True, timeout=120,
                              cwd=self.root, check=False)

    def refused(self, status, part, *arguments):
        """One sentence with this part on stderr, this status."""
        done = self.setup(*arguments)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn(part, done.stderr.splitlines()[-1])

    def pieces(self):
        """What is in the cache folder, temporary folders included."""
        if not self.cache.is_dir():
            return []
        return sorted(path.name for path in self.cache.iterdir() if path.name != '.lock')

    def need(self, package, plan):
        (self.state / 'missing').write_text(package + '\n')
        (self.state / 'plan').write_text(plan)

    def test_wrong_arguments(self):
        self.refused(2, "unknown argument '--kernel'", '--kernel')
        self.refused(2, "'seven' is not a kernel series", '--kernels', '7.3,seven')
        self.refused(2, '--kernels needs a list', '--kernels')

    def test_cache_folder(self):
        self.environment['STEWARD_CACHE'] = 'near'
        self.assertIn(f'STEWARD_CACHE={self.root}/near\n', self.setup('--env').stdout)
        self.environment['STEWARD_CACHE'] = 'white space'
        self.refused(2, 'has white space', '--env')
        for name in ('STEWARD_CACHE', 'XDG_CACHE_HOME', 'HOME'):
            self.environment.pop(name, None)
        home = pwd.getpwuid(os.geteuid()).pw_dir
        self.assertIn(f'STEWARD_CACHE={home}/.cache/scx_steward\n', self.setup('--env').stdout)

    def test_other_distribution_gets_the_list(self):
        (self.root / 'debian12').write_text('ID=plan9\n')
        done = self.setup()
        self.assertEqual(done.returncode, 2)
        self.assertIn('clang-19', done.stdout)
        self.assertIn('plan9', done.stderr)

    def test_makes_everything_then_nothing(self):
        done = self.setup('--kernels', 'none')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.pieces(), ['include', 'libbpf', 'virtme-ng'])
        self.assertEqual(self.setup('--kernels', 'none', '--check').returncode, 0)
        (self.state / 'offline').touch()
        self.assertIn('everything is there', self.setup('--kernels', 'none').stderr)

    def test_check_names_what_is_missing(self):
        self.refused(1, 'kernels/7.3', '--check', '--kernels', '7.3')
        self.assertEqual(self.pieces(), [])

    def slow_setup(self):
        """A setup in the middle of a download that takes its time."""
        (self.state / 'slow').touch()
        child = subprocess.Popen([SETUP, '--kernels', 'none'], env=self.environment, stderr=subprocess.PIPE, text=True)
        for line in child.stderr:
            if 'vmlinux.h' in line:
                break
        time.sleep(0.3)
        return child

    def test_interrupted_leaves_only_whole_pieces(self):
        child = self.slow_setup()
        child.send_signal(signal.SIGTERM)
        self.assertIn('run it again', child.stderr.read())
        self.assertEqual(child.wait(), 143)
        child.stderr.close()
        self.assertEqual(self.pieces(), ['libbpf'])
        (self.state / 'slow').unlink()
        self.assertEqual(self.setup('--kernels', 'none').returncode, 0)
        self.assertEqual(self.pieces(), ['include', 'libbpf', 'virtme-ng'])

    def test_killed_run_holds_no_lock(self):
        child = self.slow_setup()
        beat, step = Path(f'/proc/{child.pid}/task/{child.pid}/children').read_text().split()
        child.kill()
        child.wait()
        child.stderr.close()
        # The download ends some day, here now. What prints "still downloading" must not hold the lock until then.
        os.killpg(int(step), signal.SIGKILL)
        self.assertTrue(Path(f'/proc/{beat}').exists())
        (self.state / 'slow').unlink()
        self.assertEqual(self.setup('--kernels', 'none').returncode, 0)

    def test_killed_run_is_swept_up(self):
        (self.cache / '.work.leftover').mkdir(parents=True)
        self.assertEqual(self.setup('--kernels', 'none').returncode, 0)
        self.assertEqual(self.pieces(), ['include', 'libbpf', 'virtme-ng'])

    def test_full_disk(self):
        # The pieces that fit are whole, the one that does not leaves nothing; once before, then after a df that lies.
        self.cache.mkdir()
        script = f'mount -t tmpfs -o $SIZE tiny {self.cache} || exit 77; {SETUP} --kernels none; ls -A {self.cache}'
        command = ['unshare', '-m', 'sh', '-c', script]
        self.environment['SIZE'] = 'size=300k'
        run = {'env': self.environment, 'text': True, 'capture_output': True, 'check': False}
        done = subprocess.run(command, **run)
        if done.returncode:
            self.skipTest(f'no right to mount here: {done.stderr.strip()}')
        self.assertIn('are needed; free some space', done.stderr)
        df = self.root / 'bin/df'
        df.write_text('#!/bin/sh\necho; echo tiny 9999 0 9999\n')
        df.chmod(0o755)
        done = subprocess.run(command, **run)
        self.assertIn('include could not be written', done.stderr)
        self.assertEqual(done.stdout.split(), ['.lock', 'libbpf'])
        # However early it is full, and in whatever way: neither the mirror nor the network is blamed.
        for size in ('size=4k', 'size=8k', 'size=28k', 'nr_inodes=9', 'nr_inodes=16', 'nr_inodes=20', 'nr_inodes=28'):
            self.environment['SIZE'] = size
            done = subprocess.run(command, **run)
            self.assertIn('could not be written to', done.stderr.splitlines()[-1], size)
            self.assertEqual([line for line in done.stderr.splitlines() if not line.startswith('setup: ')], [], size)

    def test_offline(self):
        (self.state / 'offline').touch()
        self.refused(1, 'check the network', '--kernels', 'none')
        self.assertEqual(self.pieces(), [])

    def test_another_apt_at_work(self):
        self.need('stress-ng', 'Inst stress-ng (1 x [amd64])\n')
        (self.state / 'locked').touch()
        self.refused(1, 'another apt still holds the lock', '--kernels', 'none')

    def test_never_another_libc(self):
        self.need('stress-ng', 'Inst libc6 [2.36-9] (2.41-12 Debian:13 [amd64])\n')
        self.refused(1, 'replace libc6 2.36-9 by 2.41-12', '--kernels', 'none')
        self.need('stress-ng', 'Inst libc6 [2.36-9] (2.36-9+deb12u14 Debian:12 [amd64])\n')
        self.assertEqual(self.setup('--kernels', 'none').returncode, 0)

    def test_never_removes(self):
        self.need('stress-ng', 'Remv precious [1]\nInst stress-ng (1 x [amd64])\n')
        self.refused(1, 'would remove precious', '--kernels', 'none')


if __name__ == '__main__':
    if os.geteuid() != 0:
        print('skipped: the make-believe installation still wants to be root', file=sys.stderr)
        sys.exit(77)
    unittest.main()
