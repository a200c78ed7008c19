#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The fixture tool writes what the fixture says, and names the line that it does not understand."""
import os
import pathlib
import subprocess
import tempfile
import unittest

MAKE_TRACE = os.environ["MAKE_TRACE"]


class Fixture(unittest.TestCase):
    def make(self, text):
        """The tool's run, and what babeltrace2 reads from the trace."""
        with tempfile.TemporaryDirectory() as directory:
            fixture = pathlib.Path(directory) / "f.txt"
            fixture.write_text(text)
            trace = pathlib.Path(directory) / "trace"
            done = subprocess.run([MAKE_TRACE, "f.txt", trace], cwd=directory, capture_output=True,
                                  text=True)
            read = subprocess.run(["babeltrace2", "--clock-cycles", "--no-delta", trace],
                                  capture_output=True, text=True)
        return done, read

    def test_events_are_written_as_they_stand(self):
        done, read = self.make("1.000000001 op.start 7/8@3 label 2 0x10\n"
                               "+12.5us filestore.sequence 7/9 label 5 sequence\n"
                               "+1s wbthrottle.sync_end 7/9 - label # a comment\n")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(read.stdout.splitlines(), [
            "[00000000001000000001] optrail:op_start: { cpu_id = 3 }, "
            "{ pid = 7, tid = 8, key = 0x5000, type = 2, client = 16 }",
            "[00000000001000012501] optrail:filestore_sequence: { cpu_id = 0 }, "
            "{ pid = 7, tid = 9, key = 0x5000, key2 = 5, kind2 = 2 }",
            "[00000000002000012501] optrail:wbthrottle_sync_end: { cpu_id = 0 }, "
            "{ pid = 7, tid = 9, key = 0x0, object = 20480, arg1 = 0 }"])

    def test_a_text_is_written_as_a_string(self):
        long = "x" * 70000
        done, read = self.make('1.0 lock.named 7/8 lock "lock of the store #1" 3\n'
                               "1.1 stack.define 7/8 1 inner;middle;outer 3\n"
                               "1.2 stack.define 7/8 2\n"
                               f'1.3 stack.define 7/8 3 "{long}" 1\n')
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        fields = [line.split("}, { ")[1] for line in read.stdout.splitlines()]
        self.assertEqual(fields[:3], [
            'pid = 7, tid = 8, key = 0x5000, name = "lock of the store #1", instance = 3 }',
            'pid = 7, tid = 8, key = 0x1, frames = "inner;middle;outer", depth = 3 }',
            'pid = 7, tid = 8, key = 0x2, frames = "", depth = 0 }'])
        self.assertEqual(fields[3].count("x"), 65535 + 1)  # and that of the key

    def test_losses_lie_where_they_happened(self):
        done, read = self.make("1.0 op.start 7/8 a\nlost 7 1.1 1.2\n1.15 op.end 7/8 a\n"
                               "lost 2 1.3 1.4\n1.5 op.end 7/8 a\nlost 1 1.6 1.7\n")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(len(read.stdout.splitlines()), 3)
        warnings = [line for line in read.stderr.splitlines() if "discarded" in line]
        self.assertEqual(len(warnings), 3)
        for warning, words in zip(warnings, ("7 events between [00:00:01.100000000] and "
                                             "[00:00:01.200000000]",
                                             "2 events between [00:00:01.300000000] and "
                                             "[00:00:01.400000000]",
                                             "1 event between [00:00:01.600000000] and "
                                             "[00:00:01.700000000]")):
            self.assertIn(words, warning)

    def test_many_events_make_many_packets(self):
        done, read = self.make("repeat 10000\n+1us op.start 1/1 a\n+1us op.end 1/1 a\nend\n")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(len(read.stdout.splitlines()), 20000)

    def test_what_is_not_understood_is_named_with_its_line(self):
        for text, line, words in (
                ("1.0 op.strt 1/1 a", 1, "op.strt"),
                ("# fine\n\n1.0 op.start one a", 3, "one"),
                ("soon op.start 1/1 a", 1, "soon"),
                ("1.0 op.start 1/1", 1, "needs at least"),
                ("2.0 op.start 1/1 a\n1.0 op.end 1/1 a", 2, "earlier"),
                ("+5h op.start 1/1 a", 1, "+5h"),
                ("1.0 op.start 1/1 9a", 1, "9a"),
                ("1.0 op.start 1/1 a b c d", 1, "too many words"),
                ("lost 0 1 2", 1, "above 0"),
                ("lost 1 2 1", 1, "behind its beginning"),
                ("repeat 2\n+1us op.end 1/1 a", 1, "end"),
                ("repeat 2\n+1us op.end 1/1 a\n+1us nothing 1/1 a\nend", 3, "nothing")):
            done, _ = self.make(text + "\n")
            self.assertEqual(done.returncode, 1, text)
            self.assertTrue(done.stderr.startswith(f"make-trace: f.txt:{line}: "), done.stderr)
            self.assertIn(words, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
