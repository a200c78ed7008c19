#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lines around locks, at exits, in blocks, and at some of several calls; old compilers take them."""
import os
import subprocess
import unittest

from tree import SOURCES, Tree

OLD = (SOURCES / "old.cc").read_text()


def rule(**keys):
    """A rule with what most of these have."""
    return {"name": "rule", "function": "Store::work", **keys}


class Places(unittest.TestCase):
    def setUp(self):
        self.tree = Tree(OLD)
        self.addCleanup(self.tree.directory.cleanup)

    def lines(self, text, rules):
        """The inserted lines, and the one behind each."""
        self.tree.write("#include <string>\n" + text)
        self.tree.weave(rules=rules)
        woven = self.tree.store.read_text().splitlines()[2:]
        self.tree.weave("--undo", rules=rules)
        self.assertEqual(self.tree.store.read_text(), "#include <string>\n" + text)
        return [(line.split(" /* optrail:")[0], after.strip())
                for line, after in zip(woven, woven[1:]) if "/* optrail:" in line]

    def refused(self, text, reason, **keys):
        text = "#include <string>\n" + text
        self.tree.write(text)
        said = self.tree.weave(rules=[rule(function="f", **keys)], expect=1)
        self.assertIn("rule: refused: store.cc: ", said)
        self.assertIn(reason, said)
        self.assertEqual(self.tree.store.read_text(), text)

    def test_the_program_of_an_old_compiler_tells_all(self):
        rules = [
            rule(name="left", at="exit", probe="PROBE(1, op->id)"),
            rule(name="null", at="exit", probe="if (none) PROBE(11, none->id)"),
            rule(name="some", at="exit", probe="if ((times, op)) PROBE(12, op->id)"),
            rule(name="guard", at="around Mutex::Locker guard", before="PROBE(2, &lock == 0)",
                 after="PROBE(3, lock.held)", leave="PROBE(4, (i, op->id))"),
            rule(name="every", at="before lock.Lock", every=True, probe="PROBE(5, times)"),
            rule(name="second", at="after lock.Lock", occurrence=2, probe="PROBE(6, times)"),
            rule(name="behind", at="before lock.Unlock", behind="default:", probe="PROBE(7, 0)"),
            rule(name="loop", at="in for", probe="PROBE(8, i)"),
            rule(name="op", at="before return op ==", probe="PROBE(9, 0)", function="main"),
            rule(name="equal", at="entry", probe="PROBE(10, id)", function="Op::operator=="),
        ]
        said = self.tree.weave(rules=rules)
        self.assertIn("guard: store.cc:38 40 41 in Store::work\n", said)
        self.assertIn("equal: store.cc:19 in Op::operator==\n", said)
        program = self.tree.path / "program"
        subprocess.run([os.environ["CXX"], "-std=gnu++98", "-Wall", "-Wextra", "-Werror",
                        "-Wno-address", "-Wno-unused-value", "-Wno-unused-but-set-parameter",
                        "-I", self.tree.path, "-o", program, self.tree.store], check=True)
        done = subprocess.run([program], capture_output=True, text=True, check=False)
        once = lambda turn: [f"8 {turn}", "2 0", "locked", "3 1", "work 7"]
        self.assertEqual(done.stdout.splitlines(), [
            "12 7", "1 7",  # the value at the entry, at each return
            *once(0), "4 7", "unlocked", "5 1", "locked", "unlocked", "12 7", "1 7",
            *once(0), "4 7", "unlocked", *once(1), "4 7", "unlocked", "12 7", "1 7",
            "9 0", "10 7"])
        self.tree.weave("--undo", rules=rules)
        self.assertEqual(self.tree.store.read_text(), OLD)

    def test_locks_of_all_sorts_are_statements(self):
        for text in ("std::lock_guard l{m};", "std::lock_guard<std::mutex> l(m);",
                     "RWLock::WLocker l((index.index)->access_lock);", "auto &l = m(2);",
                     "*p = m(3);", "(*p).m();"):
            with self.subTest(text):
                anchor = "m" if "= m(" in text or ".m(" in text else text.split(" l")[0] + " l"
                got = self.lines(f"void f()\n{{\n  {text}\n  done();\n}}\n", [
                    rule(function="f", at=f"around {anchor}", before="P(1)", after="P(2)")])
                self.assertEqual(got, [("  P(1);", text), ("  P(2);", "done();")])

    def test_blocks_and_heads(self):
        text = ("void f(int x)\n{\n  queue([x]() mutable -> int {\n    a();\n  });\n"
                "  if (g(x) < 0) {\n    b();\n  }\nout:\n  h();\n  while (x) {\n    c();\n  }\n}\n")
        places = (("in [x]", "a();"), ("before g", "if (g(x) < 0) {"), ("in if (g(x) < 0)", "b();"),
                  ("before if", "if (g(x) < 0) {"), ("before h", "h();"), ("in out:", "h();"),
                  ("before while", "while (x) {"), ("in while", "c();"))
        for at, behind in places:
            with self.subTest(at):
                got = self.lines(text, [rule(function="f", at=at, probe="P(1)")])
                self.assertEqual([pair[1] for pair in got], [behind])
        for at in ("before while", "before else"):
            self.refused("void f()\n{\n  do {\n  }\n  while (x);\n  if (y) {\n  }\n  else {\n  }\n}\n",
                         "not a statement of its own", at=at, probe="P(1)")

    def test_where_no_object_may_stand(self):
        self.refused("void f()\n{\n  switch (x) {\n  case 1:\n    g();\n  }\n}\n",
                     "among the cases of a switch", at="around g", leave="P(1)")
        self.refused("void f()\n{\n  goto out;\n  g();\nout:;\n}\n", "the goto in line 4",
                     at="around g", leave="P(1)")

    def test_what_is_refused_in_heads(self):
        for text in ("while (g())\n    h();", "for (;\n    g();\n    x) {\n  }", "if (a && g()) {\n  }",
                     "if (x) {\n  } else if (g()) {\n  }", "x = a ? b :\n    g();"):
            with self.subTest(text):
                self.refused(f"void f()\n{{\n  {text}\n}}\n", "line ", at="before g", probe="P(1)")

    def test_which_of_the_calls(self):
        text = "void f()\n{\n  g(1);\n  mark(2);\n  g(3);\n  g(4);\n}\n"
        for keys, behind in (({"occurrence": 3}, ["g(4);"]), ({"behind": "mark(2)"}, ["g(3);"]),
                             ({"behind": "mark", "occurrence": 2}, ["g(4);"]),
                             ({"every": True}, ["g(1);", "g(3);", "g(4);"])):
            with self.subTest(keys):
                got = self.lines(text, [rule(function="f", at="before g", probe="P(1)", **keys)])
                self.assertEqual([pair[1] for pair in got], behind)
        self.refused(text, "called 3 times in it, not 4", at="before g", occurrence=4, probe="P(1)")
        self.refused(text, "stands there more than once", at="before g", behind="g", probe="P(1)")
        self.refused("void f()\n{\n" + 1001 * "  g();\n" + "}\n", "more than 1000 times",
                     at="before g", every=True, probe="P(1)")
        self.refused(text, "'h', behind which", at="before g", behind="h", probe="P(1)")

    def test_alternatives_of_versions(self):
        text = "struct S { int f(int x); };\nint S::f(int x)\n{\n  return x;\n}\n"
        got = self.lines(text, [rule(files=["store.cc"], function=["f", "T::f", "S::f"],
                                     signature=["char", "int"], at="entry", probe="P(1)")])
        self.assertEqual(got, [("  P(1);", "return x;")])
        self.lines(text, [rule(files=["probe.h", "gone.cc", "store.cc"], function="S::f",
                               at="entry", probe="P(1)")])

    def test_names_that_are_no_words(self):
        text = ("struct S {\n  S &operator=(const S &);\n  bool operator!=(int x) const\n  {\n"
                "    return x;\n  }\n  operator bool() const\n  {\n    return true;\n  }\n"
                "  const decltype(S::a) &get() const\n  {\n    return a;\n  }\n};\n"
                "bool operator<(const S &a, const S &b) {\n  return 1;\n}\n"
                "struct __attribute__((packed)) P {\n  int f() __attribute__((pure))\n  {\n"
                "    return 2;\n  }\n};\n"
                "extern \"C\" int API(put)(int key)\n{\n  return 3;\n}\n"
                "template <class T> T *N<T>::operator->()\n{\n  return 4;\n}\n")
        for name, behind in (("S::operator!=", "return x;"), ("S::operator bool", "return true;"),
                             ("S::get", "return a;"), ("operator<", "return 1;"),
                             ("P::f", "return 2;"), ("API(put)", "return 3;"),
                             ("N::operator->", "return 4;")):
            with self.subTest(name):
                got = self.lines(text, [rule(function=name, at="entry", probe="P(1)")])
                self.assertEqual([pair[1] for pair in got], [behind])

    def test_branches_that_open_the_same_brace(self):
        text = ("void f()\n{\n#ifdef A\n  if (x) {\n    a();\n#else\n  if (y) {\n    b();\n#endif\n"
                "    g();\n  }\n#if 0\n  {\n#else\n  h();\n#endif\n}\n"
                "#ifdef A\nvoid k(int x) {\n#elif B\nvoid k(long x) {\n#else\nvoid k() {\n#endif\n"
                "  l();\n}\n")
        for name, at, behind in (("f", "before g", "g();"), ("f", "before h", "h();"),
                                 ("k", "before l", "l();")):
            with self.subTest(at):
                got = self.lines(text, [rule(function=name, at=at, probe="P(1)")])
                self.assertEqual([pair[1] for pair in got], [behind])
        self.refused(text, "whose branches open a bracket each", at="before a", probe="P(1)")
        self.refused(text, "no call of b", at="before b", probe="P(1)")

    def test_lines_at_one_place_keep_their_order(self):
        rules = [rule(name=f"r{i}", function="f", at=at, probe=f"P({i})")
                 for i, at in enumerate(("before h", "after g", "before h", "after g"))]
        got = self.lines("void f()\n{\n  g();\n  h();\n}\n", rules)
        self.assertEqual([pair[0] for pair in got], ["  P(1);", "  P(3);", "  P(0);", "  P(2);"])


if __name__ == "__main__":
    unittest.main()
