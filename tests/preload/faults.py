# SPDX-License-Identifier: MIT
"""faults.py WITH_SESSION LIBRARY LOCK_FAULTS: each job of lock_faults comes out as with libc alone:
preloaded without a session, and in a session that records every wait."""

import collections
import glob
import json
import os
import subprocess
import sys
import tempfile
import unittest

WITH_SESSION, LIBRARY, PROGRAM = sys.argv[1:4]
JOBS = ("early allocators kinds forks signals cancels conditions loading small_stacks ends "
        "many_locks").split()
PRELOADED = ("env", f"LD_PRELOAD={LIBRARY}", "OPTRAIL_LOCK_THRESHOLD=0")


class Faults(unittest.TestCase):
    def run_job(self, *command):
        done = subprocess.run(command, capture_output=True, text=True)
        if "not installed" in done.stderr:
            print(done.stderr.strip())
            sys.exit(77)
        self.assertEqual((done.returncode, done.stderr, done.stdout), (0, "", ""), command)

    def test_as_with_libc_alone(self):
        for job in JOBS:
            with self.subTest(job, preloaded=False):
                self.run_job(PROGRAM, job)

    def test_nobody_listens(self):
        for job in JOBS:
            with self.subTest(job):
                self.run_job(*PRELOADED, PROGRAM, job)

    def test_every_wait_is_recorded(self):
        """All in one session; how many waits there were shows that it was one."""
        each = " && ".join(f'"$@" {job}' for job in JOBS)
        with tempfile.TemporaryDirectory(prefix="optrail-test-") as directory:
            counts = os.path.join(directory, "counts")
            self.run_job(WITH_SESSION, "--output", os.path.join(directory, "trace"), "--",
                         "sh", "-c", f"{each} || exit 1", "sh", *PRELOADED,
                         f"OPTRAIL_LOCK_STATS={counts}", PROGRAM)
            total = collections.Counter()
            for path in glob.glob(counts + ".*"):
                with open(path, encoding="utf-8") as file:
                    total.update(json.load(file))
        print(dict(total))
        self.assertGreater(total["waits"], 200)
        self.assertGreater(total["stacks_on_other_stacks"], 10)

    def test_a_threshold_that_is_none_is_told(self):
        for threshold in "abc", "-5", "10 us", "":
            with self.subTest(threshold):
                done = subprocess.run([*PRELOADED[:2], f"OPTRAIL_LOCK_THRESHOLD={threshold}",
                                       "true"], capture_output=True, text=True)
                self.assertEqual(done.returncode, 0)
                self.assertRegex(done.stderr, f"^optrail: .*'{threshold}' is no time.*10us.*\n$")

    def test_without_a_provider(self):
        self.run_job("env", "OPTRAIL_PROVIDER=off", *PRELOADED[1:], PROGRAM, "signals")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
