#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Probes land where their rules say, in every shape of C++ that is hard to read; undo is exact."""
import os
import shutil
import subprocess
import unittest

from tree import RULES, STORE, Tree


def one(**rule):
    """The one rule of a test."""
    return [{"name": "rule", "function": "f", "at": "entry", "probe": "PROBE(1, 0)", **rule}]


class Weave(unittest.TestCase):
    def setUp(self):
        self.tree = Tree()
        self.addCleanup(self.tree.directory.cleanup)

    def body(self, text, **rule):
        """The text after weaving one rule into it."""
        self.tree.write("#include <string>\n" + text)
        self.tree.weave(rules=one(**rule))
        woven = self.tree.store.read_text().splitlines()
        self.assertEqual(woven[1], '#include "probe.h" /* optrail:include */')
        return woven[2:]

    def refused(self, text, reason, **rule):
        text = "#include <string>\n" + text
        self.tree.write(text)
        said = self.tree.weave(rules=one(**rule), expect=1)
        self.assertIn("rule: refused: store.cc: ", said)
        self.assertIn(reason, said)
        self.assertEqual(self.tree.store.read_text(), text)

    def test_every_rule_lands_and_undo_is_exact(self):
        self.assertIn("1 of 1 files changed", self.tree.weave())
        woven = self.tree.store.read_bytes()
        for rule in RULES:
            self.assertEqual(woven.count(f"/* optrail:{rule['name']} */\n".encode()), 1)
        self.assertIn("0 of 1 files changed", self.tree.weave())
        self.assertEqual(self.tree.store.read_bytes(), woven)
        self.tree.weave("--undo")
        self.assertEqual(self.tree.store.read_text(), STORE)
        self.assertEqual(self.tree.left_overs(), [])

    def test_the_woven_program_calls_the_probes_in_order(self):
        main = ("\n#include <stdio.h>\nint main() { outer::inner::Store store(1); "
                "store.put(std::string(\"ab\"), 1); store.put(-5 + 4);\n"
                "return store.get(2) + last(5) - 7; }\n").replace("store.put(-5 + 4);",
                "try { store.put(9); } catch (std::exception &) { puts(\"caught\"); }")
        self.tree.write(STORE + main)
        self.tree.weave()
        program = self.tree.path / "program"
        subprocess.run([os.environ["CXX"], "-std=c++11", "-Wall", "-Wno-unused-function",
                        "-I", self.tree.path, "-o", program, self.tree.store], check=True)
        done = subprocess.run([program], capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout.splitlines(), [
            "6 1", "5 1", "1 2", "8 0", "3 2", "4 2", "2 2",  # made; put("ab") puts 2
            "1 9", "8 0", "2 9", "caught",                    # an exception passes the exit
            "7 0", "9 5"])

    def test_the_diff_is_what_patch_would_apply(self):
        diff = self.tree.weave("--print")
        self.assertEqual(self.tree.store.read_text(), STORE)
        diff = diff[diff.index("--- a/store.cc"):diff.index("put_number: ")] \
            if diff.index("--- a/") < diff.index("put_number: ") else diff[diff.index("--- a/"):]
        self.tree.weave()
        woven = self.tree.store.read_text()
        self.tree.write(STORE)
        if not shutil.which("patch") and not shutil.which("git"):
            self.skipTest("neither patch nor git is here")
        tool = ["patch", "-p1"] if shutil.which("patch") else ["git", "apply", "-p1"]
        subprocess.run(tool, input=diff, text=True, cwd=self.tree.path, check=True,
                       capture_output=True)
        self.assertEqual(self.tree.store.read_text(), woven)

    def test_line_ends_are_kept(self):
        text = STORE.replace("\n", "\r\n").encode()
        self.tree.write(text)
        self.tree.weave()
        woven = self.tree.store.read_bytes()
        self.assertEqual(woven.count(b"\n"), woven.count(b"\r\n"))
        self.assertIn(b"\tPROBE(3, key); /* optrail:pushes */\r\n", woven)
        self.tree.weave("--undo")
        self.assertEqual(self.tree.store.read_bytes(), text)

    def test_check_tells_each_place_and_changes_nothing(self):
        said = self.tree.weave("--check")
        self.assertEqual(self.tree.store.read_text(), STORE)
        self.tree.weave()
        lines = self.tree.store.read_text().splitlines()
        for rule in RULES:
            place = [i + 1 for i, line in enumerate(lines) if f"optrail:{rule['name']} */" in line]
            self.assertIn(f"{rule['name']}: store.cc:{place[0]} in {rule['function']}\n", said)

    def test_a_rule_without_its_place_changes_nothing(self):
        said = self.tree.weave(rules=RULES + one(function="outer::Store::put"), expect=1)
        self.assertIn("rule: refused: store.cc: no body of outer::Store::put", said)
        self.assertIn("1 of 10 rules are refused: nothing is changed", said)
        self.assertEqual(self.tree.store.read_text(), STORE)

    def test_an_optional_rule_is_passed_over_and_told(self):
        said = self.tree.weave(rules=RULES + one(function="gone", optional=True))
        self.assertIn("rule: passed over: store.cc: no body of gone", said)
        self.assertNotEqual(self.tree.store.read_text(), STORE)

    def test_overloads_need_a_signature(self):
        self.refused("void f(int)\n{\n}\nvoid f(char)\n{\n}\n", "2 bodies of f")

    def test_a_call_that_is_there_twice(self):
        self.refused("void f()\n{\n  g();\n  g();\n}\n", "lines 4 and 5", at="before g")

    def test_a_call_that_is_gone(self):
        self.refused("void f()\n{\n  h();\n}\n", "no call of g", at="after g")

    def test_calls_that_are_no_statement(self):
        for text in ("if (x) g();", "if (g()) return;", "if (x)\n    g();", "else\n    g();",
                     "return g();", "EACH(x)\n    g();", "h(g());", "x ? g() : h();",
                     "a && g();", "a || g();", "do g(); while (x);", "g(); h();"):
            with self.subTest(text):
                self.refused(f"void f()\n{{\n  {text}\n}}\n", "line ", at="after g")

    def test_statements_that_hold_a_call(self):
        for text in ("int x = g(1, [] { return 2; });", "p->q.g();", "x = g();  // why",
                     "g\n    (3);"):
            with self.subTest(text):
                woven = self.body(f"void f()\n{{\n  {text}\n}}\n", at="after g")
                self.assertEqual(woven[-2], "  PROBE(1, 0); /* optrail:rule */")

    def test_a_brace_that_one_branch_opens(self):
        for branches in ("#ifdef A\n  if (x) {\n#else\n  y();\n#endif",
                         "#ifdef A\n  if (x) {\n#endif", "#ifdef A\n  {{\n#else\n  {\n#endif"):
            with self.subTest(branches):
                self.refused(f"void f()\n{{\n{branches}\n  }}\n}}\n",
                             "opens or closes a brace on its own")

    def test_a_body_on_one_line(self):
        self.refused("void f() { return; }\n", "more stands on the line")

    def test_an_include_below_a_condition(self):
        self.tree.write("#ifdef A\n#include <string>\n#endif\nvoid f()\n{\n}\n")
        self.assertIn("no #include outside of #if", self.tree.weave(rules=one(), expect=1))

    def test_rules_that_are_wrong(self):
        for wrong, reason in (({"probe": "a; b"}, "a probe is one call"),
                              ({"at": "beside g"}, "a place is entry"),
                              ({"at": "around g"}, "'around' has before, after and leave"),
                              ({"leave": "PROBE(1, 0)"}, "all other places have a probe"),
                              ({"occurrence": 1}, "'at' names none"),
                              ({"at": "after g", "occurrence": 0}, "a number from 1"),
                              ({"at": "after g", "every": True, "behind": "x"}, "every takes all"),
                              ({"at": "exit", "probe": "OPTRAIL_TEXT(a, 0, b, 0)"}, "exit late"),
                              ({"name": "A b"}, "a rule's name"),
                              ({"files": ["../x.cc"]}, "below the tree"),
                              ({"wher": "x"}, "unknown key 'wher'")):
            with self.subTest(wrong):
                said = self.tree.weave(rules=one(**wrong), expect=1)
                self.assertIn(reason, said)
                self.assertIn("rules.yaml:1: ", said)

    def test_probes_that_are_no_call(self):
        for wrong, reason in (("PROBE(1", "a bracket is left open"),
                              ("PROBE 1)", "a bracket is closed that was not opened"),
                              ("PROBE(a[1)]", "a bracket is closed that was not opened"),
                              ("PROBE(" + 70 * "(" + 71 * ")", "nested too deeply"),
                              ("PROBE('(, \")\")", "a quote is left open"),
                              ("PROBE", "it does not end with a call"),
                              ("PROBE(1) +", "it does not end with a call"),
                              ("if (PROBE(1))", "it does not end with a call")):
            with self.subTest(wrong):
                said = self.tree.weave(rules=one(probe=wrong), expect=1)
                self.assertIn("rules.yaml:1: ", said)
                self.assertIn(f"rule rule: '{wrong}' is no call: ", said)
                self.assertIn(reason, said)
                self.assertEqual(self.tree.store.read_text(), STORE)
        for right in ("if (x[1] == ')') P(a)", "a[f(1)](2) ", "f(\"((\")", "iffy(0)"):
            with self.subTest(right):
                self.assertIn(f"{right}; /*", "".join(self.body("void f()\n{\n}\n", probe=right)))

    def test_a_link_is_not_followed(self):
        other = self.tree.path / "probe.h"
        self.tree.store.unlink()
        self.tree.store.symlink_to(other)
        self.assertIn("cannot open it", self.tree.weave(expect=1))
        self.assertTrue(self.tree.store.is_symlink())


if __name__ == "__main__":
    unittest.main()
