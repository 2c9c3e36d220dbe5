#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The part of tools/try that runs in the guest: one load, two schedulers, a table.

try_guest.py [--seconds N] FOLDER, where FOLDER holds scx_steward and stewardctl.
Needs root, perf and a kernel with sched_ext. Status 1 if anything did not go as told.
"""

import argparse
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

STATE = "/sys/kernel/sched_ext/state"
LOOPS = 10
MESSAGES = 20 * 20 * LOOPS  # 20 senders write LOOPS times to each of 20 receivers
PERF = ["perf", "bench", "-f", "simple", "sched", "messaging", "-g", "1", "-l", str(LOOPS)]


class Trouble(Exception):
    """A sentence for the person who watches."""


def say(text=""):
    print(text, flush=True)


def heading(text):
    say(f"\n== {text}\n")


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def wait_for(condition, seconds):
    """Whether the condition came true in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def state():
    return read(STATE).strip()


# ---- what is counted --------------------------------------------------------

def row_sum(text, name):
    """The sum over all CPUs of one row of /proc/softirqs or /proc/interrupts."""
    match = re.search(rf"^\s*{name}:((?:\s+\d+)+)", text, re.M)
    return sum(map(int, match[1].split())) if match else 0


def counters():
    soft, hard = read("/proc/softirqs"), read("/proc/interrupts")
    return {"time": time.monotonic(), "sched": row_sum(soft, "SCHED"), "hrtimer": row_sum(soft, "HRTIMER"),
            "ipi": row_sum(hard, "RES") + row_sum(hard, "CAL")}


def difference(before, now):
    return {name: now[name] - before[name] for name in before}


# ---- the load ---------------------------------------------------------------

def one_round():
    done = subprocess.run(PERF, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode:
        raise Trouble(f"perf bench failed: {(done.stderr or done.stdout).strip()}")


def spin():
    while True:
        pass


class Hogs:
    """Endless loops that all start on one CPU and may then run anywhere."""

    def __init__(self):
        self.cpus = os.sched_getaffinity(0)
        self.pids = []

    def __enter__(self):
        # On one CPU to begin with: only balancing can spread what never sleeps.
        os.sched_setaffinity(0, {min(self.cpus)})
        for _ in range(hog_count()):
            pid = os.fork()
            if pid == 0:
                spin()
            self.pids.append(pid)
        for pid in [0, *self.pids]:
            os.sched_setaffinity(pid, self.cpus)
        return self

    def __exit__(self, *_):
        for pid in self.pids:
            os.kill(pid, signal.SIGKILL)
        for pid in self.pids:
            os.waitpid(pid, 0)


def hog_count():
    return max(2, len(os.sched_getaffinity(0)) // 2)


def run_load(seconds, show_cost):
    """Run the load for about so many seconds, to the end of a round; what it did and what that cost."""
    begin = counters()
    begin["messages"] = 0
    cost = dict.fromkeys(begin, 0)
    shown = 0
    with Hogs():
        while cost["time"] < seconds:
            one_round()
            cost = difference(begin, {**counters(), "messages": cost["messages"] + MESSAGES})
            if show_cost and cost["time"] >= shown + 1:
                shown = cost["time"]
                say(f"  {cost['time']:4.0f} s | messages {cost['messages']:6d} | SCHED softirqs {cost['sched']:6d} | "
                    f"HRTIMER softirqs {cost['hrtimer']:6d} | RES+CAL {cost['ipi']:7d}")
    return cost


# ---- the scheduler ----------------------------------------------------------

def folded(line, width=100):
    """A line of statistics in several, broken where it has a bar."""
    lines = [""]
    for i, part in enumerate(line.split(" | ")):
        if i and len(lines[-1]) + len(part) + 3 > width:
            lines.append("    " + part)
        else:
            lines[-1] += (" | " if i else "") + part
    return lines


class Steward:
    """scx_steward with --stats 1; its lines appear as they come."""

    def __init__(self, folder):
        self.folder = folder
        self.exit_line = ""

    def __enter__(self):
        command = [os.path.join(self.folder, "scx_steward"), "--stats", "1"]
        say(f"  $ {os.path.relpath(command[0], os.path.join(self.folder, '../..'))} --stats 1")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.reader = threading.Thread(target=self.relay, daemon=True)
        self.reader.start()
        if not wait_for(lambda: state() == "enabled" or self.process.poll() is not None, 180) \
                or self.process.poll() is not None:
            self.process.kill()
            self.reader.join(5)
            raise Trouble("scx_steward did not attach; its own words are above")
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def relay(self):
        for line in self.process.stdout:
            if line.startswith("EXIT:"):
                self.exit_line = line.strip()
            for part in folded(line.rstrip()):
                say("  " + part)

    def totals(self):
        """The statistics since the start, or None without stewardctl."""
        done = subprocess.run([os.path.join(self.folder, "stewardctl"), "stats", "--json"],
                              capture_output=True, text=True, check=False, timeout=30)
        try:
            return json.loads(done.stdout)
        except ValueError:
            return None

    def detach(self):
        self.process.send_signal(signal.SIGINT)
        try:
            status = self.process.wait(30)
        except subprocess.TimeoutExpired as late:
            raise Trouble("scx_steward did not end within 30 s of SIGINT") from late
        self.reader.join(5)
        if status:
            raise Trouble(f"scx_steward ended with status {status}")
        if not wait_for(lambda: state() == "disabled", 10):
            raise Trouble(f"the kernel still says {state()!r} after the end of scx_steward")


# ---- the table --------------------------------------------------------------

def change(before, now):
    return f"{(now / before - 1) * 100:+.1f} %" if before else "-"


def table(eevdf, ours, passes):
    def per(cost, *names):
        return sum(cost[n] for n in names) * 1000 / cost["messages"]

    rows = [("", "EEVDF", "scx_steward", "change"), ("in all", "", "", "")]
    for label, name in (("messages", "messages"), ("SCHED softirqs", "sched"),
                        ("HRTIMER softirqs", "hrtimer"), ("RES+CAL interrupts", "ipi")):
        rows.append((f"  {label}", str(eevdf[name]), str(ours[name]), ""))
    rows.append(("  passes of the balancer", "", "?" if passes is None else str(passes), ""))
    rows.append(("per 1000 messages", "", "", ""))
    for label, names in (("SCHED softirqs", ["sched"]), ("HRTIMER softirqs", ["hrtimer"]),
                         ("SCHED + HRTIMER softirqs", ["sched", "hrtimer"]), ("RES+CAL interrupts", ["ipi"])):
        a, b = per(eevdf, *names), per(ours, *names)
        rows.append((f"  {label}", f"{a:.2f}", f"{b:.2f}", change(a, b)))
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    for row in rows:
        say(("  " + row[0].ljust(widths[0]) + "".join("   " + row[i].rjust(widths[i]) for i in (1, 2, 3))).rstrip())


def show_passes(totals):
    if not totals:
        return None
    cpus = totals.get("cpus", [])
    say("  Passes by CPU: " + "  ".join(f"{c['cpu']}:{c['balance_passes']}" for c in cpus)
        + f"   (the timer CPU is {totals['timer_cpu']})")
    return totals["passes"]


# ---- the show ---------------------------------------------------------------

def check_guest(folder):
    if os.geteuid() != 0:
        raise Trouble("attaching a scheduler needs root; tools/try runs this in a guest of its own")
    if not os.path.exists(STATE):
        raise Trouble(f"kernel {platform.release()} has no sched_ext; try --kernel 7.3")
    if not shutil.which("perf"):
        raise Trouble("perf is not installed; tools/setup installs it")
    if not os.access(os.path.join(folder, "scx_steward"), os.X_OK):
        raise Trouble(f"no scx_steward in {folder}; build first")


def show(folder, seconds):
    check_guest(folder)
    cpus = len(os.sched_getaffinity(0))
    say(f"\nLinux {platform.release()}, {cpus} CPUs, sched_ext {state()}.")
    say(f"The load: {hog_count()} endless loops that all start on one CPU and may then run anywhere, and beside them,\n"
        f"again and again, `{' '.join(PERF)}` ({MESSAGES} messages).")
    one_round()  # not counted: reads perf into memory

    heading(f"1. The kernel's own scheduler, EEVDF, for {seconds} s")
    say("  SCHED softirqs are the kernel's load balancing, on every CPU. RES and CAL are the interrupts\n"
        "  that CPUs send one another. All counted since the load started.\n")
    eevdf = run_load(seconds, show_cost=True)

    heading("2. scx_steward attaches")
    with Steward(folder) as steward:
        say(f"\n  The kernel says: {state()}, {read('/sys/kernel/sched_ext/root/ops').strip()}")
        heading(f"3. The same load under scx_steward, for {seconds} s")
        say("  A line a second: the timer CPU and its pace, passes (runs of the balancer) and their time (in an\n"
            "  emulated machine also that for which the host did something else),\n"
            "  tasks moved, tasks waiting, and for each CPU how busy it was and, after +, how many wait there.\n")
        ours = run_load(seconds, show_cost=False)
        totals = steward.totals()
        heading("4. scx_steward detaches")
        steward.detach()
    say(f"\n  The kernel says: {state()}; its own scheduler has every task again.")

    heading("5. Before and after")
    passes = show_passes(totals)
    say()
    table(eevdf, ours, passes)
    say("\n  Counts per message can be compared; speed in an emulated machine cannot. tools/bench/cost measures cost.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", metavar="FOLDER")
    parser.add_argument("--seconds", type=int, default=12)
    args = parser.parse_args()
    try:
        show(os.path.abspath(args.folder), args.seconds)
    except Trouble as trouble:
        sys.exit(f"try: {trouble}")
    except (OSError, subprocess.TimeoutExpired) as error:
        sys.exit(f"try: {error}")


if __name__ == "__main__":
    main()
