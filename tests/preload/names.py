# SPDX-License-Identifier: MIT
"""names.py WITH_SESSION LIBRARY SHOP OPTRAIL OTHER: the stacks that the preloaded library tells of have
names in the report, also of static functions; and none when the program is another one by then."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

WITH_SESSION, LIBRARY, SHOP, OPTRAIL, OTHER = sys.argv[1:6]


class Names(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="optrail-test-")
        self.addCleanup(place.cleanup)
        self.program = os.path.join(place.name, "shop")
        self.trace = os.path.join(place.name, "trace")
        shutil.copy(SHOP, self.program)
        done = subprocess.run([WITH_SESSION, "--output", self.trace, "--", "env",
                               f"LD_PRELOAD={LIBRARY}", self.program],
                              capture_output=True, text=True)
        if "not installed" in done.stderr:
            print(done.stderr.strip())
            sys.exit(77)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def report(self):
        done = subprocess.run([OPTRAIL, "locks", "--format", "json", self.trace],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        lock = max(report["locks"], key=lambda row: row["wait_total_ns"])
        return lock["name"], lock["sites"][0]["frames"].split(";"), report["counts"]["other"]

    def test_static_functions_have_names(self):
        name, frames, counts = self.report()
        self.assertEqual(name, "mutex in wait_in_line")
        self.assertEqual(frames[:2], ["wait_in_line", "visit_shop"])
        self.assertGreater(counts["frames_named"], 0)
        self.assertEqual(counts["frames_of_other_builds"] + counts["frames_of_missing_files"], 0)

    def test_another_program_lies_there_now(self):
        shutil.copy(OTHER, self.program)
        _, frames, counts = self.report()
        self.assertTrue(all(frame.startswith("shop+0x") for frame in frames[:2]), frames)
        self.assertGreaterEqual(counts["frames_of_other_builds"], 2)

    def test_the_program_is_gone(self):
        os.unlink(self.program)
        _, frames, counts = self.report()
        self.assertTrue(all(frame.startswith("shop+0x") for frame in frames[:2]), frames)
        self.assertGreaterEqual(counts["frames_of_missing_files"], 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
