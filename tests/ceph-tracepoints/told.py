#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""told.py OPTRAIL [--update]: traces of Ceph's own tracepoints, whose truth is known to the ns, and
whose reports are in STORY.expect."""
import difflib
import json
import pathlib
import subprocess
import sys
import tempfile

import ceph_trace
import stories

HERE = pathlib.Path(__file__).resolve().parent


def check_truth(story, truth, report):
    ops = {op["type"]: op for op in report["ops"]}
    assert set(ops) == set(truth), (story, set(ops) ^ set(truth))
    for name, stages in truth.items():
        op = ops[name]
        got = {stage["name"]: stage["total_ns"] for stage in op["stages"]}
        latency = round(op["latency_ns"]["mean"] * op["count"])
        got["unattributed"] = latency - sum(got.values())
        want = {**stages}
        assert abs(latency - want.pop("latency")) <= op["count"], (story, name, latency, stages)
        for stage in sorted(set(got) | set(want)):
            slack = op["count"] if stage == "unattributed" else 0  # the mean is rounded
            assert abs(got.get(stage, 0) - want.get(stage, 0)) <= slack, (
                story, name, stage, got.get(stage), want.get(stage))
        print(f"{story}: {op['count']} {name}: as it was")


def main(optrail, update):
    good = True
    with tempfile.TemporaryDirectory(prefix="optrail-test-") as directory:
        for story, tell in stories.STORIES.items():
            trace = ceph_trace.Trace(pathlib.Path(directory) / story)
            truth = tell(trace)
            trace.write()
            done = subprocess.run([optrail, "report", "--json", "report.json", story],
                                  cwd=directory, capture_output=True, text=True)
            text = done.stdout + done.stderr + f"[exit {done.returncode}]\n"
            expected = HERE / f"{story}.expect"
            if update:
                expected.write_text(text)
            difference = list(difflib.unified_diff(
                expected.read_text().splitlines(True), text.splitlines(True), str(expected),
                "what came out"))
            sys.stdout.writelines(difference)
            good = good and not difference
            assert done.returncode == 0, text
            check_truth(story, truth,
                        json.loads((pathlib.Path(directory) / "report.json").read_text()))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:] == ["--update"]))
