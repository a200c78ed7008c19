#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a Ceph of each era tells when the shipped rules are woven into it becomes a report with stages.

eras.py [--update]: the golden reports are rewritten; look at the difference before it is committed.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from era_events import ERAS, Stamp

HERE = pathlib.Path(__file__).parent
SOURCE = HERE.parent.parent
RULES = SOURCE / "daemon_patches/rules/ceph"
OPS = 60
UPDATE = "--update" in sys.argv


def fixture(events):
    """The text of a trace with the op's events, OPS times."""
    lines = []
    for i in range(OPS):
        begin = 1_000_000_000 + i * 5_000_000
        keys = {"-": "-"} | {name: hex(0x10000 * n + 0x100 * i)
                             for n, name in enumerate("ofsmr", start=1)}
        for time, thread, point, key, *rest in sorted(events, key=lambda event: event[0]):
            arguments = [str(begin + word * 1000) if isinstance(word, Stamp) else
                         keys.get(word, str(word)) for word in rest]
            at = begin + time * 1000
            lines.append(f"{at // 10**9}.{at % 10**9:09} {point} 100/{100 + thread} {keys[key]} "
                         + " ".join(arguments))
    return "\n".join(lines) + "\n"


def points_of_rules():
    """The points that the shipped rules tell."""
    texts = " ".join(file.read_text() for file in RULES.glob("*.yaml"))
    return set(re.findall(r"OPTRAIL(?:_TEXT)?\((\w+)", texts))


class Eras(unittest.TestCase):
    maxDiff = None

    def report(self, name):
        """The era's report: as text, and as JSON."""
        with tempfile.TemporaryDirectory() as directory:
            story = pathlib.Path(directory) / "story.txt"
            story.write_text(fixture(ERAS[name]["events"]))
            subprocess.run([os.environ["MAKE_TRACE"], story, f"{directory}/{name}"], check=True)
            done = subprocess.run([os.environ["OPTRAIL"], "report", "--json", "report.json", name],
                                  cwd=directory, capture_output=True, text=True, check=True,
                                  env=os.environ | {"OPTRAIL_PATHS": str(SOURCE / "analyzers/model/paths")})
            self.assertEqual(done.stderr, "")
            return done.stdout, json.loads((pathlib.Path(directory) / "report.json").read_text())

    def tell(self, name):
        era = ERAS[name]
        text, report = self.report(name)
        points = points_of_rules()
        for event in era["events"]:
            self.assertIn(event[2].replace(".", "_"), points, "no rule tells it")
        self.assertEqual([op["type"] for op in report["ops"]], [era["type"]])
        op = report["ops"][0]
        self.assertEqual(op["count"], OPS)
        stages = {stage["name"]: stage for stage in op["stages"]}
        for stage, wanted in era["stages"].items():
            self.assertIn(stage, stages)
            us, where = (wanted[0], "beside_ns") if isinstance(wanted, tuple) else (wanted, "total_ns")
            self.assertEqual(stages[stage][where], us * 1000 * OPS, stage)
        golden = HERE / "eras" / f"{name}.expect"
        if UPDATE:
            golden.write_text(text)
        self.assertEqual(text, golden.read_text())

    def test_dumpling_waits_for_the_fd_cache(self):
        self.tell("dumpling")

    def test_giant_is_throttled_by_writeback(self):
        self.tell("giant")

    def test_hammer_waits_for_the_memstore(self):
        self.tell("hammer")

    def test_a_read_of_infernalis_waits_for_the_index(self):
        self.tell("infernalis")

    def test_pacific_is_what_the_probe_map_tells(self):
        self.tell("pacific")

    def test_librbd(self):
        self.tell("librbd")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
