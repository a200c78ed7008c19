#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`optrail import` of what cannot be, of texts that are none, and of large ones: nothing impossible is
shown, all of it is counted, and what is said is true of what is there."""
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

OPTRAIL = os.environ["OPTRAIL"]
DATA = pathlib.Path(__file__).resolve().parent / "data"


def run(text, form="json"):
    return subprocess.run([OPTRAIL, "import", "--format", form, "-"],
                          input=text if isinstance(text, bytes) else text.encode(),
                          capture_output=True)


def read(text):
    done = run(text)
    if (done.returncode, done.stderr) != (0, b""):
        raise AssertionError(f"{done.returncode} {done.stderr}")
    return json.loads(done.stdout)


def figures(report):
    return {row["name"]: row["value"] for row in report["figures"]}


def impossible(report):
    return report["counts"]["other"].get("figures_impossible", 0)


def op(operations, tid=9, kind="osd_op"):
    return {"description": f"{kind}(client.7.0:{tid} 1.2 1:2:::o:head {operations} ondisk e5)",
            "initiated_at": "2024-01-01T00:00:00.0+0000", "age": 9.0, "duration": 0.4,
            "type_data": {"events": [
                {"event": name, "time": f"2024-01-01T00:00:{at}+0000"}
                for name, at in (("initiated", "00.0"), ("reached_pg", "00.3"), ("op_commit", "00.4"))]}}


def dump(*ops, **top):
    return json.dumps({"size": 20, "duration": 600, "ops": list(ops), **top})


class Sizes(unittest.TestCase):
    def test_the_size_of_an_op_is_that_of_its_operations(self):
        for operations, size in (
                ("[write 0~4096]", 4096), ("[read 0~4096 [fadvise_dontneed]]", 4096),
                ("[write 4096~512 in=512b,write 0~1024] snapc 4=[4,3]", 1536),
                ("[set-alloc-hint object_size 4194304 write_size 4194304,writefull 0~8192]", 8192),
                ("[sparse-read 0~65536]", 65536), ("[append 0~7,omap-set 0~99]", 7), ("[stat]", 0)):
            with self.subTest(operations):
                report = read(dump(op(operations)))
                self.assertEqual(report["ops"][0]["bytes"], size)
                self.assertEqual(report["notes"], [])
        text = run(dump(op("[write 0~4096]"), op("[write 0~4096]")), "text").stdout.decode()
        self.assertRegex(text, r"\nwrite   4\.0 KiB +mean 400 ms ")

    def test_an_object_s_name_is_no_operation(self):
        for name in ("o [write 0~99]", "o [write 0~99] x", "append [delete", "[write", "o]", "o [x]]"):
            with self.subTest(name):
                one = op("[read 0~4096 [fadvise_dontneed]] snapc 4=[4,3]")
                one["description"] = one["description"].replace(":o:head", f":{name}:head")
                found = read(dump(one))["ops"][0]
                # a bracket that nothing closes could be where the list was cut off
                open_ended = name.count("[") > name.count("]")
                self.assertEqual(found["bytes"], 0 if open_ended and " [" in name else 4096)
                self.assertEqual(found["type"], "write" if name == "append [delete" else "read")
        cut = op("[write 0~4096")
        cut["description"] = cut["description"].replace(":o:head", ":o [write 0~99]:head")
        self.assertEqual(read(dump(cut))["ops"][0]["bytes"], 0)

    def test_no_size_is_none_and_not_zero(self):
        huge = "9" * 40
        for one in (op("+write"), op("[write 0~4096", tid=1), op(f"[write 0~{huge}]"),
                    op("[write 0~-5]"), op("[write 5]"), op("[write 0~4096]", kind="osd_repop"),
                    op("[" + ",".join(["write 0~1099511627776"] * 3) + "]")):
            with self.subTest(one["description"][:90]):
                self.assertEqual(read(dump(one))["ops"][0]["bytes"], 0)
                self.assertNotIn(" B ", run(dump(one), "text").stdout.decode())
        report = read(dump(op("[write 0~4096]"), op("+write", tid=10)))
        self.assertEqual(report["notes"], ["write: the size of 1 of 2 ops is not told; in the mean it "
                                           "counts as none"])

    def test_other_programs_are_not_told_zeros(self):
        told, untold = (run(dump(op(operations)), "csv").stdout.decode()
                        for operations in ("[write 0~4096]", "+write"))
        self.assertIn("op,write,,bytes,4096\r\n", told)
        self.assertIn("op,write,,bytes,\r\n", untold)
        for figures in (told, untold):  # nobody knows them of an import
            self.assertIn("op,write,,failed,\r\n", figures)
            self.assertRegex(figures, r"stage,write,unattributed,tail_share,\r\n")
        told, untold = (run(dump(op(operations)), "prometheus").stdout.decode()
                        for operations in ("[write 0~4096]", "+write"))
        self.assertIn('optrail_op_bytes_total{type="write",path=""} 4096\n', told)
        for name in ("optrail_op_bytes_total", "optrail_op_failed_total", "optrail_observed_seconds"):
            self.assertNotRegex(untold, rf"(?m)^{name}\b")
        self.assertIn("optrail_op_latency_seconds_count", untold)

    def test_radostrace_tells_sizes(self):
        sizes = {row["type"]: row["bytes"] for row in read((DATA / "radostrace.txt").read_text())["ops"]}
        rows = [re.sub(r'"[^"]*"', "", row).split(",")
                for row in (DATA / "radostrace.txt").read_text().split("\n")[1:]]
        self.assertEqual(sizes["client write"], sum(int(row[7]) for row in rows
                                                    if len(row) > 7 and row[6] == "W"))


class Impossible(unittest.TestCase):
    def test_the_age_of_a_slow_request(self):
        line = "slow request {} seconds old, received at x: osd_op(client.1.0:{} 3.1) currently waiting " \
               "for subops from {}\n"
        for age in ("99999999999999999999", "-3", "nan", "inf", "1e300"):
            with self.subTest(age):
                report = read(line.format(age, 1, 3) + line.format("31.5", 2, 3))
                self.assertEqual(impossible(report), 1)
                self.assertEqual(figures(report), {"slow_requests": 2, "slow_requests.distinct": 2,
                                                   "age.min": 31.5, "age.max": 31.5})
                self.assertNotIn("age.max", figures(read(line.format(age, 1, 3))))
        texts = [row["text"] for row in read(line.format(31, 1, "3,4"))["verdict"]]
        self.assertEqual(texts, ["standard input: of 1 slow request that waits for copies 1 waits for "
                                 "osd.3, 0 of them for it alone."])
        report = read(line.format(31, 1, 3) + "pgmap v1: 5 pgs; " + "9" * 400 + " op/s\n")
        self.assertEqual((impossible(report), "rate.max" in figures(report)), (1, False))

    def test_the_averages_of_a_perf_dump(self):
        def text(total="250.0", average="2.5", count=100):
            return f'{{"osd": {{"op_latency": {{"avgcount": {count}, "sum": {total}, ' \
                   f'"avgtime": {average}}}, "op_w": 5}}}}'

        report = read(text())
        self.assertEqual((figures(report)["op_latency.mean"], report["verdict"]), (2.5, []))
        for total, count in (("-5.0", 100), ("NaN", 100), ("Infinity", 100), ("1e300", 100), ("5", -1)):
            with self.subTest(total=total, count=count):
                done = run(text(total, count=count))
                report = json.loads(done.stdout)
                self.assertEqual((impossible(report), report["figures"]), (1, []))
        self.assertEqual(impossible(read(text(average="NaN"))), 1)
        report = read(text(average="9.9"))
        self.assertEqual([(row["cause"], row["text"]) for row in report["verdict"]],
                         [("contradiction", "standard input, osd: op_latency: a sum of 250 s over 100 is "
                                            "2.5 s on average, and it says 9.9 s.")])

    def test_an_op_of_two_hundred_years(self):
        late = op("[write 0~4096]")
        late["type_data"]["events"][-1]["time"] = "2199-01-01T00:00:00.0+0000"
        report = read(dump(late, op("[write 0~4096]")))
        self.assertEqual(impossible(report), 1)
        self.assertEqual(report["ops"], read(dump(op("[write 0~4096]")))["ops"])
        self.assertNotIn("other ", report["verdict"][0]["text"])

    def test_the_summary_of_rados_bench(self):
        plain = (DATA / "rados-bench-two.txt").read_text()
        for key, value in (("Total time run:", "nan"), ("Total writes made:", "1e26"),
                           ("Total time run:", "-1"), ("Average Latency(s):", "inf"),
                           ("Bandwidth (MB/sec):", "1e30")):
            with self.subTest(key=key, value=value):
                report = read(re.sub(re.escape(key) + r"\s+\S+", f"{key} {value}", plain, count=1))
                self.assertEqual(impossible(report), 1)
                for row in report["figures"]:
                    self.assertTrue(0 <= row["value"] < 1e15, row)
        self.assertEqual(impossible(read(plain)), 0)

    def test_osd_perf_in_json(self):
        rows = ", ".join(f'{{"id": {osd}, "perf_stats": {{"commit_latency_ms": {commit}, '
                         f'"apply_latency_ms": 2}}}}' for osd, commit in enumerate((3, -7, "NaN", 1e40)))
        report = read(f'{{"osd_perf_infos": [{rows}]}}')
        self.assertEqual(report["counts"]["other"]["rows_unusable"], 3)
        self.assertEqual(set(figures(report)), {"osd.0.commit", "osd.0.apply"})


class Listings(unittest.TestCase):
    HEAD = "Maintaining 16 concurrent writes of 4194304 bytes for up to 5 seconds or 0 objects\n" \
           "  sec Cur ops   started  finished  avg MB/s  cur MB/s last lat(s)  avg lat(s)\n"

    def rows(self, *rows):
        return self.HEAD + "".join(f"{second} 16 {done + 16} {done} 24 24 0.9 0.9\n"
                                   for second, done in rows)

    def test_a_row_that_is_missing_is_no_stall(self):
        whole = [(0, 0), (1, 6), (2, 17), (3, 33), (4, 49), (5, 63), (6, 80), (7, 95)]
        for gone, words in (((4,), "1 s has no row"), ((3, 4, 5), "3 s have no row")):
            report = read(self.rows(*[row for row in whole if row[0] not in gone]))
            self.assertEqual(figures(report)["seconds.stalled"], 0)
            self.assertEqual(report["verdict"], [])
            across = whole[gone[-1] + 1][1] - whole[gone[0] - 1][1]
            self.assertTrue(any(words in note and f"the counts {across} ops completed across" in note
                                for note in report["notes"]), report["notes"])
        self.assertFalse([note for note in read(self.rows(*whole))["notes"] if "no row" in note])
        # a head that is cut off is no stall either
        report = read(self.rows(*[(second + 50, done + 500) for second, done in whole]))
        self.assertEqual(report["verdict"], [])
        # where the count does not rise, nothing completed
        report = read(self.rows((0, 0), (1, 6), (5, 6), (6, 20), (7, 30)))
        self.assertEqual(figures(report)["seconds.stalled"], 4)
        self.assertIn("nothing completes for 4 s at a stretch", report["verdict"][0]["text"])


class Texts(unittest.TestCase):
    def test_utf_16_is_refused(self):
        text = (DATA / "osd-perf.txt").read_text()
        for encoding, name in (("utf-16", "UTF-16"), ("utf-16-le", "UTF-16LE"),
                               ("utf-16-be", "UTF-16BE"), ("utf-32", "UTF-32")):
            done = run(text.encode(encoding))
            self.assertEqual((done.returncode, done.stdout), (1, b""))
            self.assertEqual(done.stderr.decode(), f"optrail: standard input: is text in {name}: `iconv "
                                                   f"-f {name} -t UTF-8` makes it readable\n")
        # the mark of UTF-8 is none of these
        self.assertEqual(read(text.encode("utf-8-sig"))["figures"], read(text)["figures"])

    def test_errors_name_the_file_as_it_was_given(self):
        with tempfile.TemporaryDirectory(prefix="optrail-test-") as directory:
            other = pathlib.Path(directory) / "other.txt"
            other.write_text("hello\n")
            done = subprocess.run([OPTRAIL, "import", str(other)], capture_output=True, text=True)
            self.assertEqual(done.returncode, 1)
            self.assertTrue(done.stderr.startswith(f"optrail: {other}: nothing in it is known"),
                            done.stderr)

    def test_a_page_says_what_an_import_does_not_know(self):
        page = run(dump(op("[write 0~4096]")), "html").stdout.decode()
        self.assertIn("of imported ops only how long they took is kept, not when", page)
        self.assertNotIn("as the kernel does", page)
        self.assertNotIn("of the slowest 1 %", page)
        text = run(dump(op("[write 0~4096]")), "text").stdout.decode()
        self.assertRegex(text, r"opqueue\.wait +wait +75\.0 %.* -\n")
        self.assertNotIn("0.0 %\n", text)

    def test_a_stretch_has_the_unit_that_fits(self):
        late = {**op("[write 0~4096]"), "duration": 5.0}
        late["type_data"]["events"][-1]["time"] = "2024-01-01T00:00:00.9997+0000"
        self.assertIn("reach only 1.00 s after its begin", read(dump(late))["verdict"][0]["text"])


class Large(unittest.TestCase):
    def test_many_ops_all_count(self):
        """32,000 ops: quadratic reading would take longer than a test may."""
        one = json.dumps(op("[write 0~4096]"))
        many = ",".join(json.dumps(op("[write 0~4096]", tid)) for tid in range(1, 32001))
        report = read(f'{{"size": 20, "ops": [{many}]}}')
        self.assertEqual((report["counts"]["ops"], report["ops"][0]["bytes"]), (32000, 32000 * 4096))
        # each alone in a list, behind the count of all: in flight
        many = ",".join([f"[{one}]"] * 16000)
        report = read(f'{{"ops": [{many}], "num_ops": 16000}}')
        self.assertEqual(report["counts"]["incomplete"]["open"], 16000)
        # lists of events without a head
        events = json.dumps(op("")["type_data"]["events"])
        report = read(f'[{",".join([events] * 16000)}]')
        self.assertEqual(report["counts"]["ops"], 16000)

    def test_many_types_are_counted_together(self):
        report = read(dump(*[op("", kind=f"kind{i}") for i in range(300)]))
        counts = [row["count"] for row in report["ops"]]
        self.assertEqual((len(counts), sum(counts), max(counts)), (256, 300, 45))
        self.assertEqual({row["type"] for row in report["ops"] if row["count"] > 1},
                         {"ops of further types"})


if __name__ == "__main__":
    unittest.main()
