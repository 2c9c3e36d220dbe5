#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Help, and a sentence and status 2 for wrong arguments, before anything is set up or booted."""

import os
import subprocess
import unittest

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))

WRONG = {
    "tools/check": (["--bogus"], ["extra"], ["--suite"], ["--suite", "No/Such"], ["--repeat", "0"], ["--repeat=x"],
                    ["--repeat"], ["--quick", "--suite", "vm"]),
    "tools/try": (["--bogus"], ["extra"], ["--cpus"], ["--cpus", "1"], ["--cpus=65"], ["--cpus", "-4"],
                  ["--cpus", "four"], ["--seconds", "2"], ["--seconds=99999999999"], ["--kernel", "none"],
                  ["--kernel="], ["--kernel", "/no/such/vmlinuz"]),
    "tools/bench/cost": (["--bogus"], ["--steward-args", "'"], ["--variant", '"'], ["--json", "/no/such/x"],
                         ["--json", "/"], ["--rows", "none"], ["--rounds", "0"]),
}

HELPFUL = ("tools/setup", "tools/check", "tools/try")


def call(tool, arguments, folder="/", stdout=subprocess.PIPE):
    return subprocess.run([os.path.join(TOP, tool), *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=stdout,
                          stderr=subprocess.PIPE, text=True, check=False, timeout=60)


class Arguments(unittest.TestCase):

    def test_help_from_any_folder(self):
        for tool in HELPFUL:
            for flag in ("--help", "-h"):
                done = call(tool, [flag])
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertTrue(done.stdout.startswith(f"Usage: {tool} "))

    def test_help_that_is_lost_ends_there(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            for tool in HELPFUL:
                done = call(tool, ["--help"], stdout=full)
                self.assertEqual(done.returncode, 1)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_wrong_arguments_are_one_sentence_and_status_2(self):
        for tool, lists in WRONG.items():
            for arguments in lists:
                with self.subTest(tool=tool, arguments=arguments):
                    done = call(tool, arguments)
                    self.assertEqual((done.returncode, done.stdout), (2, ""))
                    self.assertEqual(done.stderr.count("\n"), 1)
                    self.assertIn("--help", done.stderr)


if __name__ == "__main__":
    unittest.main()
