#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`optrail import`: evidence as people paste it gets its right reading, with the figures."""
import json
import os
import pathlib
import re
import subprocess
import tempfile
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
    "fio-two-populations.txt": (
        [("populations", "30 % take at most 0.676 ms, and from 40 % on it is 1.048 ms")], []),
    "fio-shares.txt": ([("shares", "9.3 % within 1 ms, 43.6 % within 2 ms, 89.3 % within 4 ms")], []),
    "stated-little.txt": (
        [("contradiction", "3063 ops in flight by Little's law, and the depth is 256"),
         ("contradiction", "about 12 such jobs ran at once"), ("contradiction", "about 8.4 such"),
         ("contradiction", "1200 ops in flight")], []),
    "stated-times.txt": (
        [("compare", "read 5000 objects of 4 KiB: messenger two takes 3.142 s on average, 1.41 times "
                     "as fast as messenger one with 4.433 s"),
         ("compare", "messenger two takes 6.59 s on average, 1.64 times as fast")], []),
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
        self.assertEqual((counts["wrapped_event_durations"], counts["events_out_of_order"]), (1, 1))

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

    def assert_says(self, report, cause, words):
        self.assertTrue(any(row["cause"] == cause and words in row["text"]
                            for row in report["verdict"]), report["verdict"])

    def test_fio_json(self):
        report = load("-", given=json.dumps({"fio version": "fio-3.28", "jobs": [{
            "jobname": "randwrite", "read": {"iops": 0.0, "bw": 0},
            "write": {"bw": 4000, "iops": 1000.0, "lat_ns": {"mean": 16e6},
                      "clat_ns": {"percentile": {"50.000000": 9000000, "99.000000": 80000000}}}}]}))
        self.assertAlmostEqual(figure(report, "bandwidth", "randwrite, write"), 4096e3)
        self.assertAlmostEqual(figure(report, "latency.p99"), 80e-3)
        self.assertFalse([row for row in report["figures"] if "read" in row["source"]])
        self.assert_says(report, "tail", "mean of 16 ms is far above the median of 9 ms")
        self.assert_says(report, "depth", "about 16 ops of 4 KiB")

    def test_fio_json_of_version_2_tells_microseconds(self):
        report = load("-", given=json.dumps({"fio version": "fio-2.16", "jobs": [{
            "jobname": "one", "read": {"bw": 400, "iops": 100.0, "lat": {"mean": 10e3},
                                       "clat": {"percentile": {"99.000000": 20000}}}}]}))
        self.assertAlmostEqual(figure(report, "latency.mean"), 10e-3)
        self.assertAlmostEqual(figure(report, "latency.p99"), 20e-3)

    def test_fio_2_text(self):
        report = load("-", given="""\
rand: (g=0): rw=randwrite, bs=4K-4K/4K-4K/4K-4K, ioengine=rbd, iodepth=32
fio-2.1.3
rand: (groupid=0, jobs=1): err= 0: pid=4711: Thu Jan  1 00:00:00 1970
  write: io=1024.0MB, bw=8000.0KB/s, iops=2000, runt=131072msec
    slat (usec): min=2, max=900, avg=10.00, stdev= 5.00
    clat (msec): min=1, max=400, avg=15.99, stdev=10.00
     lat (msec): min=1, max=400, avg=16.00, stdev=10.00
    clat percentiles (msec):
     |  1.00th=[    3], 50.00th=[   15], 99.00th=[   60], 99.99th=[  400]
""")
        self.assertAlmostEqual(figure(report, "submit.mean"), 10e-6)
        self.assertAlmostEqual(figure(report, "latency.p99"), 60e-3)
        self.assertAlmostEqual(figure(report, "bandwidth"), 8192e3)
        self.assert_says(report, "depth", "about 32 ops of 4 KiB")

    def test_osd_perf_json(self):
        report = load("-", given=json.dumps({"osdstats": {"osd_perf_infos": [
            {"id": osd, "perf_stats": {"commit_latency_ms": commit, "apply_latency_ms": commit + 1}}
            for osd, commit in enumerate((3, 300, 5))]}}))
        self.assertAlmostEqual(figure(report, "osd.1.apply"), 301e-3)
        self.assert_says(report, "outlier", "osd.1 (300 / 301 ms, commit / apply)")

    def test_lines_of_journald(self):
        report = load("-", given="".join(
            f"Mar 27 19:02:28 node ceph-osd[4711]: 2023-03-27T19:02:28.337+0000 7f1c2b7fe700  0 "
            f"log_channel(cluster) log [WRN] : slow request {age} seconds old, received at "
            f"2023-03-27T19:01:58.127010+0000: osd_op(client.4757.0:1 3.1a 3.f9c3dd2e (undecoded) "
            f"ondisk+write e12) currently waiting for subops from 1\n"
            for age in ("30.211296", "60.235452")))
        self.assertEqual(figure(report, "slow_requests.distinct"), 1)
        self.assert_says(report, "stuck", "ages from 30 to 60 s")
        self.assert_says(report, "peer", "waits for osd.1 alone")

    def test_a_shortened_listing_has_gaps_and_not_stalls(self):
        head = "bench-write io_size 4096 io_threads 16 bytes 1073741824 pattern rand\n" \
               "SEC OPS OPS/SEC BYTES/SEC\n1 746 745.91 2010904\n2 1549 767.08 2129811\n" \
               "<...>\n123 55623 452.21 1278362\n"
        report = load("-", given=head + "125 56257 450.00 1272748\n")
        self.assertEqual({row["cause"] for row in report["verdict"]}, {"decay"})
        self.assertEqual(figure(report, "seconds.stalled"), 0)
        self.assertTrue(any("121 s are not listed" in note for note in report["notes"]))
        # each row has the same oddity: said once, and no contradiction
        self.assertEqual(len([note for note in report["notes"] if "0.66 to 0.69" in note]), 1)
        # the count of ops stands still across the gap
        report = load("-", given=head + "125 55640 445.12 1258997\n")
        self.assert_says(report, "stall", "in 1 s that have no row the count of ops all but stands")
        # one row alone is odd
        report = load("-", given=head + "125 56257 450.00 272748\n")
        self.assert_says(report, "contradiction", "606 to 2827 an op")

    def test_stalls_at_the_beginning_are_not_told_again(self):
        self.assert_says(load("rados-bench-stall.txt"), "stall",
                         "of the 44 s after the first op 13 complete nothing")

    def test_what_is_no_output_of_a_tool_is_refused(self):
        for given, words in (
                ("#Thr IOPS Latency(ms)\n1 618.80 1.61\n2 1401.70 1.42\n4 3962.73 1.00\n",
                 "`optrail scale` reads that"),
                ("with cache tier: 359 IOPS, latency about 6000 parsecs\n", "nothing in it is known"),
                ("some IOPS, latency about 6 ms\n", "nothing in it is known"),
                ("read 5000 objects of 4 KiB: 4.461581 s\n", "nothing in it is known"),
                ("4: 4.461581 4.5 s\n", "nothing in it is known")):
            done = subprocess.run([OPTRAIL, "import", "-"], input=given, capture_output=True,
                                  text=True)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(words, done.stderr)

    def test_runs_of_fio_are_compared_with_the_same_workload_of_another_file(self):
        fast = (DATA / "fio-two-populations.txt").read_text().replace("45.1K", "47.5K")
        with tempfile.TemporaryDirectory(prefix="optrail-test-") as directory:
            other = pathlib.Path(directory) / "other.txt"
            other.write_text(fast)
            report = load("fio-two-populations.txt", str(other))
            self.assert_says(report, "compare", "other.txt, fio: 47500 op/s, 5.3 % more than "
                                                "fio-two-populations.txt, fio: 45100 op/s.")
            # one kind of op, as steady everywhere
            steady = "".join(f"{share}.00th=[ {620 + 2 * share}], " for share in (1, 5, 10, 20, 30, 40,
                             50, 60, 70, 80, 90, 95, 99))
            other.write_text(f"iops: 45.1K\nclat percentiles (usec):\n| {steady}\n")
            self.assertEqual({row["cause"] for row in load(str(other))["verdict"]}, set())
            # one run's jobs and directions are no two runs
            jobs = [{"jobname": name, "read": {"iops": 100.0, "bw": 400},
                     "write": {"iops": 300.0, "bw": 1200}} for name in ("a", "b")]
            report = load("-", given=json.dumps({"fio version": "fio-3.28", "jobs": jobs}))
            self.assertNotIn("compare", {row["cause"] for row in report["verdict"]})

    def test_a_depth_that_fits_is_no_contradiction(self):
        report = load("-", given="queue depth 64\nplain: 1021 IOPS, latency: 60 ms\n"
                                 "other: 10.5 iops, latency of about 2 s\n")
        self.assertEqual(report["verdict"], [])
        self.assertAlmostEqual(figure(report, "in_flight.mean", "other"), 21)

    def test_two_versions_by_how_many_ops_are_quick(self):
        """As many within 4 ms, about nine of ten; what the newer one gains is below 1 ms."""
        older = (DATA / "fio-shares.txt").read_text()
        newer = ("lat (usec) : 10=0.01%, 250=0.03%\nlat (usec) : 500=0.87%, 750=3.73%, 1000=7.16%\n"
                 "lat (msec) : 2=39.15%, 4=41.48%, 10=7.26%, 20=0.24%, 50=0.07%\n")
        with tempfile.TemporaryDirectory(prefix="optrail-test-") as directory:
            for name, text in (("older.txt", older), ("newer.txt", newer)):
                pathlib.Path(directory, name).write_text(text)
            texts = [row["text"] for row in load(f"{directory}/older.txt", f"{directory}/newer.txt")
                     ["verdict"] if row["cause"] == "shares"]
        self.assertEqual([text.split(": ")[0] for text in texts], ["older.txt, fio", "newer.txt, fio"])
        within = [{bound: float(share) for share, bound in re.findall(r"([\d.]+) % within ([\d.]+) ms",
                                                                      text)} for text in texts]
        self.assertEqual((within[0]["4"], within[1]["4"]), (89.3, 92.4))
        self.assertEqual((within[0]["1"], within[1]["1"]), (9.3, 11.8))
        # below 1 ms it gains a quarter, below 4 ms hardly anything
        self.assertGreater(within[1]["1"] / within[0]["1"], 1.25)
        self.assertLess(within[1]["4"] / within[0]["4"], 1.04)

    def test_the_writeback_throttle_makes_little_difference(self):
        """Without and with it, with one op thread and with two: runs that all decay."""
        runs = {"one-off": (640, 2554, 44190, 337.78), "one-on": (668, 2841, 44570, 342.79),
                "two-off": (839, 3602, 57930, 445.60), "two-on": (822, 3760, 62670, 482.09)}
        with tempfile.TemporaryDirectory(prefix="optrail-test-") as directory:
            files = []
            for name, (first, fifth, last, rate) in runs.items():
                files.append(pathlib.Path(directory, f"{name}.txt"))
                files[-1].write_text(
                    "bench-write io_size 4096 io_threads 16 bytes 1073741824 pattern rand\n"
                    f"SEC OPS OPS/SEC BYTES/SEC\n1 {first} {first:.2f} {2750 * first}\n"
                    f"5 {fifth} {fifth / 5:.2f} {550 * fifth}\n<...>\n"
                    f"130 {last} {rate:.2f} {int(2750 * rate)}\n")
            report = load(*map(str, files))
            texts = [row["text"] for row in report["verdict"] if row["cause"] == "compare"]
            self.assertEqual([text.split(",")[0] for text in texts],
                             ["one-on.txt", "two-off.txt", "two-on.txt"])
            more = [float(re.search(r"([\d.]+) % more than", text)[1]) for text in texts]
            # the second op thread makes more of a difference than the throttle, with either
            self.assertLess(max(more[0], more[2]), 10)
            self.assertGreater(more[1], 25)
            self.assertAlmostEqual(more[0], 0.9, delta=0.1)
            self.assertAlmostEqual(more[2], 8.2, delta=0.1)
            self.assertEqual(len([row for row in report["verdict"] if row["cause"] == "decay"]), 4)

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
