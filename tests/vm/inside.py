# SPDX-License-Identifier: GPL-2.0-only
"""Runs selftests in the guest: inside.py NAME [KEY=VALUE...] [NAME...]... Status 0, 1 one failed, 77 none can run here."""
import importlib
import os
import sys
import time
import traceback
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent / 'selftests')]
import guest  # pylint: disable=wrong-import-position


def tail(title, text, lines):
    print(f'--- {title}, last {lines} lines')
    print('\n'.join(text.splitlines()[-lines:]), flush=True)


def check_guest(on_host):
    if not guest.BINARY.exists():
        raise guest.Skip(f'{guest.BINARY} is missing: build first')
    if on_host:
        return
    if not guest.SYSFS.is_dir():
        raise guest.Skip('this kernel has no sched_ext')
    # khugepaged (nice 19) copies pages under an RCU read lock. Preempted there on an emulated and overloaded
    # guest, its small share alone makes the kernel report an RCU stall, which ejects any scheduler.
    huge_pages = guest.Path('/sys/kernel/mm/transparent_hugepage/enabled')
    if huge_pages.exists():
        huge_pages.write_text('never', encoding='ascii')
    # What the boot printed is no news.
    guest.command('dmesg', '-C')


def run(name, options):
    selftest = importlib.import_module(name)
    on_host = getattr(selftest, 'ON_HOST', False)
    print(f'{name}: {selftest.__doc__}', flush=True)
    guest.LOG.unlink(missing_ok=True)
    started = time.monotonic()
    try:
        check_guest(on_host)
        selftest.test(**options)
    except guest.Skip as reason:
        print(f'SKIP {name}: {reason}', flush=True)
        return 77
    except Exception as error:  # pylint: disable=broad-except
        if not isinstance(error, guest.Failure):
            traceback.print_exc(file=sys.stdout)
        print(f'FAIL {name}: {error}', flush=True)
        guest.end_schedulers()
        if guest.LOG.exists():
            tail('scx_steward', guest.LOG.read_text(encoding='utf-8', errors='replace'), 150)
        if not on_host:
            tail('kernel', guest.kernel_log(), 60)
        print(f'FAIL {name}: {error}', flush=True)
        return 1
    print(f'ok {name}: {time.monotonic() - started:.1f} s', flush=True)
    return 0


def run_apart(name, options):
    """run() in a process of its own: what a selftest does to itself, like its affinity, ends with it."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            status = run(name, options)
        except BaseException:  # pylint: disable=broad-except
            traceback.print_exc(file=sys.stdout)
        finally:
            sys.stdout.flush()
            os._exit(status)  # pylint: disable=protected-access
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status < 0:
        print(f'FAIL {name}: ended by signal {-status}', flush=True)
    return status


def main(words):
    selftests = []
    for word in words:
        if '=' in word:
            selftests[-1][1].update([word.split('=', 1)])
        else:
            selftests.append((word, {}))
    results = [run_apart(name, options) for name, options in selftests]
    failed = [name for (name, _), result in zip(selftests, results) if result not in (0, 77)]
    if failed:
        print(f"failed: {', '.join(failed)}", flush=True)
        return 1
    return 0 if 0 in results else 77


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
