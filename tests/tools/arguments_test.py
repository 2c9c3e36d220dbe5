#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""tools/check and tools/try: help, and a sentence and status 2 for wrong arguments, before anything is set up."""

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
}


def call(tool, arguments, folder="/"):
    return subprocess.run([os.path.join(TOP, tool), *arguments], cwd=folder, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False, timeout=60)


class Arguments(unittest.TestCase):

    def test_help_from_any_folder(self):
        for tool in WRONG:
            for flag in ("--help", "-h"):
                done = call(tool, [flag])
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertTrue(done.stdout.startswith(f"Usage: {tool} "))

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
