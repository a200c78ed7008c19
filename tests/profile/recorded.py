#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`optrail diff` on recorded runs of ministore: a journal that takes twice as long is named, with
what the daemon says was injected, and --fail-if tells by its exit status."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

OPTRAIL, BENCH, BUILD = (os.environ[name] for name in ("OPTRAIL", "BENCH", "BUILD"))
LIMIT = "write.journal.write.mean > +50%"


class Recorded(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix="optrail-test-")
        cls.addClassCleanup(temporary.cleanup)
        cls.directory = pathlib.Path(temporary.name)
        done = subprocess.run([sys.executable, BENCH, BUILD, "--directory", cls.directory, "--same",
                               "1", "--changed", "1", "--sizes", "100", "--ops", "800"],
                              capture_output=True, text=True)
        if done.returncode == 77:
            print(done.stdout, end="")
            sys.exit(77)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        cls.table = [[cell.strip() for cell in line.split("|")[1:-1]]
                     for line in done.stdout.splitlines() if line.startswith("|")][2:]

    def diff(self, size, *arguments):
        runs = sorted(path for path in self.directory.glob(f"{size}-*") if not path.suffix)
        self.assertEqual(len(runs), 6)
        return subprocess.run([OPTRAIL, "diff", *arguments, *runs[0::2], "vs", *runs[1::2]],
                              capture_output=True, text=True)

    def test_twice_as_long_is_named(self):
        done = self.diff(100, "--fail-if", LIMIT, "--format", "json")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("holds", done.stderr)
        diff = json.loads(done.stdout)
        write = next(row for row in diff["types"] if row["type"] == "write")
        self.assertEqual(write["cause"], "journal.write", write["text"])
        change = next(row for row in write["rows"] if row["stage"] == "journal.write")["mean"]
        # what the daemons say of it is what the trace shows
        told = [json.loads(path.read_text())["injected"]
                for path in sorted(self.directory.glob("100-*.json"))]
        injected = 1000 * (sum(told[1::2]) - sum(told[0::2])) / 3
        self.assertAlmostEqual(change["change_ns"] / injected, 1, delta=0.2)

    def test_the_same_is_no_failure(self):
        done = self.diff(0, "--fail-if", LIMIT)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"ok {LIMIT}", done.stdout)

    def test_the_bench_has_a_table_of_it(self):
        self.assertEqual([row[0] for row in self.table], ["0 %"] * 3 + ["100 %"] * 3)
        for row in self.table[3:]:  # one run a side, too, does name it
            self.assertEqual(row[4].split(",")[0], "1 of 1" if row[2] == "3" else "3 of 3", row)


if __name__ == "__main__":
    unittest.main()
