# SPDX-License-Identifier: GPL-2.0-only
"""The half of tools/bench/cost that runs in the guest: runs the rows, counts, writes JSON.

Also the one list of rows, which the other half imports.
"""
import json
import os
import re
import signal
import subprocess
import sys
import time

STATE = '/sys/kernel/sched_ext/state'
EEVDF = 'EEVDF'
PIPE_OPS = 5000
STORM_THREADS = 1600
STORM_FORKS = 480
# -g 2: two groups of 20 senders and 20 receivers; each sender writes to each receiver -l times.
MESSAGES = 2 * 20 * 20 * 50

# name: (command, operations, pattern of the result, microseconds per unit of the result)
# The pattern's number times the unit is the time of the whole row, or of one operation where it says /op.
ROWS = {
    'pipe': (f'perf bench sched pipe -l {PIPE_OPS}', PIPE_OPS, r'([\d.]+) usecs/op', 1),
    'messaging': ('perf bench sched messaging -g 2 -l 50', MESSAGES, r'Total time: ([\d.]+) \[sec\]', 1e6),
    'pinned-pipe': (f'taskset -c 1 perf bench sched pipe -l {PIPE_OPS}', PIPE_OPS, r'([\d.]+) usecs/op', 1),
    'threads': (f'{{storm}} threads {STORM_THREADS}', STORM_THREADS, r'([\d.]+) us', 1),
    'forks': (f'{{storm}} forks {STORM_FORKS}', STORM_FORKS, r'([\d.]+) us', 1),
}


class CostError(Exception):
    """Something that makes the measurement impossible; the text is for the user."""


def say(text):
    print(text, flush=True)


def read(path):
    with open(path, encoding='ascii', errors='replace') as file:
        return file.read()


def sum_row(text, name):
    """The sum over CPUs of one row of /proc/interrupts or /proc/softirqs."""
    match = re.search(rf'^\s*{name}:((?:\s+\d+)+)', text, re.MULTILINE)
    return sum(int(word) for word in match.group(1).split()) if match else 0


def counters():
    interrupts, softirqs = read('/proc/interrupts'), read('/proc/softirqs')
    return {
        'res': sum_row(interrupts, 'RES'), 'cal': sum_row(interrupts, 'CAL'), 'loc': sum_row(interrupts, 'LOC'),
        'sched': sum_row(softirqs, 'SCHED'), 'hrtimer': sum_row(softirqs, 'HRTIMER'),
    }


def difference(after, before):
    return {key: after[key] - before[key] for key in after}


def wait_state(wanted, process=None, seconds=120.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if read(STATE).strip() == wanted:
            return True
        if process and process.poll() is not None:
            return False
        time.sleep(0.02)
    return False


class Scheduler:
    """One scheduler under test; no command means the kernel's own."""

    def __init__(self, label, command, stewardctl):
        self.label, self.command = label, command
        self.stewardctl = stewardctl if command else None
        self.log_path = '/tmp/cost-scheduler.log'
        self.process = None

    def start(self):
        if not self.command:
            if not wait_state('disabled', seconds=5):
                raise CostError('another sched_ext scheduler is loaded')
            return
        with open(self.log_path, 'w', encoding='utf-8') as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        if not wait_state('enabled', self.process):
            raise CostError(f'{self.label} did not attach:\n{self.log()}')
        time.sleep(0.5)

    def check(self):
        if self.process and (self.process.poll() is not None or read(STATE).strip() != 'enabled'):
            raise CostError(f'{self.label} ended during the measurement:\n{self.log()}')

    def stop(self):
        if not self.process:
            return
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            status = self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise CostError(f'{self.label} did not end within a minute of SIGINT') from None
        self.process = None
        if not wait_state('disabled', seconds=30):
            raise CostError('sched_ext stays enabled after the scheduler ended')
        if status:
            raise CostError(f'{self.label} ended with status {status}:\n{self.log()}')

    def log(self):
        return read(self.log_path)[-4000:] if os.path.exists(self.log_path) else ''

    def passes(self):
        """Passes so far; None where the scheduler has no such number."""
        if not self.stewardctl:
            return None
        done = subprocess.run([self.stewardctl, 'stats', '--json'], capture_output=True, text=True, check=False)
        try:
            return json.loads(done.stdout)['passes']
        except (ValueError, KeyError, TypeError):
            self.stewardctl = None
            return None


def programs():
    """Run time and run count of every struct_ops program, by name."""
    out = subprocess.run(['bpftool', 'prog', 'show', '-j'], capture_output=True, text=True, check=False)
    if out.returncode:
        raise CostError(f'bpftool prog show: {out.stderr.strip() or out.stdout.strip()}')
    table = {}
    for prog in json.loads(out.stdout):
        name = prog.get('name', f"id {prog['id']}")
        table[name] = (prog.get('run_time_ns', 0), prog.get('run_cnt', 0))
    return table


def run_row(name, storm):
    command, ops, pattern, unit = ROWS[name]
    before = counters()
    done = subprocess.run(command.format(storm=storm).split(), stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False)
    counts = difference(counters(), before)
    match = re.search(pattern, done.stdout)
    if done.returncode or not match:
        raise CostError(f'{command}: status {done.returncode}: {done.stderr.strip()[-500:] or done.stdout[-500:]}')
    total = float(match.group(1)) * unit
    return {'us_per_op': total if '/op' in pattern else total / ops, 'ops': ops, **counts}


def measure(scheduler, rows, storm, callbacks):
    """All rows once under one scheduler."""
    results = {}
    scheduler.start()
    try:
        before = scheduler.passes()
        for name in rows:
            progs = programs() if callbacks else {}
            results[name] = run_row(name, storm)
            scheduler.check()
            if callbacks:
                results[name]['callbacks'] = {
                    prog: (time_ns - progs.get(prog, (0, 0))[0], count - progs.get(prog, (0, 0))[1])
                    for prog, (time_ns, count) in programs().items() if count > progs.get(prog, (0, 0))[1]}
            after = scheduler.passes()
            results[name]['passes'] = after - before if None not in (before, after) else None
            before = after
    finally:
        scheduler.stop()
    return results


def main(config_path):
    with open(config_path, encoding='utf-8') as file:
        config = json.load(file)
    if not os.path.exists(STATE):
        raise CostError('this kernel has no sched_ext')
    schedulers = [Scheduler(EEVDF, None, None)]
    schedulers += [Scheduler(one['label'], one['command'], config['stewardctl'] if one['steward'] else None)
                   for one in config['schedulers']]
    result = {'kernel': os.uname().release, 'cpus': os.cpu_count(), 'rounds': [], 'callbacks': {}}
    # The first round reads every tool from the disk; it is dropped.
    for number in range(config['rounds'] + 1):
        one = {}
        # Every second round in reverse, so that a drift falls on all alike.
        for scheduler in schedulers if number % 2 == 0 else reversed(schedulers):
            started = time.monotonic()
            one[scheduler.label] = measure(scheduler, config['rows'], config['storm'], False)
            say(f"round {number}/{config['rounds']}{' (dropped)' if not number else ''} {scheduler.label}: "
                + ' '.join(f"{row} {data['us_per_op']:.2f}" for row, data in one[scheduler.label].items())
                + f' us/op, {time.monotonic() - started:.1f} s of guest time')
        if number:
            result['rounds'].append(one)
    if config['callbacks']:
        with open('/proc/sys/kernel/bpf_stats_enabled', 'w', encoding='ascii') as file:
            file.write('1')
        for scheduler in schedulers[1:]:
            result['callbacks'][scheduler.label] = measure(scheduler, config['rows'], config['storm'], True)
            say(f'{scheduler.label}: time per callback taken')
    with open(config['result'], 'w', encoding='utf-8') as file:
        json.dump(result, file)


if __name__ == '__main__':
    try:
        main(sys.argv[1])
    except CostError as error:
        say(f'cost: {error}')
        sys.exit(1)
