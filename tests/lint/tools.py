#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Run one ready-made checker over the tree: tools.py format|tidy|shell|spell ROOT [BUILD].

Status 77 with a reason where the checker is not installed, 1 on findings.
"""

import concurrent.futures
import hashlib
import json
import os
import shutil
import subprocess
import sys

import rules
import tree as worktree

SKIP = 77


def need(*names):
    """The first of these programs that exists; leaves with a skip if none does."""
    for name in names:
        if shutil.which(name):
            return name
    print(f"skipped: {names[0]} is not installed; tools/setup installs it", file=sys.stderr)
    sys.exit(SKIP)


def call(command, root):
    """Run a checker on the tree; True if it is content."""
    done = subprocess.run(command, cwd=root, check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        print(done.stdout.strip() or f"{command[0]} ended with status {done.returncode}")
    return done.returncode == 0


def lint_format(tree, root, _build):
    # The version is part of the name: each release formats a little differently.
    program = need("clang-format-19")
    kernel, cxx = [], []  # C is written in kernel style wherever it stands
    for path, text in tree.files.items():
        if not path.endswith(".def") and (kind := rules.language(path, text)) in ("c", "c++"):
            (kernel if kind == "c" else cxx).append(path)
    content = True
    for style, files in (("file:bpf/.clang-format", kernel), ("file:.clang-format", cxx)):
        command = [program, f"--style={style}"]
        if files and not call([*command, "--dry-run", "-Werror", *files], root):
            print(f"to mend: {program} --style={style} -i FILES")
            content = False
    return content


def lint_shell(tree, root, _build):
    program = need("shellcheck")
    files = [p for p, text in tree.files.items() if rules.language(p, text) == "shell"]
    return not files or call([program, *files], root)


def lint_spell(tree, root, _build):
    program = need("codespell")
    words = os.path.join(root, "tests/lint/words.txt")
    extra = ["--ignore-words", words] if os.path.exists(words) else []
    files = [p for p in tree.files if p != "LICENSE" and not p.startswith("tests/data/")]
    return call([program, "--quiet-level=2", *extra, *files], root)


def _ours(entry, root):
    """The path inside the tree of a compile command, or None for a file that is not linted.

    Tests are left out: gtest's macros would double the time and hide what is ours.
    """
    path = os.path.realpath(os.path.join(entry["directory"], entry["file"]))
    inside = os.path.relpath(path, os.path.realpath(root))
    return inside if inside.startswith(("loader/", "tools/")) and inside.endswith(".cc") else None


def _fingerprint(tree, root, entry, path):
    """Changes with everything of ours that clang-tidy's answer for this file depends on."""
    text = [tree.files.get(".clang-tidy", ""), entry.get("command", ""), tree.files.get(path, "")]
    text += [t for p, t in sorted(tree.files.items()) if p.endswith((".h", ".def"))]
    return hashlib.sha256("\0".join(text).encode()).hexdigest()


def _tidy(program, root, build, entry, path, stamps, mark):
    stamp = os.path.join(stamps, mark)
    if os.path.exists(stamp):
        return True
    # Meson also uses this for g++: clang knows most of its switches, not all.
    clean = call([program, "--quiet", "-p", build, "--extra-arg=-Wno-unknown-warning-option", path], root)
    if clean:
        with open(stamp, "w", encoding="utf-8") as f:
            f.write(path + "\n")
    return clean


def lint_tidy(tree, root, build):
    program = need("clang-tidy-19")
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
        entries = {p: e for e in json.load(f) if (p := _ours(e, root))}
    if not entries:
        print("compile_commands.json names no C++ file of this tree")
        return False
    stamps = os.path.join(build, "lint-tidy")  # what was clean stays clean until it changes
    os.makedirs(stamps, exist_ok=True)
    marks = {p: _fingerprint(tree, root, e, p) for p, e in entries.items()}
    for old in set(os.listdir(stamps)) - set(marks.values()):
        os.unlink(os.path.join(stamps, old))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(
            lambda p: _tidy(program, root, build, entries[p], p, stamps, marks[p]), entries))
    return all(results)


LINTS = {"format": lint_format, "tidy": lint_tidy, "shell": lint_shell, "spell": lint_spell}


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in LINTS:
        sys.exit(f"usage: tools.py {'|'.join(LINTS)} ROOT [BUILD]")
    root = os.path.abspath(sys.argv[2])
    build = os.path.abspath(sys.argv[3]) if len(sys.argv) == 4 else os.path.join(root, "build")
    return 0 if LINTS[sys.argv[1]](worktree.read(root), root, build) else 1


if __name__ == "__main__":
    sys.exit(main())
