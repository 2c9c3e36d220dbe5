# SPDX-License-Identifier: GPL-2.0-only
"""What the selftests share. Runs in the guest, as root, on the build tree of the host."""
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get('STEWARD_BUILD', REPO / 'build')).resolve()
BINARY = BUILD / 'loader' / 'scx_steward'
CONTROL = BUILD / 'loader' / 'stewardctl'
CONTROL_SOCKET = '/run/scx_steward/control.sock'
LOAD = BUILD / 'tests' / 'vm' / 'vm-load'
SYSFS = Path('/sys/kernel/sched_ext')
LOG = Path('/tmp/selftest-steward.log')
WATCHDOG_MS = 5000
# Kernel messages that no test may cause. Linux 6.12 warns in deadline.c (running_bw) when a CPU goes
# offline under any sched_ext scheduler, so a warning counts only where it comes from sched_ext or BPF.
TROUBLE = re.compile(r'sched_ext:.*(stall|error|failed|disabled \((?!unregistered from user))|soft lockup|hard LOCKUP'
                     r'|rcu:.*(stall|detected)|BUG:|Oops|blocked for more than'
                     r'|WARNING:.*(sched/ext|kernel/bpf|ext\.c|ext_idle)')


class Failure(Exception):
    """The scheduler did not do what it must."""


class Skip(Exception):
    """The guest cannot run this test; the text says why."""


def require(condition, text):
    if not condition:
        raise Failure(text)


def note(text):
    print(f'    {text}', flush=True)


def poll(condition, seconds, step=0.02):
    """Calls condition until it returns something true or the time is over; returns its last value."""
    limit = time.monotonic() + seconds
    while True:
        value = condition()
        if value or time.monotonic() > limit:
            return value
        time.sleep(step)


def sysfs(name):
    return (SYSFS / name).read_text(encoding='ascii').strip()


def state_becomes(state, seconds=10):
    return poll(lambda: sysfs('state') == state, seconds)


def kernel_log():
    return subprocess.run(['dmesg'], capture_output=True, text=True, errors='replace', check=False).stdout


def command(*words, seconds=120, **kwargs):
    """Runs a command to its end; its output is kept, stderr with it."""
    return subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors='replace', timeout=seconds, check=False, **kwargs)


def control(*words, seconds=20):
    return command(CONTROL, *words, seconds=seconds)


def load_report(*words, seconds=120):
    """What a mode of vm-load measured."""
    done = command(LOAD, *words, seconds=seconds)
    require(done.returncode == 0, f'vm-load {words} ended with {done.returncode}: {done.stdout}')
    return json.loads(done.stdout)


def online_cpus():
    cpus = []
    for part in Path('/sys/devices/system/cpu/online').read_text(encoding='ascii').strip().split(','):
        first, _, last = part.partition('-')
        cpus += range(int(first), int(last or first) + 1)
    return cpus


def set_online(cpu, online):
    """Returns the seconds it took."""
    start = time.monotonic()
    Path(f'/sys/devices/system/cpu/cpu{cpu}/online').write_text('1' if online else '0', encoding='ascii')
    return time.monotonic() - start


def run_ns(pid):
    """CPU time of a task so far."""
    return int(Path(f'/proc/{pid}/schedstat').read_text(encoding='ascii').split()[0])


def bpf_objects():
    """Programs, maps and links that exist in the kernel."""
    found = {}
    for kind in ('prog', 'map', 'link'):
        done = subprocess.run(['bpftool', '-j', kind, 'show'], capture_output=True, text=True, check=False)
        if done.returncode:
            raise Skip(f'bpftool {kind} show fails: {done.stderr.strip()}')
        # Programs that the kernel's user space brings of itself come and go; ours are told by count only.
        found[kind] = len(json.loads(done.stdout or '[]'))
    return found


@contextlib.contextmanager
def background(*words, cpus=None, nice=0, count=1):
    """COUNT processes that end with the block; yields them."""
    processes = []

    def prepare():
        if nice:
            os.nice(nice)
        if cpus is not None:
            os.sched_setaffinity(0, cpus)

    try:
        for _ in range(count):
            processes.append(subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL,
                                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                              preexec_fn=prepare, start_new_session=True))
        yield processes
    finally:
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def hogs(count, cpus=None, nice=0):
    return background(LOAD, 'hog', cpus=cpus, nice=nice, count=count)


def moved(stats):
    return sum(stats['moved'].values())


def passes_by_cpu(stats):
    """{cpu: passes}, CPUs without one left out."""
    return {cpu['cpu']: cpu['balance_passes'] for cpu in stats['cpus'] if cpu['balance_passes']}


def pass_growth(before, after):
    """{cpu: passes between two snapshots}, CPUs without one left out."""
    old = passes_by_cpu(before)
    return {cpu: count - old.get(cpu, 0) for cpu, count in passes_by_cpu(after).items() if count != old.get(cpu, 0)}


running = []


def end_schedulers():
    """After a failure: leave the guest in order."""
    for process in running:
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)


class Steward:
    """One run of scx_steward."""

    def __init__(self, *flags, watchdog_ms=WATCHDOG_MS):
        self.flags = flags
        self.watchdog_ms = watchdog_ms
        self.process = None
        self.enable_seq = None

    def start(self, seconds=150):
        require(sysfs('state') == 'disabled', f"sched_ext is {sysfs('state')} before the start")
        sequence = sysfs('enable_seq')
        command('dmesg', '-C')
        words = [str(BINARY), '--timeout-ms', str(self.watchdog_ms), *map(str, self.flags)]
        with open(LOG, 'ab') as log:
            log.write(f"--- {' '.join(words)}\n".encode())
            log.flush()
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                                            start_new_session=True)
        running.append(self.process)
        reached = poll(lambda: sysfs('state') == 'enabled' or self.process.poll() is not None, seconds)
        require(reached and self.process.poll() is None and sysfs('state') == 'enabled', 'scx_steward did not attach')
        # The kernel counts a little after it has said enabled.
        require(poll(lambda: sysfs('enable_seq') != sequence, 5), 'enable_seq did not change')
        self.enable_seq = sysfs('enable_seq')
        # It listens a little after it has attached.
        require(poll(self.listens, 10), 'scx_steward does not listen on its control socket')
        return self

    def listens(self):
        with socket.socket(socket.AF_UNIX) as peer:
            return peer.connect_ex(CONTROL_SOCKET) == 0

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, value, traceback):
        if kind is None:
            self.require_alive()
            self.stop()

    def require_alive(self):
        """Attached since start() without a break, and the kernel has nothing to complain about."""
        require(self.process.poll() is None, f'scx_steward ended by itself with {self.process.returncode}')
        require(sysfs('state') == 'enabled', f"sched_ext is {sysfs('state')}")
        require(sysfs('enable_seq') == self.enable_seq, 'the scheduler was ejected and started again')
        trouble = TROUBLE.search(kernel_log())
        require(not trouble, f'the kernel says: {trouble.group(0) if trouble else ""}')

    def stop(self, by=signal.SIGINT, seconds=20, status=0):
        self.process.send_signal(by)
        try:
            got = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failure(f'scx_steward did not end within {seconds} s of {by.name}') from None
        require(got == status, f'scx_steward ended with {got} after {by.name}, not {status}')
        require(state_becomes('disabled'), f"sched_ext is {sysfs('state')} after the end")

    def stats(self):
        """What stewardctl stats --json prints, but without a program to start, which takes a loaded guest a second."""
        with socket.socket(socket.AF_UNIX) as peer, peer.makefile('rw', encoding='utf-8') as stream:
            peer.settimeout(20)
            peer.connect(CONTROL_SOCKET)
            stream.write('{"req": "stats", "args": {}}\n')
            stream.flush()
            reply = json.loads(stream.readline())
        require(reply['errno'] == 0, f'the scheduler gives no statistics: {reply}')
        return reply['args']['resp']

    def set(self, **knobs):
        done = control('set', *(f'{name}={value}' for name, value in knobs.items()))
        require(done.returncode == 0, f'stewardctl set {knobs} ended with {done.returncode}: {done.stdout}')


def refused(done, *hints, status=1):
    """A refusal: the status, one or two lines that name the cause, nothing attached."""
    require(done.returncode == status, f'status {done.returncode} instead of {status}: {done.stdout}')
    text = done.stdout.strip()
    require(text and len(text) < 800, f'no sentence, or too many: {text!r}')
    require(not re.search(r'terminate called|Aborted|Segmentation|libbpf: ', text), f'not a sentence for people: {text}')
    require(any(re.search(hint, text, re.IGNORECASE) for hint in hints), f'no word of {hints} in: {text}')
    note(f'says: {text.splitlines()[-1][:150]}')
