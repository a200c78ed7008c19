#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A profile that is cut off, damaged, of another version or none at all is one line, and no report."""
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
HERE = pathlib.Path(__file__).resolve().parent


class Damaged(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="optrail-test-"))
        self.addCleanup(shutil.rmtree, self.directory)
        trace = fleet.make(MAKE_TRACE, self.directory, "osd",
                           fleet.daemon(random.Random(2), 0, 12))
        done = self.report("--path", fleet.STORE, "--save", "osd.profile", trace)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.bytes = (self.directory / "osd.profile").read_bytes()

    def report(self, *arguments):
        return subprocess.run([OPTRAIL, "report", *arguments], cwd=self.directory,
                              capture_output=True, text=True)

    def assert_refused(self, content, *words):
        (self.directory / "x.profile").write_bytes(content)
        done = self.report("x.profile")
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1),
                         done.stderr)
        for word in ("x.profile", *words):
            self.assertIn(word, done.stderr)

    def test_prefixes(self):
        size = len(self.bytes)
        lines = [i for i, byte in enumerate(self.bytes) if byte == ord("\n")]
        for cut in (0, 1, 14, 15, 17, 18, lines[1], lines[2] + 1, size // 2, size - 20, size - 1):
            self.assert_refused(self.bytes[:cut])

    def test_a_changed_byte(self):
        for at in (0, 16, 30, len(self.bytes) // 3, len(self.bytes) - 3):
            self.assert_refused(self.bytes[:at] + b"#" + self.bytes[at + 1:])

    def test_another_version(self):
        newer = self.bytes.replace(b"optrail-profile 1\n", b"optrail-profile 2\n", 1)
        self.assert_refused(newer, "version 2", "newer")
        self.assert_refused(self.bytes.replace(b"optrail-profile 1\n", b"optrail-profile\n", 1),
                            "profile")

    def test_something_else(self):
        self.assert_refused(b"\x7fELF and so on", "no profile")
        self.assert_refused(b"optrail-profile 1\n" + bytes(100), "zero byte")

    def test_a_damaged_one_among_sound_ones_is_no_report(self):
        (self.directory / "x.profile").write_bytes(self.bytes[:-5])
        done = self.report("osd.profile", "x.profile")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("x.profile", done.stderr)

    def test_what_is_read_is_neither_counted_twice_nor_written_to(self):
        for arguments in (("osd.profile", "osd.profile"), ("osd", "osd/../osd"),
                          ("-o", "osd.profile", "osd.profile"), ("--save", "osd.profile", "osd.profile"),
                          ("--json", "./osd.profile", "osd.profile")):
            done = self.report(*arguments)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1),
                             arguments)
        self.assertEqual((self.directory / "osd.profile").read_bytes(), self.bytes)

    def test_version_1_stays_readable(self):
        done = self.report(HERE / "v1.profile")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, (HERE / "v1.expect").read_text())


if __name__ == "__main__":
    unittest.main()
