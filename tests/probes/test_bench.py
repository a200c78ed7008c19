#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_bench.py PROGRAM: the probe bench measures every row, or says why it could not."""
import json
import os
import subprocess
import sys


def run(*command, **environment):
    return subprocess.run(command, text=True, capture_output=True, env={**os.environ, **environment})


def main(program):
    done = run(program, "--rounds", "3", "--json", "-")
    assert done.returncode == 0 and done.stderr == "", done
    result = json.loads(done.stdout)
    assert result["schema"] == "optrail.bench.probes/1"
    rows = {row["name"]: row for row in result["rows"]}
    for row in rows.values():
        if row["measured"]:
            assert 0 < row["ns"]["p10"] <= row["ns"]["median"] <= row["ns"]["p90"], row
            assert row["calls"] > 0 and row["ratio_to_empty_call"]["median"] > 0, row
        else:
            assert row["reason"], row
    # what needs neither root nor any tracer
    assert rows["empty_call"]["measured"] and rows["probe_disabled"]["measured"]

    # without LTTng's tools everything else is still measured, and the table says what is missing
    without = run(program, "--rounds", "3", PATH="/nonexistent")
    assert without.returncode == 0, without
    assert "not measured: lttng-sessiond is not installed" in without.stdout, without.stdout

    for wrong in (["--rounds", "0"], ["--rounds", "1000"], ["extra"], ["--nonsense"]):
        assert run(program, *wrong).returncode == 2, wrong
    full = run(program, "--rounds", "3", "--json", "/dev/full", PATH="/nonexistent")
    assert full.returncode == 1 and "cannot write" in full.stderr, full

    missing = {name: row["reason"] for name, row in rows.items() if not row["measured"]}
    if missing:
        print(f"not measured here: {missing}")
        sys.exit(77)
    print("every row was measured")


if __name__ == "__main__":
    main(*sys.argv[1:])
