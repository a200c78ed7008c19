#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Merging profiles is exact: the JSON is that of the report of all their traces, to the byte."""
import itertools
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
# fewer where each process takes long to begin
DAEMONS, OPS = 25 if os.environ.get("SANITIZED") else 100, 60


class Merge(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = pathlib.Path(tempfile.mkdtemp(prefix="optrail-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        rng = random.Random(1)
        cls.traces, cls.profiles = [], []
        for number in range(DAEMONS):
            trace = fleet.make(MAKE_TRACE, cls.directory, f"osd{number}",
                               fleet.daemon(rng, number, OPS))
            cls.traces.append(trace)
            cls.profiles.append(f"{trace}.profile")
            cls.run_optrail("--save", f"{trace}.profile", "-o", "/dev/null", trace)

    @classmethod
    def run_optrail(cls, *arguments, path=True):
        options = ["--path", fleet.STORE] if path else []
        done = subprocess.run([OPTRAIL, "report", *options, *arguments], cwd=cls.directory,
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def json(self, *runs, **keywords):
        return self.run_optrail("--format", "json", *runs, **keywords)

    def assert_same(self, one, other):
        if one != other:  # 100 kB of difference would help nobody
            lines = itertools.zip_longest(one.splitlines(), other.splitlines())
            self.fail(next(f"line {n}: {a!r}, and merged: {b!r}"
                           for n, (a, b) in enumerate(lines, 1) if a != b))

    def test_many_profiles_are_the_report_of_their_traces(self):
        of_traces = self.json(*self.traces)
        self.assertIn(f'"ops": {DAEMONS * OPS},', of_traces)
        for part in ('"locks": [\n', '"queues": [\n', '"peers": [\n', '"exemplars": [\n'):
            self.assertIn(part, of_traces)
        # the profiles bring their paths along, and their order is of no matter
        self.assert_same(of_traces, self.json(*self.profiles, path=False))
        self.assert_same(of_traces, self.json(*reversed(self.profiles), path=False))

    def test_profiles_of_profiles_and_traces_among_them(self):
        some = 8
        of_traces = self.json(*self.traces[:some])
        self.run_optrail("--save", "first.profile", "-o", "/dev/null", *self.profiles[:5])
        self.assert_same(of_traces, self.json("first.profile", *self.traces[5:7],
                                              self.profiles[7]))

    def test_a_profile_is_saved_whole_or_not_at_all(self):
        before = (self.directory / self.profiles[0]).read_bytes()
        limited = subprocess.run(
            ["bash", "-c", 'ulimit -f 4; trap "" XFSZ; exec "$@"', "-", OPTRAIL, "report", "--path",
             fleet.STORE, "--save", self.profiles[0], "-o", "/dev/null", self.traces[0]],
            cwd=self.directory, capture_output=True, text=True)
        self.assertEqual(limited.returncode, 1)
        self.assertIn(self.profiles[0], limited.stderr)
        self.assertEqual((self.directory / self.profiles[0]).read_bytes(), before)
        self.assertEqual(list(self.directory.glob("*.new-*")), [])

    def test_where_it_cannot_go_is_wrong_use(self):
        for options in (("--save", "-"), ("--save", "x", "-o", "x"), ("--save", "x", "--json", "x")):
            done = subprocess.run([OPTRAIL, "report", *options, self.traces[0]], cwd=self.directory,
                                  capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)


if __name__ == "__main__":
    unittest.main()
