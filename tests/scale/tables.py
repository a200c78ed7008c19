#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`optrail scale` finds the law that a table was made with, and names the line that is no row."""
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import tempfile
import unittest

OPTRAIL = os.environ["OPTRAIL"]
DEPTHS = (1, 2, 4, 8, 16, 32, 64)

# A memory store on two systems: IOPS and latency at each of the depths. On the first, reads and
# writes alike end at one serial stage of about 133 µs.
MEMSTORE = """First system

Writes
#Thr IOPS Latency(ms)
1 618.80 1.61
2 1401.70 1.42
4 3962.73 1.00
8 7354.37 1.10
16 7654.67 2.10
32 7320.33 4.37
64 7424.27 8.62

Reads
#thr IOPS Latency(ms)
1 837.57 1.19
2 1950.00 1.02
4 6494.03 0.61
8 7243.53 1.10
16 7473.73 2.14
32 7682.80 4.16
64 7727.10 8.28

Second system

Reads
1 4535.63 0.22
2 9969.73 0.20
4 17049.43 0.23
8 19909.70 0.40
16 20320.80 0.79
32 19827.93 1.61
64 22371.17 2.86
"""


def scale(text, *options):
    return subprocess.run([OPTRAIL, "scale", "-", *options], input=text, capture_output=True,
                          text=True)


def figures(text):
    done = scale(text, "--format", "json")
    assert (done.returncode, done.stderr) == (0, ""), done
    return json.loads(done.stdout)


def law(rate1, contention, coherency, depth):
    return rate1 * depth / (1 + contention * (depth - 1) + coherency * depth * (depth - 1))


def table(rate, depths=DEPTHS):
    return "".join(f"{depth} {rate(depth):.4f}\n" for depth in depths)


class Law(unittest.TestCase):
    def assert_near(self, got, wanted, part):
        self.assertLessEqual(abs(got - wanted), part * abs(wanted), (got, wanted))

    def test_the_parameters_that_were_put_in_come_out(self):
        for truth in ((1000, 0.05, 0.0005), (250, 0.2, 0), (4000, 0, 0.002), (90, 0.6, 0.01)):
            one = figures(table(lambda depth: law(*truth, depth)))["series"][0]
            self.assertTrue(one["fitted"])
            self.assert_near(one["rate_at_depth_1"]["value"], truth[0], 0.001)
            self.assertAlmostEqual(one["contention"]["value"], truth[1], 4)
            self.assertAlmostEqual(one["coherency"]["value"], truth[2], 5)

    def test_intervals_hold_the_truth_as_often_as_they_promise(self):
        draw, truth, inside = random.Random(1), (1000, 0.05, 0.0005), 0
        for _ in range(30):
            noisy = table(lambda depth: law(*truth, depth) * draw.lognormvariate(0, 0.03))
            one = figures(noisy)["series"][0]
            inside += one["contention"]["low"] <= truth[1] <= one["contention"]["high"]
        # 95 % are promised; of 30 fewer than 24 would come out once in 600 times
        self.assertGreaterEqual(inside, 24)

    def test_one_bad_row_does_not_bend_the_law(self):
        depths = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
        bad = table(lambda depth: law(1000, 0.05, 0.0005, depth) * (0.6 if depth == 12 else 1),
                    depths)
        one = figures(bad)["series"][0]
        self.assert_near(one["contention"]["value"], 0.05, 0.1)

    def test_a_peak_is_told_with_its_depth(self):
        one = figures(table(lambda depth: law(1000, 0.02, 0.002, depth)))["series"][0]
        self.assert_near(one["peak_depth"], (0.98 / 0.002) ** 0.5, 0.01)
        self.assertFalse(one["flat"])
        self.assertTrue(any("falls beyond it" in text for text in one["sentences"]))

    def test_a_straight_line_has_no_ceiling(self):
        one = figures(table(lambda depth: 100 * depth))["series"][0]
        self.assertFalse(one["flat"])
        self.assertEqual(one["ceiling_ops_per_s"]["value"], 0)
        self.assertTrue(any("No ceiling" in text for text in one["sentences"]))

    def test_the_serial_stage_of_a_memory_store(self):
        answer = figures(MEMSTORE)
        serial = [one["serial_ns"] for one in answer["series"]]
        for figure in serial[:2]:
            self.assert_near(figure["value"], 133e3, 0.02)
            self.assertTrue(figure["low"] < 133e3 < figure["high"])
        self.assert_near(serial[2]["value"], 48.5e3, 0.02)
        self.assertEqual([(one["group"], one["name"]) for one in answer["series"]],
                         [("First system", "Writes"), ("First system", "Reads"),
                          ("Second system", "Reads")])
        self.assertEqual(len(answer["notes"]), 1)
        self.assertIn("one serial stage of 133 µs", answer["notes"][0])
        text = scale(MEMSTORE).stdout
        self.assertIn("stays at 7,470 op/s", text)
        self.assertLessEqual(max(map(len, text.splitlines())), 100)
        # from depth 1 to 4 an op becomes cheaper: no law describes that, and it is said
        self.assertIn("grows faster than depth", text)
        self.assertEqual(answer["series"][0]["fit_from_depth"], 4)

    def test_few_depths_have_no_fit_and_it_is_said(self):
        for rows, words in (("1 10\n", "1 depth: a fit"), ("1 10\n2 19\n4 30\n", "3 depths: a fit"),
                            ("1 10\n1 11\n2 20\n4 30\n", "3 depths: a fit"),
                            ("1 10\n2 900\n4 3\n8 700\n16 9\n32 500\n", "no fit")):
            done = scale(rows)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn(words, " ".join(done.stdout.split()))
            self.assertFalse(figures(rows)["series"][0]["fitted"])


class Littles(unittest.TestCase):
    def sentence(self, text):
        return " ".join(figures(text)["series"][0]["sentences"])

    def test_figures_that_obey_it(self):
        text = "depth iops latency(us)\n" + "".join(
            f"{depth},{depth / 0.002:.1f},2000\n" for depth in DEPTHS)
        self.assertIn("Little's law holds", self.sentence(text))

    def test_latency_that_is_too_long_for_the_depth(self):
        told = self.sentence("depth iops lat(ms)\n256 1021 3000\n")
        self.assertIn("contradict Little's law", told)
        self.assertIn("3,060 ops in flight", told)
        self.assertIn("about 12.0 such loads", told)

    def test_a_wrong_unit_is_recognised(self):
        rows = "".join(f"{depth} {depth / 0.002:.1f} {{}}\n" for depth in DEPTHS)
        self.assertIn("smaller than the table says", self.sentence(rows.replace("{}", "2000")))
        self.assertIn("larger than the table says",
                      self.sentence("n rate lat(us)\n" + rows.replace("{}", "2")))

    def test_rounding_is_no_contradiction(self):
        self.assertIn("holds", self.sentence("1 4535 0.2\n2 9969 0.2\n"))


class Tables(unittest.TestCase):
    def test_forms_of_tables(self):
        for text in ("1,10,100\n2,19,105\n", "1\t10\t100\n2\t19\t105\n", "1;10;100\n2;19;105\n",
                     "| depth | op/s | latency (ms) |\n|---|---|---|\n| 1 | 10 | 100 |\n| 2 | 19 | 105 |\n",
                     "|depth|op/s|latency (ms)|errors, retries|\n|:--|--:|:-:|---|\n|1|10|100|1,200|\n"
                     "| 2 | 19 | 105 | 7; or 8 |\n",
                     '"iops","depth","lat_ms"\n"10","1","100"\n"19","2","105"\r\n',
                     "# by hand\n\n# depth ops/s latency(s)\n2 19 0.105\n1 10 .1\n",
                     "\ufeffthreads,IOPS,latency (usec),errors\n1,10,100000,0\n2,19,105000,3\n",
                     'iops,depth,"latency (s)"\n"10",1,"0.1"\n19,2,0.105\n',
                     "depth iops latency (usec)\n1 10 100000\n2 19 105000\n"):
            points = figures(text)["series"][0]["points"]
            self.assertEqual([(point["depth"], point["ops_per_s"], point["latency_ns"])
                              for point in points], [(1, 10, 100e6), (2, 19, 105e6)], text)

    def test_what_is_no_row_is_named_with_its_line(self):
        for text, line, words in (
                ("1 10\n2 x\n", 2, "'x' is no number"), ("1 10\n2\n", 2, "needs a depth and a rate"),
                ("1 10\n0 20\n", 2, "depth of 0"), ("1 -5\n", 1, "rate of -5"),
                ("1 10 0\n", 1, "latency of 0"), ("1 1e999\n", 1, "no number"),
                ("1 nan\n", 1, "'nan' is no number"), ("1 0x10\n", 1, "no number"),
                ("1 1e13\n", 1, "below 1e12"), ("1 1e-300\n", 1, "above 0.000001"),
                ("1 10 20 7\n", 1, "more fields"), ('1,"1,200",10\n', 1, "'1,200' is no number"),
                ("| depth | iops |\n|---|---|\n| 1 | 1,200 |\n", 3, "'1,200' is no number"),
                ("| 1,200 | 5 |\n", 1, "'1,200' is no number"), ("| | 5 |\n", 1, "'' is no number"),
                ("| 1 |\n", 1, "needs a depth and a rate"),
                ("depth,iops,lat(parsec)\n1,1,1\n", 1, "unit of the latency"), ("1 10\0\n", 1, "no text"),
                ("1 " + "9" * 5000 + "\n", 1, "4,095"), ("1 10 1,5x\n", 1, "is no number"),
                ("".join(f"s{i}\n1 1\n" for i in range(65)), 130, "more than 64 series"),
                ("1 1\n" * 4097, 4097, "4,096 rows")):
            done = scale(text)
            self.assertEqual((done.returncode, done.stdout), (1, ""), text[:80])
            self.assertEqual(done.stderr.count("\n"), 1)
            self.assertIn(f"standard input:{line}: ", done.stderr)
            self.assertIn(words, done.stderr)

    def test_what_has_no_end_is_told_at_once(self):
        for command, words in (("cat /dev/zero", ":1: no text"), ("cat /dev/zero | tr '\\0' 1", "4,095 bytes"),
                               ("yes '# a comment'", "more than 16 MiB"), ("yes 1 10", "4,096 rows")):
            with subprocess.Popen(["bash", "-c", command], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, start_new_session=True) as endless:
                try:
                    done = subprocess.run([OPTRAIL, "scale", "-"], stdin=endless.stdout,
                                          capture_output=True, text=True, timeout=60)
                finally:
                    endless.stdout.close()
                    os.killpg(endless.pid, signal.SIGKILL)
            self.assertEqual((done.returncode, done.stdout), (1, ""), command)
            self.assertIn(words, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)
        done = subprocess.run([OPTRAIL, "scale", "/dev/zero"], capture_output=True, text=True,
                              timeout=60)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("/dev/zero:1: no text", done.stderr)

    def test_no_rows_at_all(self):
        for text in ("", "\n\n", "# nothing\n", "only words\nand more\n"):
            done = scale(text)
            self.assertEqual(done.returncode, 1)
            self.assertIn("no row in it", done.stderr)

    def test_every_prefix_of_a_table_is_answered_in_a_line_or_a_report(self):
        whole = MEMSTORE[:220]
        for length in range(0, len(whole), 7):
            done = scale(whole[:length])
            self.assertIn(done.returncode, (0, 1), done)
            self.assertEqual(done.stderr.count("\n"), done.returncode)

    def test_damaged_tables_do_no_harm(self):
        draw = random.Random(2)
        for _ in range(40):
            damaged = bytearray(MEMSTORE.encode())
            for _ in range(draw.randrange(1, 12)):
                damaged[draw.randrange(len(damaged))] = draw.randrange(256)
            done = subprocess.run([OPTRAIL, "scale", "-"], input=bytes(damaged),
                                  capture_output=True)
            self.assertIn(done.returncode, (0, 1))
            self.assertEqual(done.stderr.count(b"\n"), done.returncode)

    def test_wrong_use(self):
        done = scale("1 1\n", "--format", "svg")
        self.assertEqual(done.returncode, 2)
        done = subprocess.run([OPTRAIL, "scale"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        with tempfile.TemporaryDirectory() as directory:
            place = pathlib.Path(directory)
            (place / "t").write_text("1 1\n")
            for argument, words in ((f"8:{place}/t", "no report"), (f"{place}/none", "No such")):
                done = subprocess.run([OPTRAIL, "scale", argument], capture_output=True, text=True)
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr, re.escape(words))


if __name__ == "__main__":
    unittest.main()
