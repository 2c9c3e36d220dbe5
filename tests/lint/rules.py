# SPDX-License-Identifier: GPL-2.0-only
"""The rules of this repository that no compiler knows.

Each rule is a function that takes a Tree and yields Findings. A Tree is only
names, texts and modes, so rules_test.py feeds the rules small ones made up to
break them. tree.py runs all of RULES over the working tree.
"""

import ast
import dataclasses
import re

import csource

FUNCTION_LINES = 70
CXX_FILE_LINES = 500
BPF_FILE_LINES = 600

KERNEL_DOOR = "bpf/kernel.bpf.h"
STATE_DOOR = "bpf/maps.bpf.h"
UNIT = "bpf/steward.bpf.c"
PLATFORM = "include/steward/platform.h"

CODE_FOLDERS = ("bpf/", "include/", "loader/", "tools/", "tests/", ".ci/")


@dataclasses.dataclass
class Finding:
    path: str
    line: int
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.message}"


class Tree:
    """files: path -> text. executable: the paths whose mode says so."""

    def __init__(self, files, executable=()):
        self.files = dict(files)
        self.executable = set(executable)

    def under(self, *folders, suffix=""):
        for path in sorted(self.files):
            if path.startswith(folders) and path.endswith(suffix or ""):
                yield path, self.files[path]

    def exists(self, path):
        path = path.rstrip("/")
        return path in self.files or any(p.startswith(path + "/") for p in self.files)


def language(path, text=""):
    """c (in kernel style), c++, python, shell, meson or nothing we judge."""
    kernel_style = path.startswith(("bpf/", "include/")) or path.endswith(".bpf.h")
    if path.endswith(".cc") or path.endswith(".h") and not kernel_style:
        return "c++"
    if path.endswith((".c", ".h", ".def")):
        return "c"
    first = text.split("\n", 1)[0]
    if path.endswith(".py") or first.startswith("#!") and "python" in first:
        return "python"
    if path.endswith(".sh") or re.match(r"#!.*\b(?:ba|da)?sh\b", first):
        return "shell"
    if path.endswith(("meson.build", "meson.options")):
        return "meson"
    return ""


def _matches(pattern, text):
    """(line, match) of every hit."""
    for match in re.finditer(pattern, text, re.M):
        yield text.count("\n", 0, match.start()) + 1, match


# ---- the two doors ----------------------------------------------------------

def kernel_door(tree):
    """Kernel types and kernel functions enter through one header."""
    signs = (
        (r"\b__ksym\b", "a kernel symbol is declared here"),
        (r'^[ \t]*#[ \t]*include[ \t]*["<](?:vmlinux\.h|bpf/|scx/|bpf_)[^">]*[">]', "a kernel or libbpf header is included here"),
        (r"\b__kconfig\b", "a kernel configuration symbol is declared here"),
        (r"\bBPF_CORE_READ|\bbpf_core_(?:field|type|enum|read)\w*\s*\(", "kernel BTF is asked here"),
    )
    for path, text in tree.under("bpf/", "include/"):
        if path == KERNEL_DOOR or language(path) != "c":
            continue
        code = csource.without_comments(text)
        for pattern, what in signs:
            for line, _ in _matches(pattern, code):
                yield Finding(path, line, f"{what}; only {KERNEL_DOOR} may")


def _belongs_to_unit(path, original):
    """The licence and the ops table stand in the translation unit itself."""
    return path == UNIT and re.search(r'\bSEC\s*\(\s*"(?:license|\.struct_ops)', original)


def state_door(tree):
    """Maps and globals are defined in one header."""
    for path, text in tree.under("bpf/", "include/"):
        if path == STATE_DOOR or language(path) != "c" or path.endswith(".def"):
            continue
        for line, _ in _matches(r'\bSEC\s*\(\s*"\.maps', csource.without_comments(text)):
            yield Finding(path, line, f"a map is defined here; only {STATE_DOOR} may")
        code = csource.strip(text)
        functions, declarations = csource.scan(code)
        for d in declarations:
            original = text[d.begin:d.end]
            if not csource.declares_variable(d.text) or _belongs_to_unit(path, original):
                continue
            if d.text.startswith("extern") and path == KERNEL_DOOR:
                continue  # a kernel symbol, not state of ours
            if path.startswith("include/") and re.match(r"static const\b", d.text):
                continue  # a table of a pure function
            if '".maps' not in original:
                yield Finding(path, d.first, f"a global is defined here; only {STATE_DOOR} may")
        for f in functions:
            for line, _ in _matches(r"(?<=[{};])\s*\bstatic\b(?!_)", f.text):
                yield Finding(path, f.first + line - 1, f"a static variable is a global; only {STATE_DOOR} may have one")


def platform_door(tree):
    """One header knows which compiler reads it."""
    for path, text in tree.under("bpf/", "include/", "loader/", "tools/", "tests/"):
        if path == PLATFORM or language(path) not in ("c", "c++"):
            continue
        for line, m in _matches(r"\b(__bpf__|__BPF__|__cplusplus)\b", csource.without_comments(text)):
            yield Finding(path, line, f"{m[1]} is tested here; only {PLATFORM} may")


def pure_include(tree):
    """Shared headers include one another and nothing else."""
    for path, text in tree.under("include/"):
        if path == PLATFORM or language(path) != "c":
            continue
        for line, m in _matches(r'^[ \t]*#[ \t]*include[ \t]*(<[^>]*>|"[^"/]*/[^"]*")', csource.without_comments(text)):
            yield Finding(path, line, f"{m[1]} is included here; shared headers include only their neighbours")


# ---- sizes ------------------------------------------------------------------

def _python_functions(path, text):
    try:
        module = ast.parse(text)
    except SyntaxError as error:
        return [], Finding(path, error.lineno or 1, f"not Python 3: {error.msg}")
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [(n.name, n.lineno, n.end_lineno - n.lineno + 1)
            for n in ast.walk(module) if isinstance(n, kinds)], None


def _shell_functions(text):
    lines = text.split("\n")
    for i, line in enumerate(lines):
        opening = re.match(r"(?:function\s+)?([\w-]+)\s*\(\)\s*[{(]\s*$", line)
        if opening:
            end = next((j for j in range(i, len(lines)) if re.match(r"[})]", lines[j])), len(lines) - 1)
            yield opening[1], i + 1, end - i + 1


def _functions(path, text):
    """[(name, line, lines)] in any language we use, and a finding if unreadable."""
    kind = language(path, text)
    if kind == "python":
        return _python_functions(path, text)
    if kind == "shell":
        return list(_shell_functions(text)), None
    if kind in ("c", "c++") and not path.endswith(".def"):
        found = []
        for f in csource.scan(csource.strip(text))[0]:
            name = re.search(r"([~\w]+)\s*\(", f.text)
            found.append((name[1] if name else "?", f.first, f.lines))
        return found, None
    return [], None


def function_size(tree):
    """A function fits on a screen."""
    for path, text in tree.under(*CODE_FOLDERS):
        functions, broken = _functions(path, text)
        if broken:
            yield broken
        for name, line, lines in functions:
            if lines > FUNCTION_LINES:
                yield Finding(path, line, f"{name} has {lines} lines; the limit is {FUNCTION_LINES}")


def file_size(tree):
    """A file is read in one go."""
    for path, text in tree.under(*CODE_FOLDERS):
        kind, lines = language(path, text), text.count("\n")
        limit = BPF_FILE_LINES if path.startswith("bpf/") else CXX_FILE_LINES
        if kind and kind != "meson" and lines > limit:
            yield Finding(path, limit + 1, f"{lines} lines; the limit is {limit}")


# ---- text -------------------------------------------------------------------

def spdx(tree):
    """Every source file says its licence at the top."""
    for path, text in tree.files.items():
        if language(path, text) or path.endswith((".clang-format", ".in", ".scd")) and path.startswith(CODE_FOLDERS):
            if path.endswith(".clang-format"):
                continue
            head = "\n".join(text.split("\n")[:3])
            if text.strip() and "SPDX-License-Identifier: GPL-2.0-only" not in head:
                yield Finding(path, 1, "no SPDX-License-Identifier: GPL-2.0-only in the first three lines")


def white_space(tree):
    """No trailing blanks, one newline at the end, no tabs where spaces indent."""
    for path, text in tree.files.items():
        if path == "LICENSE" or path.startswith("tests/data/"):
            continue
        for line, _ in _matches(r"[ \t\r]+$", text):
            yield Finding(path, line, "white space at the end of the line")
        if text and (not text.endswith("\n") or text.endswith("\n\n")):
            yield Finding(path, text.count("\n") + 1, "the file does not end with exactly one newline")
        if language(path, text) in ("c++", "python", "meson"):
            for line, _ in _matches(r"\t.*", text):
                yield Finding(path, line, "a tab; this language is indented with spaces")


def open_ends(tree):
    """What is left to do is an issue, and the code names it."""
    words = "TO" + "DO", "FIX" + "ME", "X" + "XX"
    for path, text in tree.under(*CODE_FOLDERS):
        for line, m in _matches(rf"\b({'|'.join(words)})\b(?!\(#\d+\))", text):
            yield Finding(path, line, f"{m[1]} without an issue; write {m[1]}(#number)")


def string_view(tree):
    """Debian's Abseil does not convert between its string_view and std's."""
    for path, text in tree.under(*CODE_FOLDERS):
        if language(path) == "c++":
            for line, _ in _matches(r"\bstd::string_view\b", csource.without_comments(text)):
                yield Finding(path, line, "std::string_view; interfaces here take absl::string_view")


def machine_names(tree):
    """Nothing in the tree knows the machine it was written on."""
    # sched_ext has a folder root with these two files.
    paths = rf"(?<![\w.}}$*)\]])/(?:{'|'.join(('r' + 'oot', 'h' + 'ome', 'w' + 'ork', 'f' + 'arm'))})/(?!ops\b|events\b)"
    hosts = (r"\b(?:[\w-]+\.)+(?:debian|ubuntu)\.(?:org|com|net)\b", r"\b(?:[\w-]+\.)*(?:npm" r"js|pypi|pythonhosted)\.(?:org|com)\b")
    for path, text in tree.files.items():
        if path == "LICENSE" or path.startswith("tests/data/"):
            continue
        for line, m in _matches(paths, text):
            yield Finding(path, line, f"{m[0]}: an absolute path of one machine")
        for pattern in hosts:
            for line, m in _matches(pattern, text):
                yield Finding(path, line, f"{m[0]}: a package host; ask the machine's own configuration")


def executable_bits(tree):
    """A script is executable, and nothing else is."""
    for path, text in tree.files.items():
        is_script = text.startswith("#!")
        if is_script and path not in tree.executable:
            yield Finding(path, 1, "begins with #! but is not executable")
        if not is_script and path in tree.executable:
            yield Finding(path, 1, "is executable but does not begin with #!")


# ---- lists and documents ----------------------------------------------------

_ENTRY = re.compile(r'^STEWARD_(?P<list>\w+)\((?P<name>\w+),(?P<rest>(?:[^"]|"[^"]*")*?)\)\s*$', re.M)


def def_entries(text):
    """(line, name, fields) of every entry of a .def list."""
    code = csource.without_comments(text)
    for line, m in _matches(_ENTRY.pattern, re.sub(r"^[ \t]*#.*", lambda d: " " * len(d[0]), code, flags=re.M)):
        strings = re.findall(r'"([^"]*)"', m["rest"])
        plain = [f.strip() for f in re.sub(r'"[^"]*"', "", m["rest"]).split(",") if f.strip()]
        yield line, m["name"], plain, strings


def def_lists(tree):
    """Every entry says what it is for, once, and some code that BPF compiles uses it."""
    for path, text in tree.under("include/", suffix=".def"):
        users = [csource.without_comments(t) for p, t in tree.under("bpf/", "include/") if p.endswith((".h", ".c"))]
        seen = {}
        for line, name, _, strings in def_entries(text):
            if name in seen:
                yield Finding(path, line, f"{name} is in the list twice, first on line {seen[name]}")
            seen[name] = line
            if not strings or not strings[-1].strip():
                yield Finding(path, line, f"{name} has no explanation")
            if not any(re.search(rf"\b{name}\b", user) for user in users):
                yield Finding(path, line, f"{name} is used nowhere in bpf/ and include/")


def knobs_in_readme(tree):
    """README's table of knobs says what tunables.def says."""
    readme = tree.files.get("README.md", "")
    rows = {}
    for line, m in _matches(r"^\|\s*`(\w+)`\s*\|([^|]*)\|([^|]*)\|", readme):
        rows[m[1]] = line, m[2].strip(), m[3].strip()
    listed = set()
    for path, text in tree.under("include/", suffix="tunables.def"):
        for line, name, plain, _ in def_entries(text):
            listed.add(name)
            if len(plain) != 3:
                yield Finding(path, line, f"{name} needs a least, a greatest and a default value")
                continue
            least, most, default = plain
            want = default, f"{least}..{most}"
            row = rows.get(name)
            if row is None:
                yield Finding("README.md", 1, f"the table of knobs has no row for {name}")
            elif row[1:] != want:
                yield Finding("README.md", row[0], f"{name}: expected | {want[0]} | {want[1]} |, as in {path}:{line}")
    for name in rows:
        if name.endswith(("_us", "_pct", "_ms")) and name not in listed:
            yield Finding("README.md", rows[name][0], f"there is no knob {name}")


def version(tree):
    """meson.build and CHANGELOG name the same version."""
    build = re.search(r"^\s*version:\s*'([^']+)'", tree.files.get("meson.build", ""), re.M)
    log = re.search(r"^## \[?(\d[\w.+-]*)", tree.files.get("CHANGELOG.md", ""), re.M)
    if not build or not log or build[1] != log[1]:
        yield Finding("CHANGELOG.md", 1, f"newest version is {log and log[1]}, meson.build says {build and build[1]}")


COMMANDS = ("tools/try", "tools/check")


def readme_commands(tree):
    """The commands that README promises first exist."""
    readme = tree.files.get("README.md", "")
    blocks = "\n".join(re.findall(r"^```\w*\n(.*?)^```", readme, re.M | re.S))
    for command in COMMANDS:
        if not re.search(rf"^{command}\b", blocks, re.M):
            yield Finding("README.md", 1, f"no code block shows {command}")
        if command not in tree.executable:
            yield Finding(command, 1, "README promises it; it is missing or not executable")


def document_paths(tree):
    """A document that names a file of the tree names one that exists."""
    folders = "bpf|include|loader|tests|tools|\\.ci"
    for path, text in tree.files.items():
        if not path.endswith(".md") or path == "CHANGELOG.md":
            continue
        for line, m in _matches(rf"(?<![\w/.])((?:{folders})/[\w./-]*[\w/])", text):
            if not tree.exists(m[1]):
                yield Finding(path, line, f"{m[1]} does not exist")


RULES = (kernel_door, state_door, platform_door, pure_include, function_size, file_size, spdx,
         white_space, open_ends, string_view, machine_names, executable_bits, def_lists,
         knobs_in_readme, version, readme_commands, document_paths)
