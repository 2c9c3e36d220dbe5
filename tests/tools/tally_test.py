#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""tools/dev/tally.py: what meson's logs add up to."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

TALLY = os.path.join(os.path.dirname(__file__), "../../tools/dev/tally.py")


def entry(name, result, code=0, **more):
    return {"name": name, "result": result, "returncode": code, "duration": 1.0, "stdout": "", **more}


def junit(*suites):
    """suites: (name, [(case, inner XML)])"""
    text = "".join(
        f'<testsuite name="{name}">' + "".join(
            f'<testcase classname="A" name="{case}" status="run">{inner}</testcase>' for case, inner in cases)
        + "</testsuite>" for name, cases in suites)
    return f"<testsuites>{text}</testsuites>"


class Tally(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.log = os.path.join(self.folder.name, "t.json")

    def tally(self, entries, xml=None, arguments=None):
        with open(self.log, "w", encoding="utf-8") as f:
            f.writelines(json.dumps(e) + "\n" for e in entries)
        if xml:
            with open(self.log.replace(".json", ".junit.xml"), "w", encoding="utf-8") as f:
                f.write(xml)
        done = subprocess.run([sys.executable, "-B", TALLY, *(arguments or [self.log])],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout.splitlines()

    def test_plain_tests_count_as_one_each(self):
        status, lines = self.tally([entry("a", "OK"), entry("b", "OK"), entry("c", "EXPECTEDFAIL", 1)])
        self.assertEqual((status, lines[-1]), (0, "3 passed, 0 failed, 0 skipped"))

    def test_failures_show_reason_and_log(self):
        status, lines = self.tally([entry("a", "OK"), entry("b", "FAIL", 3, stderr="it broke\n"),
                                    entry("c", "FAIL", -11), entry("d", "TIMEOUT", -15)])
        self.assertEqual((status, lines[-1]), (1, "1 passed, 3 failed, 0 skipped"))
        for line in ("Failed: b (status 3)", "  it broke", "Failed: c (ended by signal 11)",
                     "Failed: d (ended by its time limit after 1 s)"):
            self.assertIn(line, lines)

    def test_a_skip_shows_the_last_line_of_its_reason(self):
        status, lines = self.tally([entry("a", "OK"), entry("b", "SKIP", 77, stderr="x\nno qemu here\n")])
        self.assertEqual((status, lines[-1]), (0, "1 passed, 0 failed, 1 skipped"))
        self.assertIn("  b: no qemu here", lines)

    def test_gtest_binaries_count_as_their_cases(self):
        xml = junit(("p.s:unit / b.A", [("ok", ""), ("bad", '<failure message="m">1 is not 2</failure>'),
                                        ("not", '<skipped message="f.cc:1&#10;no root">x</skipped>')]),
                    ("p", [("p / plain", "")]))
        status, lines = self.tally([entry("s:unit / b", "FAIL", 1), entry("p / plain", "OK")], xml)
        self.assertEqual((status, lines[-1]), (1, "2 passed, 1 failed, 1 skipped"))
        self.assertIn("  1 is not 2", lines)
        self.assertIn("  s:unit / b: A.not: no root", lines)

    def test_a_binary_that_fails_outside_its_cases_fails(self):
        xml = junit(("p.b.A", [("ok", "")]))
        status, lines = self.tally([entry("b", "FAIL", 1, stderr="leak\n")], xml)
        self.assertEqual((status, lines[-1]), (1, "1 passed, 1 failed, 0 skipped"))
        self.assertIn("  leak", lines)

    def test_a_gtest_binary_without_a_list_counts_as_one(self):
        status, lines = self.tally([entry("b", "FAIL", -6)], junit(("p.other.A", [("ok", "")])))
        self.assertEqual((status, lines[-1]), (1, "0 passed, 1 failed, 0 skipped"))

    def test_nothing_passed_is_a_failure(self):
        self.assertEqual(self.tally([])[0], 1)
        self.assertEqual(self.tally([entry("a", "SKIP", 77)])[0], 1)

    def test_a_log_that_may_not_be_all_skips(self):
        status, lines = self.tally([entry("a", "SKIP", 77)], arguments=["--expect-run", self.log])
        self.assertEqual((status, lines[-1]), (1, "0 passed, 1 failed, 1 skipped"))
        status, lines = self.tally([entry("a", "SKIP", 77), entry("b", "OK")], arguments=["--expect-run", self.log])
        self.assertEqual((status, lines[-1]), (0, "1 passed, 0 failed, 1 skipped"))

    def test_logs_may_stand_on_both_sides_of_an_option(self):
        status, lines = self.tally([entry("a", "OK")], arguments=[self.log, "--expect-run", self.log, self.log])
        self.assertEqual((status, lines[-1]), (0, "3 passed, 0 failed, 0 skipped"))

    def test_other_failures_and_missing_logs_count(self):
        status, lines = self.tally([entry("a", "OK")], arguments=["--failed", "the build", self.log, "/nowhere.json"])
        self.assertEqual((status, lines[-1]), (1, "1 passed, 2 failed, 0 skipped"))

    def test_a_long_log_is_cut_at_its_beginning(self):
        _, lines = self.tally([entry("a", "FAIL", 1, stdout="\n".join(f"line {i}" for i in range(1000)))])
        self.assertIn("  line 999", lines)
        self.assertNotIn("  line 1", lines)


if __name__ == "__main__":
    unittest.main()
