#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reading and folding in two threads gives what one thread gives, to the byte: of a whole trace, of
two at once, and of one that breaks off."""
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "profile"))
import fleet  # noqa: E402

OPTRAIL, MAKE_TRACE = os.environ["OPTRAIL"], os.environ["MAKE_TRACE"]
OPS = 1500


class Threads(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = pathlib.Path(tempfile.mkdtemp(prefix="optrail-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        for i, name in enumerate(("a", "b")):
            fleet.make(MAKE_TRACE, cls.directory, name,
                       fleet.daemon(random.Random(i), i, OPS, scale=1))
        shutil.copytree(cls.directory / "a", cls.directory / "cut")
        stream = next(one for one in (cls.directory / "cut").iterdir() if one.name != "metadata")
        os.truncate(stream, stream.stat().st_size * 2 // 3)

    def report(self, cpus, *traces):
        """Status, messages and all that is written, with so many CPUs to run on."""
        # babeltrace2 leaks over a trace that breaks off, and ASan tells it with addresses
        leaks = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
        done = subprocess.run(
            [OPTRAIL, "report", "--path", fleet.STORE, "--json", "json", "--save", "profile",
             "--format", "html", "-o", "html", *traces], cwd=self.directory, capture_output=True,
            text=True, env={**os.environ, **(leaks if "cut" in traces else {})},
            preexec_fn=lambda: os.sched_setaffinity(0, cpus))
        files = [(self.directory / name).read_bytes() for name in ("json", "profile", "html")]
        return done.returncode, done.stderr, files

    def test_the_same_to_the_byte(self):
        cpus = os.sched_getaffinity(0)
        if len(cpus) < 2:
            self.skipTest("one CPU: there is one thread in any case")
        for traces in (("a",), ("a", "b"), ("cut",), ("b", "cut")):
            one = self.report({min(cpus)}, *traces)
            self.assertEqual(one[0], "cut" in traces, one[1])
            for _ in range(2):
                self.assertTrue(self.report(cpus, *traces) == one, traces)


if __name__ == "__main__":
    unittest.main()
