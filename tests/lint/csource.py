# SPDX-License-Identifier: GPL-2.0-only
"""Just enough of C and C++ to find functions and globals without a compiler.

strip() blanks comments, literals and preprocessor lines but moves nothing, so
that offsets and line numbers stay true. scan() walks what is left. It knows the
styles of this repository, not the whole language; rules_test.py holds what it
must tell apart.
"""

import dataclasses
import re

_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)\""""
    r"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'""", re.S)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)


def _spaces(text):
    return "".join(c if c == "\n" else " " for c in text)


def _blank(match):
    text = match.group(0)
    if text[0] == "/":
        return _spaces(text)
    if text[0] == "'" and match.string[match.start() - 1:match.start()].isalnum():
        return text  # digit separators: 1'000'000
    return '"' + _spaces(text[1:-1]) + '"'  # a literal is still an expression


def without_comments(text):
    """Blank the comments and nothing else."""
    return _TOKEN.sub(lambda m: _spaces(m[0]) if m[0][0] == "/" else m[0], text)


def strip(text):
    """Blank comments, the contents of literals and preprocessor lines."""
    return _DIRECTIVE.sub(lambda m: _spaces(m[0]), _TOKEN.sub(_blank, text))


@dataclasses.dataclass
class Span:
    """A function, or a declaration at file or namespace scope."""
    begin: int  # offset of its first word
    end: int  # offset after its closing brace or semicolon
    first: int  # the same as line numbers
    last: int
    text: str

    @property
    def lines(self):
        return self.last - self.first + 1


_ATTRIBUTE = re.compile(r"\b(?:alignas|__attribute__|SEC|\w*_ALIGN)\s*\((?:[^()]|\([^()]*\))*\)")
_TEMPLATE = re.compile(r"\btemplate\s*<[^{};]*?>\s*(?=class|struct|union|enum|\w)")
_TYPE = re.compile(r"\b(?:class|struct|union|enum)\b")
_LABEL = re.compile(r"\s*(?:(?:public|private|protected)\s*:(?!:)\s*)?")


def _kind(head):
    """What a brace opens, by the text before it: function, type, space or value."""
    head = _TEMPLATE.sub("", _ATTRIBUTE.sub(" ", head)).strip()
    before_parameters = head.split("(")[0]
    if re.search(r"\bnamespace\b", head) or re.fullmatch(r'extern\s+"\s*"', head):
        return "space"
    if "(" not in head:
        is_type = _TYPE.search(head) and not head.endswith(("=", "]"))
        return "type" if is_type else "value"
    if "=" in before_parameters and "operator" not in before_parameters:
        return "value"  # also a lambda kept in a constant
    if _TYPE.match(head) and ":" in before_parameters:
        return "type"  # a base class with parentheses in its name
    if re.search(r"\)[\s\w]*:[^:]", head) and re.search(r"[\w>]$", head):
        return "value"  # a member that a constructor initialises with braces
    return "function"


def _after_match(code, at):
    """The offset after the brace that closes the one at `at`."""
    depth = 0
    for brace in re.compile(r"[{}]").finditer(code, at):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.end()
    return len(code)


def scan(code):
    """(functions, declarations) of stripped code. A type is one declaration."""
    functions, declarations, scopes = [], [], []
    start = at = 0

    def span(begin, end):
        return Span(begin, end, code.count("\n", 0, begin) + 1,
                    code.count("\n", 0, end - 1) + 1, code[begin:end])

    while True:
        mark = re.compile(r"[;{}]").search(code, at)
        if not mark:
            return functions, declarations
        at = mark.end()
        begin = _LABEL.match(code, start).end()
        if mark[0] == ";":
            if at - begin > 1 and all(kind == "space" for kind, _ in scopes):
                declarations.append(span(begin, at))
            start = at
        elif mark[0] == "}":
            kind, opened = scopes.pop() if scopes else ("space", 0)
            # The words between a type's brace and the semicolon belong to it.
            start = opened if kind == "type" else at
        else:
            kind = _kind(code[begin:mark.start()])
            if kind in ("type", "space"):
                scopes.append((kind, begin))
                start = at
                continue
            at = _after_match(code, mark.start())
            if kind == "function":
                functions.append(span(begin, at))
                start = at


def declares_variable(text):
    """Whether a declaration (of stripped code) defines or declares an object."""
    text = _TEMPLATE.sub("", _ATTRIBUTE.sub(" ", text))
    while "{" in text:
        shorter = re.sub(r"\{[^{}]*\}", " @ ", text)
        if shorter == text:
            break
        text = shorter
    text = text.rstrip("; \n\t")
    if re.match(r"(?:typedef|using|friend|static_assert|_Static_assert|template)\b", text):
        return False
    if re.search(r"\(\s*\*\s*\w+\s*(?:\[[^]]*\]\s*)?\)\s*\(", text.split("=")[0]):
        return True  # a pointer to a function
    if "(" in text.split("=")[0]:
        return False  # a prototype, or a macro such as STEWARD_ASSERT
    if re.fullmatch(r"(?:class|struct|union|enum(?:\s+class)?)\s*(?:\w+\s*(?:final\s*)?(?::[^@]*)?)?@?\s*", text):
        return False  # a type, defined or announced
    return bool(re.search(r"\w[\s*&@>]+\w|@\s*\w", text)) or "=" in text
