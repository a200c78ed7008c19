#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`optrail import`: evidence as people paste it gets its right reading, with the figures."""
import json
import os
import pathlib
import subprocess
import unittest

OPTRAIL = os.environ["OPTRAIL"]
DATA = pathlib.Path(__file__).resolve().parent / "data"

# Each file: pairs of a cause and words of its reading, in one verdict; then words of notes.
READINGS = {
    "historic-headless.txt": (
        [("stage", "99.9 % of the time of 1 op is filestore.apply"),
         ("stage", "3.68 s between sub_op_committed and sub_op_applied"),
         ("stage", "the journal took 0.446 ms")], ["neither name nor begin is known"]),
    "historic-wrapped-duration.txt": (
        [("stage", "804.4 ms between sub_op_commit_rec and sub_op_commit_rec"),
         ("stage", "which of the peers 9,17 it was is not recorded")], []),
    "historic-hammer-fragment.txt": (
        [("missing", "1.2379 s in all, but the events that survived reach only 6.01 ms")], []),
    "slow-requests.txt": (
        [("stuck", "ages from 30 to 60 s"), ("peer", "waits for osd.1 alone"),
         ("peer", "not the latency of the disk")], []),
    "cluster-log.txt": (
        [("peer", "osd.23 alone"), ("health", "deep scrub runs"),
         ("decay", "falls from 711 to 354 op/s")], []),
    "rados-bench-stall.txt": (
        [("stall", "nothing completes for 23 s at the beginning"),
         ("bandwidth", "bandwidth-bound at 6.267 MB/s"), ("bandwidth", "mean: 28.43 s")],
        ["9999", "from second 52 on no op is begun"]),
    "rados-bench-two.txt": (
        [("disturbed", "2.4 times the throughput"),
         ("disturbed", "depth 16 was disturbed, not saturated")], []),
    "rbd-bench-stalls.txt": (
        [("stall", "13 rows printed for 29 s: 16 s without a row are stalls"),
         ("decay", "falls from 4566 to 483.6 op/s")], ["only the summary is there"]),
    "fio-randread-cut.txt": (
        [("tail", "mean of 15.4 ms is far above the median of 6 ms"), ("tail", "99 %: 85 ms"),
         ("depth", "about 0.98 ops")], ["2 jobs were begun, 1 of them is missing"]),
    "fio-read-write-cut.txt": (
        [("depth", "about 32 ops of 4.1 MiB"), ("depth", "bound by bandwidth")],
        ["percentiles are cut: the last one is 30 %"]),
    "perf-dump.txt": (
        [("average", "op_w takes 762.3 ms on average, of which processing is 24.26 ms"),
         ("average", "op_r takes 0.8382 ms")], ["neither tails nor when"]),
    "osd-perf.txt": (
        [("outlier", "osd.1 (333 / 871 ms, commit / apply) is the outlier, osd.2")], []),
    "perf-tcmalloc.txt": (
        [("allocator", "tcmalloc is 59.6 %"), ("compare", "tcmalloc is 12.5 %"),
         ("compare", "fell by 30 %")], []),
    "osdtrace.txt": ([("stage", "BlueStore is 10.6 of the 10.97 ms")],
                     ["overlap the primary's own and are not added", "rates cannot be told"]),
    "radostrace.txt": (
        [("peer", "osd.5 is in the acting set of 5 of the 6 ops over 400 ms"),
         ("peer", "7 of the 11 ops over 100 ms")], ["rates cannot be told", "not a cause"]),
}


def load(*files, given=None):
    done = subprocess.run([OPTRAIL, "import", "--format", "json", *files], cwd=DATA, input=given,
                          capture_output=True, text=True)
    if (done.returncode, done.stderr) != (0, ""):
        raise AssertionError(f"{files}: {done.returncode} {done.stderr}")
    return json.loads(done.stdout)


def figure(report, name, source=""):
    return next(row["value"] for row in report["figures"]
                if row["name"] == name and source in row["source"])


class Readings(unittest.TestCase):
    def test_each_file_has_its_reading(self):
        self.assertEqual(sorted(READINGS), sorted(path.name for path in DATA.glob("*.txt")))
        for name, (readings, notes) in READINGS.items():
            report = load(name)
            for cause, words in readings:
                with self.subTest(name=name, words=words):
                    self.assertTrue(any(row["cause"] == cause and words in row["text"]
                                        for row in report["verdict"]), report["verdict"])
            for words in notes:
                with self.subTest(name=name, note=words):
                    self.assertTrue(any(words in note for note in report["notes"]),
                                    report["notes"])

    def test_stages_add_up_to_the_latency(self):
        for name in ("historic-headless.txt", "historic-wrapped-duration.txt",
                     "historic-hammer-fragment.txt", "osdtrace.txt"):
            for op in load(name)["ops"]:
                self.assertEqual(sum(stage["total_ns"] for stage in op["stages"]) +
                                 op["unattributed_ns"], op["total_ns"], name)

    def test_what_cannot_be_used_is_counted(self):
        self.assertEqual(load("osdtrace.txt")["counts"]["other"]["rows_unusable"], 3)
        counts = load("historic-wrapped-duration.txt")["counts"]["other"]
        self.assertEqual((counts["wrapped_durations"], counts["events_out_of_order"]), (1, 1))

    def test_figures_have_their_units(self):
        self.assertAlmostEqual(figure(load("perf-dump.txt"), "loadavg"), 2.02)
        rook = load("fio-randread-cut.txt")
        # clat is told in µs, its percentiles in ms
        self.assertAlmostEqual(figure(rook, "complete.mean"), 15.37301e-3)
        self.assertAlmostEqual(figure(rook, "latency.p99"), 85e-3)
        self.assertEqual(figure(load("rbd-bench-stalls.txt"), "seconds.stalled"), 16)

    def test_the_text_is_for_people(self):
        done = subprocess.run([OPTRAIL, "import", "osd-perf.txt"], cwd=DATA, capture_output=True,
                              text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(done.stdout.startswith("imported evidence\n\n  osd-perf.txt: osd.1 "))
        self.assertRegex(done.stdout, r"osd\.1\.apply +871 ms\n")
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 100)

    def test_runs_are_compared(self):
        head = "bench-write io_size 4096 io_threads 16 bytes 1073741824 pattern rand\n" \
               "SEC OPS OPS/SEC BYTES/SEC\n"
        fast = "1 1074 1073.80 3079631\n2 2121 1060.21 3001542\n<...>\n130 68811 529.24 1527681\n"
        slow = "1 838 837.36 2283825\n2 1679 827.66 2309860\n<...>\n130 57944 445.72 1256426\n"
        report = load("-", given=head + fast + head + slow)
        texts = [row["text"] for row in report["verdict"] if row["cause"] == "compare"]
        self.assertEqual(len(texts), 1)
        self.assertIn("445.72 op/s, 15.8 % less than", texts[0])
        # seconds that somebody left out are no stalls
        self.assertFalse([row for row in report["verdict"] if row["cause"] == "stall"])


if __name__ == "__main__":
    unittest.main()
