#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Add up the test logs of meson and show what did not pass.

tally.py [--failed TEXT]... [--expect-run LOG] LOG...

A LOG is the .json that `meson test` writes. A GoogleTest binary counts as its
cases, any other test as one. The last line is "N passed, N failed, N skipped";
status 1 if something failed or nothing passed.
"""

import argparse
import collections
import dataclasses
import json
import os
import sys
import xml.etree.ElementTree as et

TAIL_LINES = 60
GOOD = ("OK", "EXPECTEDFAIL")


@dataclasses.dataclass
class Case:
    name: str
    verdict: str  # passed, failed or skipped
    reason: str = ""
    log: str = ""


def output(entry):
    return "\n".join(filter(None, (entry.get("stdout", "").rstrip(), entry.get("stderr", "").rstrip())))


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no reason given"


def why(entry):
    """Why a test that did not pass says it did not."""
    if entry["result"] == "TIMEOUT":
        return f"ended by its time limit after {entry['duration']:.0f} s"
    code = entry.get("returncode", 0)
    return f"ended by signal {-code}" if code < 0 else f"status {code}"


def verdict(case, owner):
    """One <testcase> of a GoogleTest binary."""
    name = f"{owner}: {case.get('classname')}.{case.get('name')}"
    failures, skipped = case.findall("failure"), case.find("skipped")
    if failures:
        return Case(name, "failed", "a check failed", "\n".join(f.text or f.get("message", "") for f in failures))
    if skipped is not None:
        return Case(name, "skipped", last_line(skipped.get("message", "") or skipped.text or ""))
    return Case(name, "passed")


def gtest_cases(log):
    """Name of a GoogleTest test -> its cases, from the JUnit file that meson writes beside the log.

    Meson calls the suites PROJECT.TEST.SUITE; tests of other kinds have no third part.
    """
    try:
        root = et.parse(log.removesuffix(".json") + ".junit.xml").getroot()
    except (OSError, et.ParseError):
        return {}
    found = collections.defaultdict(list)
    for suite in root.findall("testsuite"):
        parts = suite.get("name", "").split(".")
        if len(parts) > 2:
            owner = ".".join(parts[1:-1])
            found[owner] += [verdict(c, owner) for c in suite.findall("testcase") if c.get("status") != "notrun"]
    return found


def cases_of(entry, gtest):
    name, result, text = entry["name"], entry["result"], output(entry)
    cases = gtest.get(name)
    if cases:
        # A binary may also fail outside its cases: a crash, a leak at the end.
        if result not in GOOD and not any(c.verdict == "failed" for c in cases):
            return cases + [Case(name, "failed", why(entry), text)]
        return cases
    if result == "SKIP":
        return [Case(name, "skipped", last_line(entry.get("stderr") or text))]
    if result in GOOD:
        return [Case(name, "passed")]
    return [Case(name, "failed", why(entry), text)]


def read(log):
    gtest = gtest_cases(log)
    with open(log, encoding="utf-8") as f:
        return [case for line in f if line.strip() for case in cases_of(json.loads(line), gtest)]


def show(cases):
    skipped = [c for c in cases if c.verdict == "skipped"]
    failed = [c for c in cases if c.verdict == "failed"]
    if skipped:
        print("\nSkipped:")
        for c in skipped:
            print(f"  {c.name}: {c.reason}")
    for c in failed:
        print(f"\nFailed: {c.name} ({c.reason})")
        lines = c.log.splitlines()
        if len(lines) > TAIL_LINES:
            print(f"  ... {len(lines) - TAIL_LINES} lines before these are in meson-logs/")
        for line in lines[-TAIL_LINES:]:
            print(f"  {line}")
    if failed:
        print("\nFailed in short:")
        for c in failed:
            print(f"  {c.name}: {c.reason}")


def main():
    parser = argparse.ArgumentParser(description="Add up the test logs of meson.")
    parser.add_argument("logs", nargs="*", metavar="LOG")
    parser.add_argument("--failed", action="append", default=[], metavar="TEXT",
                        help="count one more failure, for what is not a test")
    parser.add_argument("--expect-run", action="append", default=[], metavar="LOG",
                        help="a log of which not every test may be skipped")
    args = parser.parse_intermixed_args()
    cases = []
    for log in args.logs + args.expect_run:
        if not os.path.exists(log):
            cases.append(Case(log, "failed", "meson wrote no log"))
            continue
        found = read(log)
        cases += found
        if log in args.expect_run and found and all(c.verdict == "skipped" for c in found):
            cases.append(Case("tests in a guest", "failed",
                              "all were skipped, although qemu and a kernel are there"))
    cases += [Case(text, "failed", "see above") for text in args.failed]
    show(cases)
    count = collections.Counter(c.verdict for c in cases)
    print(f"\n{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    return 1 if count["failed"] or not count["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
