#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The exports of a report: each as its golden text has it, and read again by the rules of its form.

UPDATE=1 writes the golden texts: look at the difference before it is committed.
"""
import csv
import io
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
STORIES = HERE.parent / "report" / "stories"
FORMS = ("prometheus", "otlp", "perfetto", "csv")



class Export(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.trace = pathlib.Path(directory.name) / "trace"
        subprocess.run([os.environ["MAKE_TRACE"], STORIES / "normal.txt", cls.trace], check=True)
        cls.forms = {form: cls.export(form) for form in (*FORMS, "json")}
        cls.report = json.loads(cls.forms["json"])
        cls.write = next(op for op in cls.report["ops"] if op["type"] == "write")

    @classmethod
    def export(cls, form):
        done = subprocess.run([os.environ["OPTRAIL"], "report", "--path",
                               HERE.parent / "report" / "store.yaml", "--format", form, cls.trace],
                              check=True, capture_output=True)
        return done.stdout.decode()

    def test_golden(self):
        for form in FORMS:
            file = HERE / f"normal.{form}"
            got = re.sub(r'("exporter":"optrail|"name":"optrail","version":") ?[^"]*"', r'\1"',
                         self.forms[form])
            if os.environ.get("UPDATE"):
                file.write_bytes(got.encode())
            self.assertEqual(file.read_bytes().decode(), got, form)

    def metrics(self):
        """Every line by the grammar of the text format: {(name, labels): value}."""
        values, typed = {}, {}
        for line in self.forms["prometheus"].splitlines():
            if line.startswith("# TYPE "):
                _, _, name, kind = line.split(" ")
                self.assertNotIn(name, typed, "told twice")
                typed[name] = kind
                continue
            if line.startswith("# HELP "):
                continue
            read = re.fullmatch(r'([a-z_]+)(?:\{((?:[a-z]+="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? '
                                r'([0-9.e+-]+)', line)
            self.assertTrue(read, line)
            labels = tuple(re.findall(r'([a-z]+)="((?:[^"\\]|\\.)*)"', read[2] or ""))
            family = re.sub("_(bucket|sum|count)$", "", read[1])
            self.assertTrue(read[1] in typed or typed.get(family) == "histogram", line)
            self.assertFalse((read[1], labels) in values, "told twice: " + line)
            values[read[1], labels] = float(read[3])
        return values

    def test_prometheus(self):
        values = self.metrics()
        buckets = [(float(dict(labels)["le"]), value) for (name, labels), value in values.items()
                   if name.endswith("_bucket") and dict(labels)["type"] == "write"]
        self.assertEqual([bound for bound, _ in buckets], sorted(bound for bound, _ in buckets))
        self.assertEqual([count for _, count in buckets], sorted(count for _, count in buckets))
        self.assertEqual(buckets[-1], (float("inf"), self.write["count"]))
        # 60 writes of 1 ms: between 2^19 and 2^20 ns
        self.assertEqual(dict(buckets)[0.000524287], dict(buckets)[0.000262143])
        self.assertEqual(dict(buckets)[0.001048575], self.write["count"])
        seconds = sum(value for (name, labels), value in values.items()
                      if name == "optrail_stage_seconds_total" and dict(labels)["type"] == "write")
        self.assertAlmostEqual(seconds, self.write["count"] * self.write["latency_ns"]["mean"] / 1e9,
                               places=6)

    def test_otlp(self):
        scope = json.loads(self.forms["otlp"])["resourceSpans"][0]["scopeSpans"][0]
        spans = {span["spanId"]: span for span in scope["spans"]}
        self.assertEqual(len(spans), len(scope["spans"]), "a span id twice")
        roots = [span for span in spans.values() if "parentSpanId" not in span]
        self.assertEqual(len(roots), len(self.report["exemplars"]))
        for span in spans.values():
            self.assertRegex(span["traceId"], "^[0-9a-f]{32}$")
            self.assertRegex(span["spanId"], "^[0-9a-f]{16}$")
            begin, end = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
            self.assertLessEqual(begin, end)
            if "parentSpanId" in span:
                parent = spans[span["parentSpanId"]]
                self.assertEqual(parent["traceId"], span["traceId"])
                self.assertLessEqual(int(parent["startTimeUnixNano"]), begin)
                self.assertGreaterEqual(int(parent["endTimeUnixNano"]), end)
        for exemplar, root in zip(self.report["exemplars"], roots):
            self.assertEqual(exemplar["latency_ns"], int(root["endTimeUnixNano"])
                             - int(root["startTimeUnixNano"]))

    def test_perfetto(self):
        slices = [event for event in json.loads(self.forms["perfetto"])["traceEvents"]
                  if event["ph"] == "X"]
        ops = [event for event in slices if event["cat"] == "op"]
        self.assertEqual(sorted(round(event["dur"] * 1000) for event in ops),
                         sorted(one["latency_ns"] for one in self.report["exemplars"]))
        for event in ops:
            stages = sum(round(one["dur"] * 1000) for one in slices
                         if one["cat"] == "stage" and one["tid"] == event["tid"])
            self.assertLessEqual(stages, round(event["dur"] * 1000))

    def test_csv(self):
        self.assertNotRegex(self.forms["csv"], r"[^\r]\n", "lines end with CRLF")
        rows = list(csv.DictReader(io.StringIO(self.forms["csv"], newline=""), strict=True))
        figures = {(row["table"], row["type"], row["name"], row["figure"]): row["value"]
                   for row in rows}
        self.assertEqual(len(figures), len(rows), "a figure twice")
        self.assertEqual(int(figures["op", "write", "", "count"]), self.write["count"])
        for stage in self.write["stages"]:
            self.assertEqual(int(figures["stage", "write", stage["name"], "total_ns"]),
                             stage["total_ns"])

    def test_the_histogram_and_the_curve(self):
        """They hold every op, and say what the percentiles say."""
        for op in self.report["ops"]:
            self.assertEqual(sum(row["count"] for row in op["histogram"]), op["count"])
            bounds = [row["below_ns"] for row in op["histogram"]]
            self.assertEqual(bounds, sorted(set(bounds)))
            curve = [row["ns"] for row in op["curve"]]
            self.assertEqual(curve, sorted(curve))
            self.assertEqual(curve[-1], op["latency_ns"]["max"])
            if op["count"] > 1:
                self.assertIn({"quantile": 0.5, "ns": op["latency_ns"]["p50"]}, op["curve"])


if __name__ == "__main__":
    unittest.main()
