#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`optrail scale` of reports and traces: the lock or queue that is the serial part is named."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

OPTRAIL, MAKE_TRACE = os.environ["OPTRAIL"], os.environ["MAKE_TRACE"]
STORE = pathlib.Path(__file__).resolve().parent.parent / "report" / "store.yaml"
# An op needs 100 us of one lock and 300 us of what is there for all.
SERIAL, REST = 100e3, 300e3


def report(depth, lock=True):
    """What a closed system of that many ops gives, as a report."""
    rate = min(depth / (SERIAL + REST), 1 / SERIAL) * 1e9
    latency = depth / rate * 1e9
    ops, busy = int(10 * rate), rate * SERIAL / 1e9
    stages = [{"name": "store.work", "kind": "work", "total_ns": int(ops * REST)},
              {"name": "store.lock", "kind": "lock", "total_ns": int(ops * (latency - REST))}]
    return {"schema": "optrail.report/1", "source": {"traced_seconds": 10.0},
            "load": {"in_flight": depth},
            "ops": [{"type": "write", "count": ops, "total_ns": int(ops * latency),
                     "unattributed_ns": 0, "stages": stages}],
            "locks": [{"name": "store", "class": "lock", "busy": busy if lock else 0.3},
                      {"name": "room", "class": "throttle", "busy": 1.0}],
            "queues": [{"stage": "opqueue.wait", "busiest": busy if lock else 0.2}]}


class Runs(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.place = pathlib.Path(directory.name)

    def scale(self, *arguments):
        return subprocess.run([OPTRAIL, "scale", *arguments], cwd=self.place, capture_output=True,
                              text=True)

    def write(self, depths, **keywords):
        for depth in depths:
            (self.place / f"{depth}.json").write_text(json.dumps(report(depth, **keywords)))

    def series(self, *arguments):
        done = self.scale("--format", "json", *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)["series"][0]

    def test_the_lock_is_named_with_its_time_an_op(self):
        depths = (1, 2, 4, 8, 16, 32)
        self.write(depths)
        one = self.series(*(f"{depth}.json" for depth in depths))
        self.assertTrue(one["flat"])
        self.assertAlmostEqual(one["serial_ns"]["value"], SERIAL, delta=SERIAL / 100)
        self.assertEqual((one["causes"][0]["kind"], one["causes"][0]["name"]), ("lock", "store"))
        self.assertAlmostEqual(one["causes"][0]["demand_ns"], SERIAL, delta=SERIAL / 100)
        self.assertEqual(one["stages"][0]["name"], "store.lock")
        self.assertAlmostEqual(one["stages"][0]["growth_share"], 1, 2)
        told = " ".join(self.scale(*(f"{depth}.json" for depth in depths)).stdout.split())
        self.assertIn("at depth 32 the lock store is held 100 % of the time, 100 µs an op", told)

    def test_depths_that_are_named_are_taken(self):
        self.write((1, 2))
        one = self.series("10:1.json", "20:2.json")
        self.assertEqual([point["depth"] for point in one["points"]], [10, 20])

    def test_where_nothing_is_busy_nothing_is_blamed(self):
        self.write((1, 2, 4, 8), lock=False)
        done = self.scale(*(f"{depth}.json" for depth in (1, 2, 4, 8)))
        self.assertIn("No lock, queue or CPU", done.stdout)

    def test_a_trace_is_a_run(self):
        story = ("repeat 200\n+1ms op.start 1/1 w 2 1\n+0us opqueue.enqueue 1/1 w\n"
                 "+100us opqueue.dequeue 1/2 w\n+0us journal.submit 1/2 w 1\n"
                 "+400us op.finish 1/3 w 4096 0\n+0us op.end 1/3 w\nend\n")
        (self.place / "story.txt").write_text(story)
        subprocess.run([MAKE_TRACE, "story.txt", "trace"], cwd=self.place, check=True)
        one = self.series("--path", str(STORE), "1:trace")
        self.assertAlmostEqual(one["points"][0]["ops_per_s"], 1e9 / 1.5e6, delta=5)
        self.assertAlmostEqual(one["points"][0]["latency_ns"], 500e3, delta=1)
        # so is its profile, with the same figures; but not beside it
        subprocess.run([OPTRAIL, "report", "--path", STORE, "--save", "profile", "trace"],
                       cwd=self.place, check=True, stdout=subprocess.DEVNULL)
        self.assertEqual(self.series("1:profile")["points"], one["points"])
        done = self.scale("--path", str(STORE), "1:profile", "2:trace")
        self.assertEqual(done.returncode, 1)
        self.assertIn("the same run", done.stderr)

    def test_a_depth_that_is_none(self):
        (self.place / "r.json").write_text(json.dumps(report(1)))
        for depth in ("0", "nan", "1e99"):
            done = self.scale(f"{depth}:r.json")
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1))
            self.assertIn(f"a depth of {depth}", done.stderr)

    def test_a_run_counts_once(self):
        self.write((1, 2))
        (self.place / "copy.json").write_text((self.place / "1.json").read_text())
        (self.place / "link.json").symlink_to("1.json")
        for arguments in (("1:1.json", "1:1.json"), ("1:1.json", "2:1.json"), ("1:1.json", "1.json"),
                          ("2:2.json", "1:1.json", "4:./1.json"), ("1:1.json", "2:link.json")):
            done = self.scale(*arguments)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1))
            self.assertIn("given twice", done.stderr)
        done = self.scale("1:1.json", "2:copy.json")
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1))
        self.assertIn("copy.json is the same run as 1.json", done.stderr)
        # a file may be called so
        (self.place / "8:1.json").write_text((self.place / "2.json").read_text())
        one = self.series("1.json", "8:1.json")
        self.assertEqual([point["depth"] for point in one["points"]], [1, 2])
        done = self.scale("8:-")
        self.assertEqual(done.returncode, 1)
        self.assertIn("standard input is read as a table", done.stderr)

    def test_what_is_no_report(self):
        for text, words in (("{", "no JSON"), ("{}", "no report of optrail's"),
                            ('{"schema": "optrail.report/1"}', "no ops in it"),
                            ('{"schema": "optrail.report/1", "ops": 7, "source": []}', "no ops"),
                            (json.dumps(report(1)).replace('"in_flight": 1', '"in_flight": "x"'),
                             "name the depth")):
            (self.place / "r.json").write_text(text)
            done = self.scale("r.json")
            self.assertEqual((done.returncode, done.stdout), (1, ""), text)
            self.assertIn(words, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
