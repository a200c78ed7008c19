#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`optrail import` of damaged evidence: what is mended reads as if nothing had happened to it."""
import html
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

OPTRAIL = os.environ["OPTRAIL"]
DATA = pathlib.Path(__file__).resolve().parent / "data"


def run(text, *options):
    return subprocess.run([OPTRAIL, "import", "--format", "json", *options, "-"], input=text,
                          capture_output=True)


def read(text):
    done = run(text if isinstance(text, bytes) else text.encode())
    if (done.returncode, done.stderr) != (0, b""):
        raise AssertionError(f"{done.returncode} {done.stderr}")
    return json.loads(done.stdout)


def op(**changes):
    """One op of a dump as of quincy, 0.3 s in the queue of 0.4 s."""
    events = [("initiated", "00.0"), ("reached_pg", "00.3"), ("op_commit", "00.4")]
    fields = {"description": "osd_op(client.7.0:9 1.2 1:2:::o:head [write 0~4096] ondisk+write e5)",
              "initiated_at": "2024-01-01T00:00:00.0+0000", "age": 9.0, "duration": 0.4,
              "type_data": {"flag_point": "commit sent", "events": [
                  {"event": name, "time": f"2024-01-01T00:00:{at}+0000"} for name, at in events]}}
    return {**fields, **changes}


def dump(*ops, **top):
    return {"size": 20, "duration": 600, "ops": list(ops), **top}


class Mended(unittest.TestCase):
    def same(self, changed, name):
        plain = (DATA / name).read_text()
        want, got = read(plain), read(changed(plain))
        self.assertEqual((got["verdict"], got["figures"], got["ops"]),
                         (want["verdict"], want["figures"], want["ops"]))

    def test_quotes_line_ends_and_entities(self):
        for name in ("rados-bench-stall.txt", "historic-wrapped-duration.txt", "cluster-log.txt",
                     "fio-read-write-cut.txt", "perf-dump.txt", "radostrace.txt"):
            with self.subTest(name):
                self.same(lambda text: text.replace("\n", "\r\n"), name)
                self.same(lambda text: "".join(f"> > {line}\n" for line in text.split("\n")), name)
                self.same(html.escape, name)

    def test_decimal_commas_in_tables(self):
        for name in ("rados-bench-two.txt", "rbd-bench-stalls.txt"):
            with self.subTest(name):
                self.same(lambda text: re.sub(r"(\d)\.(\d)", r"\1,\2", text), name)

    def test_log_lines_that_a_mailer_wrapped(self):
        self.same(lambda text: re.sub(r" (?=osd_op|currently|subops)", "\n", text),
                  "slow-requests.txt")

    def test_python_comments_and_trailing_commas(self):
        want = read(json.dumps(dump(op())))
        for text in (repr(dump(op())), json.dumps(dump(op()), indent=1).replace("{", "{ // one\n"),
                     json.dumps(dump(op())).replace("}", ",}"),
                     "here it is:\n" + json.dumps(dump(op())) + "\nany idea?"):
            got = read(text)
            self.assertEqual(got["ops"], want["ops"], text)
        self.assertEqual(want["ops"][0]["stages"][0]["name"], "opqueue.wait")
        self.assertEqual(want["ops"][0]["stages"][0]["total_ns"], 300000000)

    def test_a_dump_that_is_cut_off(self):
        """The ops that are whole count, and it is said that there were more."""
        whole = json.dumps({"ops": [op(), op()]}, indent=1)
        self.assertFalse(any("ends in the middle" in note for note in read(whole)["notes"]))
        for size in (len(whole) - 2, len(whole) - 40, len(whole) * 3 // 4):
            report = read(whole[:size])
            self.assertGreaterEqual(report["ops"][0]["count"], 1)
            self.assertTrue(any("ends in the middle" in note for note in report["notes"]), report["notes"])

    def test_repeated_and_unordered_events(self):
        broken = op()
        broken["type_data"]["events"] = [broken["type_data"]["events"][i] for i in (0, 2, 1, 1)]
        report = read(json.dumps(dump(broken)))
        self.assertEqual(report["ops"], read(json.dumps(dump(op())))["ops"])
        self.assertEqual(report["counts"]["other"]["repeated_events"], 1)
        self.assertEqual(report["counts"]["other"]["events_out_of_order"], 1)

    def test_what_two_dumps_tell_counts_once(self):
        """An OSD that is asked every few seconds tells an op in several dumps."""
        other = op(description=op()["description"].replace(":9 ", ":10 "))
        third = op(description=op()["description"].replace(":9 ", ":11 "))
        both = json.dumps(dump(op(), other)) + json.dumps(dump(other, third))
        report = read(both)
        self.assertEqual((report["ops"][0]["count"], report["counts"]["other"]["ops_told_again"]),
                         (3, 1))
        twice = read(2 * json.dumps(dump(op(), other)))
        self.assertEqual(twice["ops"], read(json.dumps(dump(op(), other)))["ops"])
        self.assertEqual(twice["counts"]["other"]["ops_told_again"], 2)

    def test_a_dump_without_ops_is_none_the_worse(self):
        for text in ('{"num to keep":20,"threshold to keep":10,"Ops":[]}', '{"ops":[],"num_ops":0}',
                     '{"size":20,"duration":600,"ops":[]}'):
            report = read(text)
            self.assertEqual((report["ops"], len(report["verdict"])), ([], 1), text)
            self.assertIn("no ops in it", report["verdict"][0]["text"])

    def test_escapes_are_what_they_stand_for(self):
        broken = op()
        broken["type_data"]["events"][2]["event"] = "op_\u001b[31m\n\u00e9\U0001f600"
        longest = read(json.dumps(dump(broken)).replace("00.3", "00.1"))["verdict"][0]["text"]
        self.assertIn("\u00e9\U0001f600", longest)
        self.assertNotIn("u001b", longest)

    def test_the_layouts_of_all_versions(self):
        """Cuttlefish has events beside the fields, firefly to kraken an array without names."""
        want = read(json.dumps(dump(op())))["ops"]
        events = op()["type_data"]["events"]
        old = {key: value for key, value in op().items() if key not in ("type_data", "initiated_at")}
        old.update(received_at="2024-01-01 00:00:00.0", age="9.0", duration="0.4")
        for layout in ({**old, "flag_point": "started", "events": events},
                       {**old, "type_data": ["started", {"client": "client.7", "tid": 9}, events]}):
            layout = json.loads(json.dumps(layout).replace("T00:00", " 00:00")
                                .replace("+0000", ""))
            self.assertEqual(read(json.dumps({"num to keep": 20, "Ops": [layout]}))["ops"], want)

    def test_undecoded(self):
        report = read(json.dumps(dump(op(description="osd_op(client.7.0:9 1.2 (undecoded) e5)"))))
        self.assertEqual(report["ops"][0]["type"], "undecoded op")


class Stuck(unittest.TestCase):
    def test_peering_is_stuck_and_a_queue_is_slow(self):
        for event, cause in (("waiting for peered", "stuck"), ("waiting for missing object", "stuck"),
                             ("waiting for scrub", "stuck"), ("queued_for_pg", "open")):
            one = op()
            one["type_data"]["events"].append({"event": event,
                                               "time": "2024-01-01T00:00:00.5+0000"})
            report = read(json.dumps(dump(one, num_ops=1)))
            self.assertEqual([row["cause"] for row in report["verdict"]], [cause], event)
            self.assertEqual(report["ops"], [])
            self.assertEqual(report["counts"]["incomplete"]["open"], 1)

    def test_contradictions(self):
        bench = (DATA / "rados-bench-two.txt").read_text().replace("58.8484", "98.8484")
        causes = [row["cause"] for row in read(bench)["verdict"]]
        self.assertIn("contradiction", causes)
        causes = [row["cause"]
                  for row in read((DATA / "rados-bench-two.txt").read_text())["verdict"]]
        self.assertNotIn("contradiction", causes)


class Wrong(unittest.TestCase):
    def test_what_is_none_is_refused(self):
        for text in (b"", b"hello\n", b"{}", b"\0\xff" * 100, b"[" * 100000):
            done = run(text)
            self.assertEqual((done.returncode, done.stdout), (1, b""))
            self.assertIn(b"standard input: nothing in it is known", done.stderr)

    def test_an_op_that_tells_no_times_is_none(self):
        done = run(b'{"ops":[{"description":"osd_op(a)","initiated_at":'
                   b'"2026-01-01 00:00:00.000000","duration":')
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"nothing in it could be used", done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual((report["ops"], report["counts"]["other"]["ops_without_times"]), ([], 1))

    def test_an_op_with_one_event_and_no_duration_has_no_latency(self):
        one = op()
        one["type_data"]["events"] = one["type_data"]["events"][:1]
        for duration in (None, 0, 0.0, -0.25, 4294967295.99, "", "nan", 1e300):
            with self.subTest(duration=duration):
                bad = {**one, "duration": duration}
                if duration is None:
                    del bad["duration"]
                report = read(json.dumps(dump(bad, op())))
                self.assertEqual(report["counts"]["other"]["ops_of_unknown_latency"], 1)
                self.assertEqual(report["ops"], read(json.dumps(dump(op())))["ops"])
                self.assertIn("the time of 1 op is opqueue.wait", report["verdict"][0]["text"])
        # a duration alone, or a second event alone, is enough
        self.assertEqual(read(json.dumps(dump(one)))["ops"][0]["total_ns"], 400000000)
        bad = {**op(), "duration": -0.25}
        report = read(json.dumps(dump(bad)))
        self.assertEqual(report["ops"][0]["total_ns"], 400000000)
        self.assertEqual(report["counts"]["other"], {"wrapped_durations": 1})
        # as Pacific writes it for nearly every op: one event's own duration, beside a sound time
        bad = op()
        bad["type_data"]["events"][1]["duration"] = 4294967295.9999995
        report = read(json.dumps(dump(bad)))
        self.assertEqual(report["ops"], read(json.dumps(dump(op())))["ops"])
        self.assertEqual(report["counts"]["other"], {"wrapped_event_durations": 1})
        done = run(json.dumps(dump(bad)).encode(), "--format", "text")
        self.assertNotIn(b"wrapped around", done.stdout)
        done = run(json.dumps(dump({**one, "duration": 0})).encode(), "--format", "text")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"1 op of unknown latency: one event, and no duration that can be",
                      b" ".join(done.stdout.split()))

    def test_figures_of_fio_that_cannot_be(self):
        head = "job: (groupid=0, jobs=1): err= 0\n  read: IOPS=100, BW=400KiB/s\n"
        for line, impossible in (("lat (usec): min=1, max=9, avg=-5.0", 1),
                                 ("lat (sec): min=1, max=2000000, avg=1.0", 1),
                                 ("clat (msec): max=-1, avg=5.0", 1),
                                 ("lat (msec) : 2=-0.5%, 4=222%", 2),
                                 ("lat (usec): max=9, avg=5.0", 0)):
            with self.subTest(line):
                report = read(head + "    " + line + "\n")
                self.assertEqual(report["counts"]["other"].get("figures_impossible", 0), impossible)
                for row in report["figures"]:
                    self.assertGreaterEqual(row["value"], 0)
        report = read(head + "    lat (usec): min=1, max=9, avg=12.0\n")
        self.assertIn("the mean of latency, 1.2e-05 s, is above the maximum, 9e-06 s.",
                      report["verdict"][0]["text"])
        text = json.dumps({"jobs": [{"jobname": "a", "read": {"iops": 100, "bw": 400, "lat_ns": {
            "mean": "M", "max": 50}, "clat_ns": {"percentile": {"50.0": -3, "99.0": "P", "400": 1}}}}]})
        for mean, percentile, impossible in (("NaN", "Infinity", 4), ("-7", "9", 3), ("40", "1e30", 3)):
            report = read(text.replace('"M"', mean).replace('"P"', percentile))
            self.assertEqual(report["counts"]["other"]["figures_impossible"], impossible)
        for rate in ("-5", "NaN", "1e12"):
            report = read(text.replace('"iops": 100', f'"iops": {rate}').replace('"M"', "40"))
            self.assertNotIn("rate", [row["name"] for row in report["figures"]])
            self.assertIn("figures_impossible", report["counts"]["other"])

    def test_figures_that_cannot_be(self):
        report = read("osd commit_latency(ms) apply_latency(ms)\n0 3 4\n1 333 871\n"
                      "2 -5 99999999999999999999\nnan inf 3\n")
        self.assertEqual(report["counts"]["other"]["rows_unusable"], 2)
        self.assertEqual([row["cause"] for row in report["verdict"]], ["outlier"])
        report = read("iops: 45.1K\nclat percentiles (usec):\n| 1.00th=[ -358], 5.00th=[ 900], "
                      "10.00th=[ 800], 20.00th=[ 99999999999999999999], 500.00th=[ 1]\n")
        self.assertEqual(report["counts"]["other"]["figures_impossible"], 3)
        self.assertIn("contradiction", [row["cause"] for row in report["verdict"]])

    def test_what_is_read_is_not_written_to(self):
        with tempfile.TemporaryDirectory(prefix="optrail-test-") as directory:
            evidence = pathlib.Path(directory) / "bench.txt"
            text = (DATA / "rados-bench-two.txt").read_text()
            evidence.write_text(text)
            for option in ("-o", "--json"):
                done = subprocess.run([OPTRAIL, "import", option, f"{directory}/./bench.txt", evidence],
                                      capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertEqual(evidence.read_text(), text)
            done = subprocess.run([OPTRAIL, "import", evidence, evidence], capture_output=True,
                                  text=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn("given twice", done.stderr)

    def test_wrong_use(self):
        for arguments in ([], ["--from", "tea", "x"]):
            done = subprocess.run([OPTRAIL, "import", *arguments], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, arguments)
        self.assertIn("choose auto, optracker", done.stderr)
        done = run((DATA / "osd-perf.txt").read_bytes(), "--from", "fio")
        self.assertEqual(done.returncode, 1)
        done = subprocess.run([OPTRAIL, "import", str(DATA)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("is a directory", done.stderr)


if __name__ == "__main__":
    unittest.main()
