#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Build lines, and the record by which a tree is given back without the rules that were woven."""
import json
import os
import pathlib
import re
import subprocess
import unittest

from tree import OPTRAIL, Tree

SOURCE = "#include <string>\nvoid f()\n{\n  g();\n}\n"
MAKEFILE = "AM_CPPFLAGS = -I. \\\n\t-Wall\nSOURCES = a.cc\n\tLIBS = -lm \nbin: a\n"


def source(name, file, **keys):
    return {"name": name, "files": [file], "function": "f", "at": "entry", "probe": "P(1)", **keys}


def build(**keys):
    return {"name": "build", "files": ["gone.am", "src/Makefile.am"], "at": "after SOURCES = a.cc",
            "lines": ["AM_CPPFLAGS += -I@include@", "LIBS += @library@"], **keys}


class Record(unittest.TestCase):
    def setUp(self):
        self.tree = Tree(SOURCE)
        self.addCleanup(self.tree.directory.cleanup)
        self.root = self.tree.path / "tree"
        (self.root / "src").mkdir(parents=True)
        for name in ("a.cc", "b.cc"):
            (self.root / "src" / name).write_text(SOURCE)
        (self.root / "src/Makefile.am").write_text(MAKEFILE)
        self.before = self.files()

    def files(self):
        return {str(path.relative_to(self.root)): path.read_bytes()
                for path in self.root.rglob("*") if path.is_file()}

    def optrail(self, *options, expect=0):
        done = subprocess.run([OPTRAIL, "weave", *options, self.root], capture_output=True,
                              text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def weave(self, rules=(), builds=(), options=(), expect=0):
        rules = list(rules) or [source("a", "src/a.cc")]
        file = self.tree.path / "rules.yaml"
        file.write_text(json.dumps({"rules": rules, "builds": list(builds)}))
        return self.optrail("--rules", file, *options, expect=expect)

    def undo(self, expect=0):
        return self.optrail("--undo", expect=expect)

    def prefix(self, name="x"):
        """A directory that looks as if probes were installed below it."""
        prefix = self.tree.path / name
        (prefix / "include/optrail").mkdir(parents=True, exist_ok=True)
        (prefix / "include/optrail/probe.h").touch()
        return prefix

    def record(self, *lines):
        (self.root / ".optrail-woven").write_text("".join(line + "\n" for line in lines))

    def test_a_tree_comes_back_without_the_rules(self):
        self.weave([source("a", "src/a.cc"), source("b", "src/b.cc")], [build()])
        woven = self.files()
        self.assertEqual(len(woven), 4)
        for name, text in self.before.items():
            self.assertNotEqual(woven[name], text)
        self.assertIn("0 of 3 files changed",
                      self.weave([source("a", "src/a.cc"), source("b", "src/b.cc")], [build()]))
        self.assertEqual(self.files(), woven)
        self.assertEqual(self.undo(), "3 of 3 files changed\n")
        self.assertEqual(self.files(), self.before)

    def test_what_the_rules_no_longer_name_is_taken_out(self):
        self.weave([source("a", "src/a.cc"), source("b", "src/b.cc")])
        self.weave([source("b", "src/b.cc")])
        self.assertEqual((self.root / "src/a.cc").read_text(), SOURCE)
        self.assertNotIn("a.cc", (self.root / ".optrail-woven").read_text())
        self.undo()
        self.assertEqual(self.files(), self.before)

    def test_edits_are_kept_and_told(self):
        self.weave([source("a", "src/a.cc"), source("b", "src/b.cc")])
        (self.root / "src/b.cc").unlink()
        file = self.root / "src/a.cc"
        file.write_text(file.read_text().replace("g();", "g(2);"))
        said = self.undo()
        self.assertIn("src/a.cc: edited since it was woven: only the marked lines are taken out",
                      said)
        self.assertIn("src/b.cc: woven, and not there any more", said)
        self.assertEqual(file.read_text(), SOURCE.replace("g();", "g(2);"))
        self.assertFalse((self.root / ".optrail-woven").exists())

    def test_records_that_cannot_be_trusted(self):
        sums = "0123456789abcdef"
        outside = self.tree.path / "outside.cc"
        outside.write_text("x /* optrail:a */\n")
        (self.root / "link").symlink_to(self.tree.path)
        (self.root / "file.cc").symlink_to(outside)
        for line, reason in ((f"{sums} ../outside.cc", "line 2 is none of a record"),
                             (f"{sums} {outside}", "line 2 is none of a record"),
                             (f"{sums} .optrail-woven", "line 2 is none of a record"),
                             (f"{sums} src/a.cc\n{sums} src/a.cc", "line 3 is none of a record"),
                             ("0123 src/a.cc", "line 2 is none of a record"),
                             (f"{sums} link/outside.cc", "it is a symbolic link"),
                             (f"{sums} file.cc", "it is a symbolic link"),
                             (f"{sums} src", "no ordinary file")):
            with self.subTest(line):
                self.record("optrail.woven/1", line)
                self.assertIn(reason, self.undo(expect=1))
                self.assertEqual(outside.read_text(), "x /* optrail:a */\n")
        self.record("something else")
        self.assertIn("line 1 is none of a record of what was woven: remove the file; --undo then needs "
                      "the --rules that were woven\n", self.undo(expect=1))
        self.assertIn("line 1 is none of a record", self.weave(expect=1))

    def test_without_a_record_the_rules_tell_the_files(self):
        self.weave(builds=[build()])
        (self.root / ".optrail-woven").unlink()
        self.weave(builds=[build()], options=["--undo"])
        self.assertEqual(self.files(), self.before)

    def test_nothing_to_undo_without_a_record_is_told(self):
        self.weave([source("a", "src/a.cc"), source("b", "src/b.cc")])
        (self.root / ".optrail-woven").unlink()
        woven = self.files()
        said = self.undo(expect=1)
        self.assertIn("nothing to undo: .optrail-woven is not there, and the 1 file of --rules ceph "
                      "that are there have no lines of ours: name the --rules that were woven\n", said)
        self.assertEqual(self.files(), woven)
        (self.root / "c.cc").write_text(SOURCE)
        self.assertIn("the 1 file of --rules ",
                      self.weave([source("c", "c.cc")], options=["--undo"], expect=1))
        self.assertEqual(self.weave([source("a", "src/a.cc"), source("b", "src/b.cc")],
                                    options=["--undo"]), "2 of 2 files changed\n")

    def test_what_a_killed_run_left_is_removed(self):
        strays = ("src/a.cc.optrail-123-0", "src/a.cc.optrail-4-11", ".optrail-woven.optrail-1-0")
        others = ("src/a.cc.optrail-123-0.bak", "src/a.cc.optrail-12x-0", "src/a.cc.optrail--0",
                  "src/a.cc.optrail-1-", "src/b.cc.optrail-1-0", "a.cc.optrail-1-0")
        for name in strays + others:
            (self.root / name).write_text("x")
        (self.root / "src/a.cc.optrail-2-0").mkdir()
        (self.root / "src/a.cc.optrail-3-0").symlink_to("a.cc")
        self.assertIn("3 files that an interrupted run left: removed\n1 of 1 files changed\n",
                      self.weave())
        for name in strays:
            self.assertFalse((self.root / name).exists(), name)
            (self.root / name).write_text("x")
        self.assertEqual(self.undo(), "3 files that an interrupted run left: removed\n"
                                      "1 of 1 files changed\n")
        (self.root / strays[0]).write_text("x")
        self.assertIn("1 file that an interrupted run left: removed\n0 of 1 files changed\n",
                      self.weave(options=["--undo"]))
        for name in others + ("src/a.cc.optrail-2-0", "src/a.cc.optrail-3-0"):
            self.assertTrue((self.root / name).exists(), name)

    @unittest.skipUnless(os.geteuid() == 0, "only root can give files away")
    def test_files_keep_their_owner_and_group(self):
        def owners(*names):
            return [(at.st_uid, at.st_gid, at.st_mode & 0o7777)
                    for at in (os.stat(self.root / name) for name in names)]
        os.chown(self.root, 1001, 1002)
        os.chown(self.root / "src/a.cc", 1003, 1004)
        os.chmod(self.root / "src/a.cc", 0o2750)
        self.assertNotIn("could not be given", self.weave())
        self.assertEqual(owners("src/a.cc", ".optrail-woven"),
                         [(1003, 1004, 0o2750), (1001, 1002, 0o644)])
        self.undo()
        self.assertEqual(owners("src/a.cc"), [(1003, 1004, 0o2750)])

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_files_that_cannot_be_given_back_are_told(self):
        for directory in (self.tree.path, self.root, self.root / "src"):
            os.chmod(directory, 0o777)
        self.weave()
        done = None
        try:
            done = subprocess.run([OPTRAIL, "weave", "--undo", self.root], capture_output=True,
                                  text=True, timeout=60, check=False, user=65534, group=65534,
                                  extra_groups=[])
        except PermissionError as error:
            self.skipTest(f"nobody else may run {OPTRAIL}: {error}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, "1 of the files could not be given to their owner or group: see "
                                      "to it\n1 of 1 files changed\n")
        self.assertEqual(self.files(), self.before)

    def test_build_lines_land_where_they_should(self):
        cases = (("after SOURCES = a.cc", "SOURCES = a.cc\n{}\tLIBS"),
                 ("before LIBS = -lm", "a.cc\n{}\tLIBS = -lm \n"), ("end", "bin: a\n{}"))
        prefix = self.prefix()
        lines = (f"AM_CPPFLAGS += -I{prefix}/include # optrail:build\n"
                 f"LIBS += {prefix}/LIB # optrail:build\n")
        for at, where in cases:
            for ending in ("\n", "\r\n"):
                with self.subTest(at):
                    file = self.root / "src/Makefile.am"
                    text = MAKEFILE.replace("\n", ending)
                    file.write_bytes(text.encode())
                    said = self.weave(builds=[build(at=at)], options=["--probes", prefix])
                    woven = file.read_bytes().decode()
                    library = woven.split(f"LIBS += {prefix}/")[1].split(" ")[0]
                    self.assertTrue(library.endswith("/liboptrail-probes.a"))
                    self.assertIn(where.format(lines).replace("\n", ending),
                                  woven.replace(library, "LIB"))
                    self.assertIn("build: src/Makefile.am:", said)
                    self.undo()
                    self.assertEqual(file.read_bytes(), text.encode())

    def test_probes_that_are_not_there(self):
        for options, reason in (
                (["--probes", "/nonexistent"], "/nonexistent: include/optrail/probe.h is not in it"),
                (["--probes", self.prefix("a b")], "a b: blanks and # in it would end a name"),
                (["--probes", self.prefix("a\nb")], "blanks and # in it would end a name")):
            with self.subTest(options):
                self.assertIn(reason, self.weave(builds=[build()], options=options, expect=1))
                self.assertEqual(self.files(), self.before)
        self.prefix()
        relative = os.path.relpath(self.tree.path / "x")
        self.weave(builds=[build()], options=["--probes", relative])
        self.assertIn(f"-I{os.getcwd()}/{relative}/include #",
                      (self.root / "src/Makefile.am").read_text())

    def test_missing_probes_of_our_own_are_told(self):
        said = self.weave(builds=[build()])
        own = re.search("-I(.*)/include #", (self.root / "src/Makefile.am").read_text()).group(1)
        there = pathlib.Path(own, "include/optrail/probe.h").exists()
        told = f"the build lines name {own}, where the probes are not installed: cmake --install"
        self.assertEqual(told in said, not there)
        self.assertNotIn("build lines name", self.weave())
        self.assertNotIn("build lines name",
                         self.weave(builds=[build(at="after z", optional=True)]))
        self.assertNotIn("build lines name",
                         self.weave(builds=[build()], options=["--probes", self.prefix()]))

    def test_build_lines_that_have_no_place(self):
        for keys, reason in (({"at": "after nothing"}, "the line 'nothing' is not there"),
                             ({"at": "before -Wall"}, "the line above the place goes on"),
                             ({"at": "after AM_CPPFLAGS = -I. \\"}, "the line above the place"),
                             ({"files": ["none"]}, "none: it is not there")):
            with self.subTest(keys):
                said = self.weave(builds=[build(**keys)], expect=1)
                self.assertIn("build: refused: ", said)
                self.assertIn(reason, said)
                self.assertEqual(self.files(), self.before)
        (self.root / "src/Makefile.am").write_text("x = 1\nx = 1\ny = 2")
        for at, reason in (("after x = 1", "more than once, in lines 1 and 2"),
                           ("end", "its last line does not end")):
            self.assertIn(reason, self.weave(builds=[build(at=at)], expect=1))
        self.assertIn("build: passed over",
                      self.weave(builds=[build(at="after z", optional=True)]))

    def test_builds_that_are_wrong(self):
        for wrong, reason in (({"at": "entry"}, "a place is end"), ({"at": "after "}, "a place is end"),
                              ({"lines": ["a \\"]}, "a line cannot go on"), ({"lines": []}, "a build has"),
                              ({"name": "a"}, "the name 'a' is taken"),
                              ({"files": ["/etc/passwd"]}, "below the tree")):
            with self.subTest(wrong):
                self.assertIn(reason, self.weave(builds=[build(**wrong)], expect=1))

    def test_the_diff_has_build_lines(self):
        diff = self.weave(builds=[build()], options=["--print"])
        self.assertEqual(self.files(), self.before)
        self.assertIn("+++ b/src/Makefile.am", diff)
        self.assertIn("\n+LIBS += ", diff)


if __name__ == "__main__":
    unittest.main()
