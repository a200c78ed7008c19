#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""No verb writes to what it reads, by whatever name; names that name nothing are wrong use."""
import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

OPTRAIL, MAKE_TRACE = os.environ["OPTRAIL"], os.environ["MAKE_TRACE"]
STORE = pathlib.Path(__file__).resolve().parent.parent / "report" / "store.yaml"
STORY = ("repeat 200\n+1ms op.start 1/1 w 2 1\n+0us opqueue.enqueue 1/1 w\n"
         "+100us opqueue.dequeue 1/2 w\n+0us journal.submit 1/2 w 1\n"
         "+400us op.finish 1/3 w 4096 0\n+0us op.end 1/3 w\nend\n")


class Outputs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = pathlib.Path(tempfile.mkdtemp(prefix="optrail-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.home)
        (cls.home / "story.txt").write_text(STORY)
        (cls.home / "session").mkdir()
        subprocess.run([MAKE_TRACE, "story.txt", "session/trace"], cwd=cls.home, check=True)
        shutil.copy(STORE, cls.home / "store.yaml")
        for name in ("a.profile", "b.profile"):
            subprocess.run([OPTRAIL, "report", "--path", "store.yaml", "--save", name, "-o",
                            "/dev/null", "session/trace"], cwd=cls.home, check=True)
        (cls.home / "s.txt").write_text("main;work 5\n")
        (cls.home / "bench.txt").write_text("osd commit_latency(ms) apply_latency(ms)\n0 3 4\n1 2 2\n")
        (cls.home / "link").symlink_to("a.profile")
        os.link(cls.home / "s.txt", cls.home / "hard.txt")
        cls.stream = next(path for path in (cls.home / "session").rglob("*")
                          if path.is_file() and path.name != "metadata").relative_to(cls.home)

    def run_it(self, *arguments):
        return subprocess.run([OPTRAIL, *map(str, arguments)], cwd=self.home, capture_output=True,
                              text=True)

    def digest(self):
        return {path: hashlib.sha256(path.read_bytes()).hexdigest()
                for path in self.home.rglob("*") if path.is_file()}

    def test_what_is_read_is_not_written_to(self):
        before = self.digest()
        path = ("--path", "store.yaml")
        for arguments in (
                ("report", *path, "-o", "a.profile", "a.profile"),
                ("report", *path, "--json", "./a.profile", "b.profile", "a.profile"),
                ("report", *path, "--save", "link", "a.profile"),
                ("report", *path, "--save", "a.profile", "link"),
                ("report", *path, "-o", "store.yaml", "a.profile"),
                ("report", *path, "--json", self.stream, "session/trace"),
                ("report", *path, "--save", self.stream, "session"),
                ("report", *path, "-o", "session/trace/report.txt", "session"),
                ("locks", *path, "-o", self.stream, "session/trace"),
                ("locks", *path, "--json", self.home / "session/trace/new", "session/trace"),
                ("locks", *path, "-o", "b.profile", "b.profile"),
                ("report", *path, "-o", "session/metadata", "session"),
                ("flame", *path, "-o", self.stream, "--format", "svg", "session/trace"),
                ("flame", "-o", "s.txt", "s.txt"),
                ("flame", "-o", "hard.txt", "s.txt"),
                ("flame", "--diff", "-o", "s.txt", "bench.txt", "s.txt"),
                ("diff", "--json", "a.profile", "a.profile", "b.profile"),
                ("diff", "--json", "link", "b.profile", "vs", "a.profile"),
                ("import", "-o", "bench.txt", "bench.txt"),
                ("import", "--json", "../" + self.home.name + "/bench.txt", "bench.txt")):
            with self.subTest(arguments=arguments):
                done = self.run_it(*arguments)
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1),
                                 done.stderr)
                self.assertRegex(done.stderr, "is read: name another|part of the trace that is read")
        self.assertEqual(self.digest(), before)

    def test_beside_a_trace_is_a_good_place(self):
        for _ in range(2): # the second time it is there already
            done = self.run_it("report", "--path", "store.yaml", "-o", "session/report.txt",
                               "--json", "session/report.json", "session")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        for name in ("report.txt", "report.json"):
            (self.home / "session" / name).unlink()

    def test_two_outputs_are_two_files(self):
        for one, other in (("-o", "--json"), ("-o", "--save"), ("--json", "--save")):
            done = self.run_it("report", one, "x", other, f"../{self.home.name}/./x", "a.profile")
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn(f"{one} and {other} name the same file", done.stderr)
        # nothing is lost in /dev/null
        done = self.run_it("report", "-o", "/dev/null", "--json", "/dev/null", "a.profile")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_diff_looks_at_its_output_before_it_works(self):
        for file, status in (("no/x.json", 1), ("session", 1)):
            done = self.run_it("diff", "--json", file, "a.profile", "no-such.profile")
            self.assertEqual((done.returncode, done.stderr.count("\n")), (status, 1))
            self.assertTrue(done.stderr.startswith(f"optrail: {file}: "), done.stderr)

    def test_a_recording_is_not_begun_whose_report_cannot_be_written(self):
        for json, status, words in (("no/x.json", 1, "cannot be written"),
                                    ("store.yaml", 2, "is read: name another file")):
            done = self.run_it("record", "-p", "1", "-d", "0.1", "-o", "recorded", "--json", json,
                               "--path", "store.yaml")
            self.assertEqual((done.returncode, done.stderr.count("\n")), (status, 1), done.stderr)
            self.assertIn(words, done.stderr)
            self.assertFalse((self.home / "recorded").exists())

    def test_a_side_has_each_run_once(self):
        done = self.run_it("diff", "a.profile", "link", "vs", "b.profile")
        self.assertEqual(done.returncode, 2)
        self.assertIn("given twice", done.stderr)
        done = self.run_it("diff", "--path", "store.yaml", "a.profile", "a.profile")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = self.run_it("locks", "a.profile", "./a.profile")
        self.assertEqual(done.returncode, 2)

    def test_a_run_counts_once(self):
        """A copy of a trace or of a profile, and a profile of a trace that is read beside it."""
        shutil.copytree(self.home / "session/trace", self.home / "again")
        self.addCleanup(shutil.rmtree, self.home / "again")
        for names, status, words in (
                (("a.profile", "b.profile"), 2, "b.profile is a copy of a.profile"),
                (("session/trace", "again"), 2, "again is a copy of session/trace"),
                (("again", "a.profile"), 1, "again is of the same run as a.profile")):
            done = self.run_it("report", "--path", "store.yaml", *names)
            self.assertEqual((done.returncode, done.stdout), (status, ""), names)
            self.assertIn(words, done.stderr)
        # one byte is another run, as far as one can tell
        stream = next(path for path in (self.home / "again").rglob("*")
                      if path.is_file() and path.name != "metadata")
        stream.write_bytes(stream.read_bytes() + b"\0")
        done = self.run_it("report", "--path", "store.yaml", "session/trace", "again")
        self.assertNotIn("copy", done.stderr)

    def test_clocks_that_have_nothing_in_common(self):
        """Times since a boot, as eBPF has them, and times of the wall, as LTTng has them."""
        (self.home / "wall.txt").write_text("1796125832.000000000 op.start 1/1 w 2 1\n"
                                            "1796125832.001000000 op.finish 1/1 w 4096 0\n"
                                            "1796125832.001000000 op.end 1/1 w\n")
        subprocess.run([MAKE_TRACE, "wall.txt", "wall"], cwd=self.home, check=True)
        done = self.run_it("report", "--path", "store.yaml", "--save", "wall.profile", "wall")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for names in (("a.profile", "wall.profile"), ("wall.profile", "a.profile"),
                      ("a.profile", "wall"), ("wall.profile", "session/trace")):
            done = self.run_it("report", "--path", "store.yaml", *names)
            self.assertEqual((done.returncode, done.stdout), (1, ""), names)
            self.assertIn("its clock has nothing in common", done.stderr)

    def test_who_wakes_a_thread_is_no_daemon_that_was_recorded(self):
        (self.home / "woken.txt").write_text("+1ms thread.named 99/99 - kworker\n" + STORY)
        subprocess.run([MAKE_TRACE, "woken.txt", "woken"], cwd=self.home, check=True)
        done = self.run_it("report", "--path", "store.yaml", "woken")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("pid 1 ", done.stdout.splitlines()[0].replace(",", " "))

    def test_an_ending_that_no_form_has(self):
        for name in ("x.png", "x.json.bak", "../x.SVG"):
            done = self.run_it("flame", "-o", name, "s.txt")
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1))
            self.assertIn(".svg .collapsed .folded .txt .speedscope.json .json .pb.gz", done.stderr)
            self.assertFalse((self.home / name).exists())
        for options in (("-o", "picture"), ("-o", "x.png", "--format", "svg"), ("-o", "/dev/null")):
            done = self.run_it("flame", *options, "s.txt")
            self.assertEqual((done.returncode, done.stderr), (0, ""), options)
        self.assertIn("<svg", (self.home / "picture").read_text())

    def test_an_empty_name_names_nothing(self):
        for arguments in (("report", "--save=", "a.profile"), ("report", "-o", "", "a.profile"),
                          ("report", "--json=", "a.profile"), ("diff", "--json", "", "a", "b"),
                          ("report", "--path=", "a.profile"), ("scale", ""), ("report", ""),
                          ("import", "bench.txt", ""), ("flame", ""), ("diff", "a.profile", ""),
                          ("locks", ""), ("weave", "")):
            with self.subTest(arguments=arguments):
                done = self.run_it(*arguments)
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1),
                                 done.stderr)
                self.assertRegex(done.stderr, "needs a value|an empty argument names nothing")

    def test_forms_that_imported_evidence_cannot_fill(self):
        for form in ("locks", "perfetto"):
            done = self.run_it("import", "--format", form, "bench.txt")
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1))
            self.assertIn(f"--format {form} cannot be made of imported evidence", done.stderr)

    def test_imported_files_are_told_apart(self):
        (self.home / "other").mkdir()
        shutil.copy(self.home / "bench.txt", self.home / "other" / "bench.txt")
        text = self.run_it("import", "bench.txt", "other/bench.txt").stdout
        self.assertIn("\nother/bench.txt\n", text)
        self.assertIn("\nbench.txt\n", self.run_it("import", self.home / "bench.txt").stdout)
        done = self.run_it("import", "/dev/null")
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stderr.startswith("optrail: /dev/null: nothing in it is known"))


if __name__ == "__main__":
    unittest.main()
