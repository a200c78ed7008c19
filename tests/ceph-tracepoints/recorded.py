#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""recorded.py OPTRAIL WITH-SESSION EMITTER: a program emits what a Ceph with its own tracepoints
emits, `optrail record --lttng --ceph` records it, and each stage's time in the report lies between what the program
knows: from after one event was emitted until before the next one, and from before until after."""
import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

# what the program tells: the report's type, its stages, and between which of its places they lie
OLD = {"opqueue.wait": ("queued", "taken"), "osd.enqueue": ("dispatch", "queued"),
       "osd.lookup": ("taken", "started")}
KINDS = {
    "write": ("write", {
        "opqueue.wait": ("queued", "taken"), "osd.enqueue": ("dispatch", "queued"),
        "osd.lookup": ("taken", "started"), "osd.prepare": ("prepare", "prepared"),
        "bluestore.aio": ("aio", "kv_queue"), "bluestore.kv_queue": ("kv_queue", "kv_taken"),
        "bluestore.kv_commit": ("kv_taken", "committed")}, ("dispatch", "sent")),
    "old-write": ("write", {**OLD, "osd.prepare": ("prepare", "prepared")}, ("dispatch", "sent")),
    "read": ("read", {**OLD, "store.read": ("reading", "had"), "osd.answer": ("prepared", "left")},
             ("dispatch", "left")),
    "step": ("store write", {"store.step": ("begin", "end")}, ("begin", "end")),
    "call": ("client write", {"client.wait": ("enter", "exit")}, ("enter", "exit")),
    "aio": ("client read", {"client.call": ("enter", "exit"), "client.wait": ("exit", "complete")},
            ("enter", "complete")),
}
BYTES = {"write": 60 * 4096, "read": 50 * 8192, "store write": 50 * 8192, "client write": 50 * 512,
         "client read": 50 * 4096}


def record(optrail, emitter, trace):
    """The truth; runs where a session daemon is."""
    recorder = subprocess.Popen([optrail, "record", "--lttng", "--ceph", "-o", trace],
                                stderr=subprocess.PIPE, text=True)
    first = recorder.stderr.readline()
    assert "LTTng session with" in first, first + recorder.stderr.read()
    # it waits for the session daemon, however busy the machine is
    environment = {**os.environ, "LTTNG_UST_REGISTER_TIMEOUT": "-1"}
    truth = subprocess.run([emitter], capture_output=True, text=True, check=True,
                           env=environment).stdout
    recorder.send_signal(signal.SIGINT)
    said = recorder.communicate(timeout=60)[1]
    assert recorder.returncode == 0, said
    return truth


def bounds(truth):
    """{(type, stage or "latency"): [least, most, ops]} in ns"""
    told = collections.defaultdict(dict)
    for line in truth.splitlines():
        kind, number, place, before, after = line.split()
        told[kind, number][place] = int(before), int(after)
    sums = collections.defaultdict(lambda: [0, 0, 0])
    for (kind, _), places in told.items():
        name, stages, life = KINDS[kind]
        for stage, (begin, end) in {**stages, "latency": life}.items():
            one = sums[name, stage]
            one[0] += places[end][0] - places[begin][1]
            one[1] += places[end][1] - places[begin][0]
            one[2] += 1
    return sums


def check(optrail, trace, truth):
    done = subprocess.run([optrail, "report", "--format", "json", trace], capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    ops = {op["type"]: op for op in report["ops"]}
    for (name, stage), (least, most, count) in bounds(truth).items():
        op = ops[name]
        got = {row["name"]: row["total_ns"] for row in op["stages"]}
        got["latency"] = op["total_ns"]
        assert op["count"] == count or stage not in ("latency",), (name, op["count"], count)
        assert least <= got[stage] <= most, (name, stage, least, got[stage], most)
    # of which 200 us each are waited for at least, and the event tells how long
    throttle = next(row for row in ops["write"]["stages"] if row["name"] == "bluestore.throttle")
    assert throttle["latency_ns"]["count"] == 60 and throttle["total_ns"] >= 60 * 200000, throttle
    assert {name: op["bytes"] for name, op in ops.items()} == BYTES, ops
    counts = report["counts"]
    assert counts["other"]["malformed_events"] == counts["other"]["foreign_events"] == 0, counts
    assert counts["other"]["ceph_events_unmapped"] == counts["unmatched_events"] == 0, counts
    assert counts["lost_events"] == 0 and not any(counts["incomplete"].values()), counts
    print(f"{counts['other']['ceph_events']} events; every stage as it was: {sorted(ops)}")


def main(optrail, with_session, emitter):
    with tempfile.TemporaryDirectory(prefix="optrail-test-") as directory:
        trace = pathlib.Path(directory) / "trace"
        inside = subprocess.run(
            [with_session, "--output", trace.with_name("ours"), "--", sys.executable, __file__,
             "--inside", optrail, emitter, trace], capture_output=True, text=True)
        if "not installed" in inside.stderr:
            print(inside.stderr.strip())
            return 77
        assert inside.returncode == 0, inside.stderr
        check(optrail, trace, inside.stdout)
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "--inside":
        sys.stdout.write(record(*sys.argv[2:5]))
    else:
        sys.exit(main(*sys.argv[1:4]))
