#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Each rule of rules.py is shown to fire on a tree made to break it, and to stay quiet on one that does not."""

import inspect
import unittest

import csource
import rules

SPDX = "/* SPDX-License-Identifier: GPL-2.0-only */\n"


def run(rule, files, executable=()):
    return [f"{f.path}:{f.line}" for f in rule(rules.Tree(files, executable))]


def function(lines, head="static int f(void)"):
    return f"{head}\n{{\n" + "\tg();\n" * (lines - 3) + "}\n"


class Scanner(unittest.TestCase):
    """What csource tells apart."""

    def names(self, code):
        return [f.text.split("(")[0].split()[-1] for f in csource.scan(csource.strip(code))[0]]

    def variables(self, code):
        return [d.first for d in csource.scan(csource.strip(code))[1] if csource.declares_variable(d.text)]

    def test_functions_are_found_in_every_scope(self):
        code = """
namespace a {
int F(int x) { return x; }
class C final : public B {
 public:
  C() : a_{1}, b_(2) { g(); }
  int Get() const override { return a_; }
 private:
  int a_{0};
};
struct S { int m() { return 1; } };
template <typename T, typename U = int>
auto G(T t) -> U { auto l = [](int i) { return i; }; return l(t); }
TEST(Suite, Case) { EXPECT_EQ(1, 1); }
}  // namespace a
"""
        self.assertEqual(self.names(code), ["F", "C", "Get", "m", "G", "TEST"])

    def test_braces_in_comments_literals_and_macros_do_not_count(self):
        code = 'int F() { /* { */ char c = \'{\'; const char *s = "{"; // {\n return 1\'000; }\n' \
               "#define M(x) \\\n\t{ x\nint G() { return R\"({)\"[0]; }\n"
        self.assertEqual(self.names(code), ["F", "G"])

    def test_variables_are_told_from_types_and_prototypes(self):
        code = ("int a;\n" "const volatile u32 b = 1;\n" "struct s c[4];\n" "struct { int x; } d SEC(\".maps\");\n"
                "struct s e = { .x = 1 };\n" "int (*f)(void);\n" "static u64 g;\n")
        self.assertEqual(self.variables(code), [1, 2, 3, 4, 5, 6, 7])
        code = ("struct s;\nstruct s { int x; } STEWARD_ALIGN(64);\nenum e { A = 1, B };\ntypedef int t;\n"
                "int f(void);\nextern \"C\" { int h(int); }\nSTEWARD_ASSERT(sizeof(int) == 4, \"x\");\n"
                "enum class E : int { kA };\nusing T = int;\nint k(void) { int local = 1; return local; }\n")
        self.assertEqual(self.variables(code), [])

    def test_lines_of_a_function_run_from_head_to_brace(self):
        found = csource.scan(csource.strip("\n\nstatic int\nf(void)\n{\n\treturn 1;\n}\n"))[0]
        self.assertEqual([(f.first, f.last, f.lines) for f in found], [(3, 7, 5)])


class Doors(unittest.TestCase):

    def test_kernel_symbols_and_headers_enter_through_one_file(self):
        body = ("s32 scx_bpf_x(void) __ksym;\n", "#include <bpf/bpf_helpers.h>\n", '#include "vmlinux.h"\n',
                "extern int CONFIG_HZ __kconfig;\n", "int f(void) { return bpf_core_field_exists(x); }\n")
        for text in body:
            self.assertEqual(run(rules.kernel_door, {"bpf/x.bpf.h": SPDX + text}), ["bpf/x.bpf.h:2"])
            self.assertEqual(run(rules.kernel_door, {"bpf/kernel.bpf.h": SPDX + text}), [])
        self.assertEqual(run(rules.kernel_door, {"bpf/x.bpf.h": "/* not __ksym */\n"}), [])

    def test_maps_are_defined_in_one_file(self):
        text = 'struct { __uint(max_entries, 1); } m SEC(".maps");\n'
        self.assertEqual(run(rules.state_door, {"bpf/x.bpf.h": text}), ["bpf/x.bpf.h:1"])
        self.assertEqual(run(rules.state_door, {"bpf/maps.bpf.h": text}), [])

    def test_globals_of_any_kind_are_defined_in_one_file(self):
        for text in ("int x;\n", "static u64 y = 1;\n", "const volatile bool z;\n", "struct cell c[2];\n",
                     "extern int k __ksym;\n"):
            self.assertEqual(run(rules.state_door, {"bpf/x.bpf.h": text}), ["bpf/x.bpf.h:1"])
        self.assertEqual(run(rules.state_door, {"bpf/kernel.bpf.h": "extern int k __ksym;\n"}), [])
        self.assertEqual(run(rules.state_door, {"bpf/kernel.bpf.h": "int k;\n"}), ["bpf/kernel.bpf.h:1"])
        self.assertEqual(run(rules.state_door, {"include/steward/x.h": "static int k;\n"}), ["include/steward/x.h:1"])
        self.assertEqual(run(rules.state_door, {"include/steward/x.h": "static const int k[] = {1};\n"}), [])

    def test_a_static_variable_in_a_function_is_a_global(self):
        text = "int f(void)\n{\n\tstatic int n;\n\treturn n++;\n}\n"
        self.assertEqual(len(run(rules.state_door, {"bpf/x.bpf.h": text})), 1)

    def test_licence_and_ops_table_stand_in_the_unit(self):
        text = 'char _license[] SEC("license") = "GPL";\nSEC(".struct_ops.link") struct sched_ext_ops ops = {};\n'
        self.assertEqual(run(rules.state_door, {"bpf/steward.bpf.c": text}), [])
        self.assertEqual(run(rules.state_door, {"bpf/x.bpf.h": text}), ["bpf/x.bpf.h:1", "bpf/x.bpf.h:2"])
        self.assertEqual(run(rules.state_door, {"bpf/steward.bpf.c": "int x;\n"}), ["bpf/steward.bpf.c:1"])

    def test_only_platform_h_knows_the_compiler(self):
        for word in ("__bpf__", "__cplusplus"):
            text = f"#ifdef {word}\n#endif\n"
            self.assertEqual(run(rules.platform_door, {"include/steward/x.h": text}), ["include/steward/x.h:1"])
            self.assertEqual(run(rules.platform_door, {"loader/x.cc": text}), ["loader/x.cc:1"])
            self.assertEqual(run(rules.platform_door, {"include/steward/platform.h": text}), [])

    def test_shared_headers_include_only_neighbours(self):
        self.assertEqual(run(rules.pure_include, {"include/steward/x.h": "#include <stdio.h>\n"}), ["include/steward/x.h:1"])
        self.assertEqual(run(rules.pure_include, {"include/steward/x.h": '#include "abi.h"\n'}), [])


class Sizes(unittest.TestCase):

    def test_functions_of_every_language_have_a_limit(self):
        limit = rules.FUNCTION_LINES
        python = "def f():\n" + "    g()\n" * (limit - 1)
        shell = "f() {\n" + "\tg\n" * (limit - 2) + "}\n"
        for path in ("bpf/x.bpf.h", "include/steward/x.h", "loader/x.cc", "tools/x.cc", "tests/x.cc"):
            self.assertEqual(run(rules.function_size, {path: function(limit)}), [])
            self.assertEqual(run(rules.function_size, {path: function(limit + 1)}), [f"{path}:1"])
        self.assertEqual(run(rules.function_size, {"tools/x.py": python}), [])
        self.assertEqual(run(rules.function_size, {"tools/x.py": python + "    g()\n"}), ["tools/x.py:1"])
        self.assertEqual(run(rules.function_size, {"tools/x": "#!/bin/sh\n" + shell}), [])
        self.assertEqual(run(rules.function_size, {"tools/x": "#!/bin/sh\n" + shell.replace("\n}", "\n\tg\n}")}), ["tools/x:2"])

    def test_a_test_body_and_a_method_are_functions(self):
        self.assertEqual(run(rules.function_size, {"tests/x.cc": function(80, "TEST_F(A, B)")}), ["tests/x.cc:1"])
        self.assertEqual(run(rules.function_size, {"tests/x.cc": "class A {\n" + function(80, "int f() const") + "};\n"}), ["tests/x.cc:2"])

    def test_python_that_does_not_parse_is_a_finding(self):
        self.assertEqual(run(rules.function_size, {"tools/x.py": "def f(:\n"}), ["tools/x.py:1"])

    def test_files_have_a_limit(self):
        for path, limit in (("bpf/x.bpf.h", 600), ("loader/x.cc", 500), ("tools/x.py", 500)):
            self.assertEqual(run(rules.file_size, {path: "\n" * limit}), [])
            self.assertEqual(run(rules.file_size, {path: "\n" * (limit + 1)}), [f"{path}:{limit + 1}"])


class Text(unittest.TestCase):

    def test_sources_name_their_licence(self):
        for path in ("loader/x.cc", "bpf/x.bpf.h", "tools/x.py", "meson.build", "include/steward/x.def"):
            self.assertEqual(run(rules.spdx, {path: "x\n"}), [f"{path}:1"])
        self.assertEqual(run(rules.spdx, {"tools/x": "#!/bin/sh\nx\n"}), ["tools/x:1"])
        self.assertEqual(run(rules.spdx, {"loader/x.cc": SPDX, "README.md": "x\n"}), [])

    def test_white_space(self):
        self.assertEqual(run(rules.white_space, {"a.md": "x \n"}), ["a.md:1"])
        self.assertEqual(run(rules.white_space, {"a.md": "x\r\n"}), ["a.md:1"])
        self.assertEqual(run(rules.white_space, {"a.md": "x"}), ["a.md:1"])
        self.assertEqual(run(rules.white_space, {"a.md": "x\n\n"}), ["a.md:3"])
        self.assertEqual(run(rules.white_space, {"loader/x.cc": "int a;\n\tint b;\n"}), ["loader/x.cc:2"])
        self.assertEqual(run(rules.white_space, {"bpf/x.bpf.h": "\tint b;\n", "tests/x.bpf.h": "\tint b;\n", "a.md": "x\n"}), [])

    def test_open_ends_name_an_issue(self):
        word = "TO" + "DO"
        self.assertEqual(run(rules.open_ends, {"loader/x.cc": f"// {word}: later\n"}), ["loader/x.cc:1"])
        self.assertEqual(run(rules.open_ends, {"loader/x.cc": f"// {word}(#12): later\n"}), [])

    def test_string_view(self):
        self.assertEqual(run(rules.string_view, {"loader/x.cc": "void f(std::string_view s);\n"}), ["loader/x.cc:1"])
        self.assertEqual(run(rules.string_view, {"loader/x.cc": "void f(absl::string_view s); // not std::string_view\n"}), [])

    def test_no_machine_is_named(self):
        for text in ("cd /r" + "oot/x\n", "/w" + "ork/x\n", "http://deb.deb" + "ian.org/x\n", "registry.npm" + "js.org\n"):
            self.assertEqual(run(rules.machine_names, {"tools/x": text}), ["tools/x:1"])
        self.assertEqual(run(rules.machine_names, {"tools/x": "/sys/kernel/sched_ext/r" + "oot/ops '/r" + "oot/ops' $d/w" + "ork/x\n"}), [])

    def test_executable_bits(self):
        script = {"tools/x": "#!/bin/sh\n"}
        self.assertEqual(run(rules.executable_bits, script), ["tools/x:1"])
        self.assertEqual(run(rules.executable_bits, script, ["tools/x"]), [])
        self.assertEqual(run(rules.executable_bits, {"a.md": "x\n"}, ["a.md"]), ["a.md:1"])


KNOB = 'STEWARD_TUNABLE(slice_us, "us", 500, 100000, 5000,\n\t\t"time, that (it) may run")\n'
KNOBS = "include/steward/tunables.def"


class Lists(unittest.TestCase):

    def test_entries_are_explained_unique_and_used(self):
        counter = 'STEWARD_CPU_STAT(kicks, "CPUs kicked")\n'
        path = "include/steward/stats.def"
        used = {"bpf/x.bpf.h": "stat(kicks)\n"}
        self.assertEqual(run(rules.def_lists, {path: counter, **used}), [])
        self.assertEqual(run(rules.def_lists, {path: counter}), [f"{path}:1"])
        self.assertEqual(run(rules.def_lists, {path: counter * 2, **used}), [f"{path}:2"])
        self.assertEqual(run(rules.def_lists, {path: 'STEWARD_CPU_STAT(kicks, "")\n', **used}), [f"{path}:1"])
        self.assertEqual(run(rules.def_lists, {path: "#ifndef STEWARD_CPU_STAT\n#define STEWARD_CPU_STAT(name, help)\n#endif\n"}), [])

    def test_readme_shows_the_knobs_as_they_are(self):
        row = "| `slice_us` | 5000 | 500..100000 | time |\n"
        self.assertEqual(run(rules.knobs_in_readme, {KNOBS: KNOB, "README.md": row}), [])
        self.assertEqual(run(rules.knobs_in_readme, {KNOBS: KNOB, "README.md": "\n"}), ["README.md:1"])
        self.assertEqual(run(rules.knobs_in_readme, {KNOBS: KNOB, "README.md": row.replace("5000 ", "4000 ")}), ["README.md:1"])
        self.assertEqual(run(rules.knobs_in_readme, {KNOBS: KNOB, "README.md": row + row.replace("slice", "old")}), ["README.md:2"])
        self.assertEqual(run(rules.knobs_in_readme, {KNOBS: KNOB.replace(" 5000,", ""), "README.md": row}), [f"{KNOBS}:1"])

    def test_version_is_the_same_everywhere(self):
        build = "project('x',\n  version: '0.1.0')\n"
        self.assertEqual(run(rules.version, {"meson.build": build, "CHANGELOG.md": "# C\n\n## [0.1.0] - soon\n"}), [])
        self.assertEqual(run(rules.version, {"meson.build": build, "CHANGELOG.md": "## [0.2.0]\n## [0.1.0]\n"}), ["CHANGELOG.md:1"])
        self.assertEqual(run(rules.version, {"meson.build": build}), ["CHANGELOG.md:1"])

    def test_readme_shows_its_commands_and_they_exist(self):
        readme = {"README.md": "```sh\n" + "\n".join(rules.COMMANDS) + "\n```\n"}
        self.assertEqual(run(rules.readme_commands, readme, rules.COMMANDS), [])
        self.assertEqual(run(rules.readme_commands, readme), [f"{c}:1" for c in rules.COMMANDS])
        self.assertEqual(run(rules.readme_commands, {"README.md": "tools/try\n"}, rules.COMMANDS), ["README.md:1"] * 2)

    def test_documents_name_files_that_exist(self):
        self.assertEqual(run(rules.document_paths, {"A.md": "see `tools/x`\n"}), ["A.md:1"])
        self.assertEqual(run(rules.document_paths, {"A.md": "see `tools/x`, tools/.\n", "tools/x": "\n"}), [])


class Completeness(unittest.TestCase):

    def test_every_rule_is_run_and_tested(self):
        with open(__file__, encoding="utf-8") as f:
            text = f.read()
        for value in vars(rules).values():
            if inspect.isfunction(value) and value.__code__.co_varnames[:1] == ("tree",):
                self.assertIn(value, rules.RULES)
        for rule in rules.RULES:
            self.assertIn(f"rules.{rule.__name__}", text)


if __name__ == "__main__":
    unittest.main()
