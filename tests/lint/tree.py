#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Run the rules of rules.py over the working tree: tree.py ROOT. Status 1 on findings."""

import os
import subprocess
import sys

import rules


def paths(root):
    """What git knows or would add; without git every file but build folders."""
    git = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                         capture_output=True, check=False)
    if git.returncode == 0:
        return sorted(set(filter(None, git.stdout.decode().split("\0"))))
    found = []
    for folder, names, files in os.walk(root):
        names[:] = [n for n in names if n not in (".git", "__pycache__")
                    and not os.path.isdir(os.path.join(folder, n, "meson-info"))]
        found += [os.path.relpath(os.path.join(folder, f), root) for f in files]
    return sorted(found)


def read(root):
    files, executable = {}, set()
    for path in paths(root):
        full = os.path.join(root, path)
        if os.path.islink(full) or not os.path.isfile(full):
            continue
        try:
            with open(full, encoding="utf-8", newline="") as f:
                files[path] = f.read()
        except UnicodeDecodeError:
            continue  # an image or a captured binary
        if os.access(full, os.X_OK):
            executable.add(path)
    return rules.Tree(files, executable)


def main():
    if len(sys.argv) != 2 or not os.path.isdir(sys.argv[1]):
        sys.exit("usage: tree.py ROOT, the top of the work tree")
    tree = read(sys.argv[1])
    findings = [(rule.__name__, f) for rule in rules.RULES for f in rule(tree)]
    for name, finding in findings:
        print(f"{finding} [{name}]")
    print(f"{len(rules.RULES)} rules, {len(tree.files)} files, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
