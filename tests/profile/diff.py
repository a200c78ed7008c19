#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`optrail diff`: what was injected is found and named, what was not is not, and the conditions of
--fail-if decide the exit status."""
import json
import os
import pathlib
import random
import shutil
import subprocess
import tempfile
import unittest

import fleet

OPTRAIL = os.environ["OPTRAIL"]
MAKE_TRACE = os.environ["MAKE_TRACE"]
OPS = 1500


class Diff(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = pathlib.Path(tempfile.mkdtemp(prefix="optrail-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        for i, (name, scale) in enumerate((("a1", 1), ("a2", 1), ("a3", 1), ("b1", 1.5), ("b2", 1.5),
                                           ("b3", 1.5))):
            fleet.make(MAKE_TRACE, cls.directory, name,
                       fleet.daemon(random.Random(10 + i), 0, OPS, scale=scale))
            subprocess.run([OPTRAIL, "report", "--path", fleet.STORE, "--save", f"{name}.profile",
                            "-o", "/dev/null", name], cwd=cls.directory, check=True)
        # fewer ops, of another size
        lines = fleet.daemon(random.Random(30), 0, OPS // 3, scale=1).replace(" 4096 0\n",
                                                                             " 65536 0\n")
        fleet.make(MAKE_TRACE, cls.directory, "other", lines)

    def diff(self, *arguments, status=0):
        done = subprocess.run([OPTRAIL, "diff", *arguments], cwd=self.directory,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def json(self, *arguments):
        """The comparison, its types by name, and of the writes their rows by name."""
        done = json.loads(self.diff("--format", "json", *arguments).stdout)
        types = {row["type"]: row for row in done["types"]}
        return done, types, {row["stage"]: row for row in types["write"]["rows"]}

    def test_the_same_but_for_chance(self):
        done, types, _ = self.json("a1.profile", "a2.profile")
        self.assertEqual([row["changed"] for row in done["types"]], [False, False])
        self.assertIn("no difference that this data can show", types["write"]["text"])
        self.assertGreater(done["tests"], 20)

    def test_a_slower_stage_is_named_with_its_size(self):
        for runs in (("a1.profile", "b1.profile"),
                     ("a1.profile", "a2.profile", "a3.profile", "vs", "b1.profile", "b2.profile",
                      "b3.profile")):
            done, types, rows = self.json(*runs)
            self.assertEqual(done["between_runs"], len(runs) > 2)
            self.assertEqual((types["write"]["changed"], types["write"]["cause"]),
                             (True, "replica.wait"))
            self.assertFalse(types["read"]["changed"])
            self.assertRegex(types["write"]["text"], r"slower by .* on average .* What changed most is "
                                                     r"replica\.wait: \+" if len(runs) == 2 else
                             r"(What changed most is|But one of its stages changed,) replica\.wait")
            # the journal's writes, 150 us, take half as long again: the wait for the peers, which
            # answer after them, has it
            change = rows["replica.wait"]["mean"]
            self.assertTrue(change["low_ns"] < 75_000 < change["high_ns"], change)
            self.assertTrue(change["significant"])
            for stage in ("messenger.recv", "opqueue.wait", "reply.send"):
                self.assertFalse(rows[stage]["mean"]["significant"], stage)
            self.assertAlmostEqual(sum(row["mean"]["change_ns"] for name, row in rows.items() if name),
                                   rows[""]["mean"]["change_ns"], delta=10)

    def test_one_run_a_side_does_not_know_what_runs_differ_by(self):
        """A stage that takes 5 us longer all the time: windows of time say that it is no chance, and
        so it is not. But a processor that slept would have done it, too."""
        later = fleet.daemon(random.Random(10), 0, OPS, scale=1, late_us=5)
        fleet.make(MAKE_TRACE, self.directory, "woken", later)
        pair = ("--path", fleet.STORE, "a1", "woken")
        done, types, rows = self.json("--between-runs", "0%", *pair)
        self.assertEqual((done["assumed_part"], done["assumed_ns"]), (0, 0))
        self.assertTrue(rows["reply.send"]["mean"]["significant"], rows["reply.send"])
        self.assertIn("the whole op differs by no more than chance makes it. But one of its stages "
                      "changed, reply.send: +5 µs an op", types["write"]["text"])
        surely = rows["reply.send"]["mean"]
        for between in ((), ("--between-runs", "5 us"), ("--between-runs", "50%")):
            done, types, rows = self.json(*between, *pair)
            self.assertFalse(types["write"]["changed"], types["write"]["text"])
            self.assertLess(rows["reply.send"]["mean"]["low_ns"], surely["low_ns"])
            self.assertGreater(rows["reply.send"]["mean"]["detectable_ns"], 5000)
        self.assertEqual(self.json(*pair)[0]["assumed_ns"], 5000)
        self.assertIn("5.00 µs that runs of the same are taken to differ by",
                      " ".join(self.diff(*pair).stdout.split()))
        # runs that tell by themselves are not told
        done = self.json("a1.profile", "a2.profile", "vs", "a3.profile")[0]
        self.assertEqual((done["assumed_part"], done["assumed_ns"]), (0, 0))

    def test_traces_and_profiles_are_compared_alike(self):
        from_profiles = self.diff("--format", "json", "a1.profile", "b1.profile").stdout
        from_traces = self.diff("--format", "json", "--path", fleet.STORE, "a1", "b1").stdout
        self.assertEqual(from_profiles, from_traces)

    def test_conditions(self):
        slower = ("a1.profile", "b1.profile")
        for condition, status in (("write.mean > +5%", 1), ("write.mean > 40%", 0),
                                  ("write.replica.wait.mean > 20us", 1), ("write.p50<-1%", 0),
                                  ("read.mean > 0%", 0)):
            done = self.diff("--fail-if", condition, *slower, status=status)
            self.assertIn(("FAIL " if status else "ok ") + condition, done.stdout)
            self.assertEqual(done.stderr.count("\n"), status, done.stderr)
        for condition in ("write", "write.p98 > 1%", "write.mean > 5", "write.mean = 5%", "> 5%",
                          "write.mean > x%", "write.mean > 5% or so", ".mean > 1%",
                          "write..mean > 1%"):
            done = self.diff("--fail-if", condition, *slower, status=2)
            self.assertEqual((done.stdout, done.stderr.count("\n")), ("", 1), done.stderr)
            self.assertIn(condition, done.stderr)
        # what cannot be told is a failure, too, and the rest is told all the same
        done = self.diff("--fail-if", "write.nothing.mean > 1%", "--fail-if", "write.mean > 40%",
                         *slower, status=1)
        self.assertIn("no such stage", done.stderr)
        self.assertIn("ok write.mean > 40%", done.stdout)
        both = self.diff("--json", "-", *slower)
        self.assertEqual(json.loads(both.stdout)["schema"], "optrail.diff/1")
        self.assertFalse((self.directory / "-").exists())
        self.assertIn("no side has such ops", self.diff("--fail-if", "erase.mean > 1%", *slower,
                                                        status=1).stderr)

    def test_other_work_is_said(self):
        done, _, _ = self.json("--path", fleet.STORE, "a1", "other")
        warnings = "\n".join(done["warnings"])
        for words in ("another size of ops", "not equally long", "one run a side", "only"):
            self.assertIn(words, warnings)
        done, _, _ = self.json("a1.profile", "a2.profile", "vs", "b1.profile", "b2.profile")
        self.assertNotIn("one run a side", "\n".join(done["warnings"]))

    def test_another_daemon_is_said(self):
        path = (self.directory / "elsewhere.yaml")
        path.write_text(fleet.STORE.read_text().replace("daemon: ", "daemon: other"))
        subprocess.run([OPTRAIL, "report", "--path", path, "--save", "elsewhere.profile", "-o",
                        "/dev/null", "a2"], cwd=self.directory, check=True)
        told = [line for line in self.json("a1.profile", "elsewhere.profile")[0]["warnings"]
                if "another daemon" in line]
        self.assertEqual(len(told), 1)
        self.assertRegex(told[0], r"another daemon: (\w+) before, other\1 after")
        self.assertNotIn("another daemon", self.diff("a1.profile", "a2.profile").stdout)

    def test_a_part_of_a_run_is_not_compared(self):
        shutil.copytree(self.directory / "b1", self.directory / "cut")
        stream = max((path for path in (self.directory / "cut").rglob("*") if path.is_file() and
                      path.name != "metadata"), key=lambda path: path.stat().st_size)
        os.truncate(stream, stream.stat().st_size // 2)
        # babeltrace2 forgets some of its own memory over such a trace
        leaky = os.environ | {"ASAN_OPTIONS": "detect_leaks=0"}
        done = subprocess.run([OPTRAIL, "diff", "--path", fleet.STORE, "a1", "cut"], env=leaky,
                              cwd=self.directory, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual((done.stdout, done.stderr.count("\n")), ("", 1))
        self.assertIn("is cut off", done.stderr)
        self.assertIn("a part of a run is not compared", done.stderr)

    def test_wrong_use(self):
        for runs in (("a1.profile",), ("a1.profile", "vs"), ("vs", "a1.profile", "a2.profile"),
                     ("a1.profile", "a2.profile", "b1.profile"),
                     ("a1.profile", "vs", "b1.profile", "vs", "a1.profile"),
                     ("--format", "xml", "a1.profile", "a2.profile"),
                     *(("--between-runs", amount, "a1.profile", "a2.profile")
                       for amount in ("", "5", "-1%", "1%+", "1%5us", "1 parsec", "nan%"))):
            self.assertEqual(self.diff(*runs, status=2).stderr.count("\n"), 1)
        self.assertIn("none.profile", self.diff("none.profile", "a1.profile", status=1).stderr)


if __name__ == "__main__":
    unittest.main()
