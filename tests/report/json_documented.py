#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/report-json.md lists every key of the report's JSON, and no key that is not there."""
import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def keys(value, prefix=""):
    """Every key as the manual writes it: `ops[].stages[].name`."""
    if isinstance(value, list):
        for entry in value:
            yield from keys(entry, prefix + "[]")
    elif isinstance(value, dict):
        for key, entry in value.items():
            path = f"{prefix}.{key}".lstrip(".")
            yield path
            yield from keys(entry, path)


def nulls(value):
    """Whether there is a null anywhere."""
    if isinstance(value, list):
        return any(map(nulls, value))
    if isinstance(value, dict):
        return any(map(nulls, value.values()))
    return value is None


def main():
    # only the second one has peers, only the third one call sites of locks
    report = [json.loads((HERE / "stories" / f"{story}.json").read_text())
              for story in ("normal", "three-peers", "contended-lock")]
    # no trace has figures: they are of imported evidence
    evidence = HERE.parent / "import" / "data" / "perf-dump.txt"
    report.append(json.loads(subprocess.run(
        [os.environ["OPTRAIL"], "import", "--format", "json", evidence],
        capture_output=True, check=True).stdout))
    manual = (HERE.parent.parent / "docs" / "report-json.md").read_text()
    documented = set(re.findall(r"^\| `([^`]+)` \|", manual, re.M))
    # a trace has no rows of `sources`; the tests of attach look at them
    # and tests/tails looks at those of slow ops, of which no story here has any
    # and tests/ceph-tracepoints at what is counted of Ceph's own
    # and tests/locks-analysis/frame_names.py at frames that are named
    elsewhere = ("sources[]", "tails[]", "populations[]", "stalls[]", "rhythms[]",
                 "counts.other.ceph_", "counts.other.frames_")
    documented = {key for key in documented if not key.startswith(elsewhere)}
    present = {key for one in report for key in keys(one)}
    for key in sorted(present - documented):
        print(f"not in docs/report-json.md: {key}")
    for key in sorted(documented - present):
        print(f"in docs/report-json.md, but not in the report: {key}")
    if nulls(report):
        print("the report has a null")
    return int(present != documented or nulls(report))


if __name__ == "__main__":
    sys.exit(main())
