#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The paths of an unmodified ceph-osd: what is injected must show, in the stage where it belongs.

usage: paths_ceph.py OPTRAIL CLUSTER-SCRIPT CASE
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

OPTRAIL, _, CASE = sys.argv[1:4]
MAPS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../probes/maps/ceph-osd")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../bpf"))
import tracing  # noqa: E402
from ceph_cluster import Cluster, need_ceph  # noqa: E402

MOST_UNATTRIBUTED = 0.02


def attach(cluster, *options):
    pids = ",".join(str(pid) for pid in cluster.pids)
    tracer = tracing.Tracer([OPTRAIL, "attach", "-p", pids, "--format", "json", *options],
                            " probes by ")
    tracing.wait_for("all OSDs to be probed",
                     lambda: tracer.said().count(" probes by ") == len(cluster.pids))
    return tracer


def traced(cluster, load, *options):
    """Runs the load under attach; returns what it returned, and the report."""
    tracer = attach(cluster, *options)
    made = load()
    status, output = tracer.finish()
    assert status == 0, status
    return made, json.loads(output)


def ops(report, name):
    found = [op for op in report["ops"] if op["type"] == name]
    assert len(found) == 1, (name, [op["type"] for op in report["ops"]])
    return found[0]


def counts(report):
    return {op["type"]: op["count"] for op in report["ops"]}


def stage(op, name):
    found = [row for row in op["stages"] if row["name"] == name]
    assert found, (name, [row["name"] for row in op["stages"]])
    return found[0]


def check(report):
    for op in report["ops"]:
        parts = sum(row["total_ns"] for row in op["stages"]) + op["unattributed_ns"]
        assert parts == op["total_ns"], (op["type"], parts, op["total_ns"])
        assert op["unattributed_share"] <= MOST_UNATTRIBUTED, (op["type"], op["unattributed_share"])


# Per-op durations against the daemon's own op tracker

EVENT = re.compile(r"optrail:(\w+): \{ cpu_id = \d+ \}, \{ pid = \d+, tid = (\d+), key = 0x(\w+), "
                   r"\w+ = (\d+), \w+ = (\d+)")


def recorded_durations(trace):
    """(client, transaction) -> ns from its throttle stamp to its commit_sent or done, and to where its
    reply is given to the connection, for each op."""
    text = subprocess.run(["babeltrace2", "--clock-cycles", trace], check=True, capture_output=True,
                          text=True).stdout
    open_ops, answering, marked, replied = {}, {}, {}, {}
    for line in text.splitlines():
        match = EVENT.search(line)
        now = int(re.match(r"\[(\d+)\]", line)[1])
        point, thread, key, arg0, arg1 = match[1], match[2], match[3], int(match[4]), int(match[5])
        if point == "op_throttled":
            open_ops[key] = {"begin": arg0}
        elif point == "op_identify" and key in open_ops:
            open_ops[key]["name"] = (arg0, arg1)
        elif point == "osd_answer" and "name" in open_ops.get(key, {}):
            answering[thread] = open_ops[key]
        elif point == "reply_queued" and thread in answering:
            op = answering.pop(thread)
            replied.setdefault(op["name"], now - op["begin"])
        elif point in ("op_commit_sent", "op_end") and "name" in open_ops.get(key, {}):
            marked.setdefault(open_ops[key]["name"], now - open_ops[key]["begin"])
    return marked, replied


def seconds_of(text):
    """Seconds since midnight of a time of the op tracker's (it tells microseconds)."""
    hours, minutes, seconds = re.search(r"T(\d+):(\d+):([\d.]+)", text).groups()
    return int(hours) * 3600 + int(minutes) * 60 + float(seconds)


def tracker_durations(cluster):
    """The same from dump_historic_ops: to commit_sent of a write, to done of a read."""
    durations = {}
    for op in json.loads(cluster.ceph("osd.0", "dump_historic_ops"))["ops"]:
        data = op["type_data"]
        events = {event["event"]: event["time"] for event in data["events"]}
        if "client_info" not in data:
            continue
        end = events.get("commit_sent") or events.get("done")
        name = (int(data["client_info"]["client"].split(".")[1]), data["client_info"]["tid"])
        durations[name] = (seconds_of(end) - seconds_of(op["initiated_at"])) * 1e9
    return durations


def compare_durations(store):
    with Cluster(store, "osd_op_history_size=500", "osd_op_history_duration=3600") as cluster:
        with tempfile.TemporaryDirectory(prefix="optrail-record-") as directory:
            # what ends an op for its tracker comes after the reply, and tells us nothing more: it is
            # left out of our map, but here it shall be compared
            with open(os.path.join(MAPS, "16.2.15.yaml")) as ours:
                text = ours.read()
            changed = text.replace("commit_sent, done, ", "").replace(
                "      op.started: [started]",
                "      op.started: [started]\n      op.commit_sent: [commit_sent]\n      op.end: [done]")
            assert changed.count("commit_sent") == 2 and changed != text
            os.makedirs(f"{directory}/maps/ceph-osd")
            with open(f"{directory}/maps/ceph-osd/16.2.15.yaml", "w") as file:
                file.write(changed)
            os.environ["OPTRAIL_MAPS"] = f"{directory}/maps"
            tracer = tracing.Tracer([OPTRAIL, "record", "--detail", "deep", "-p", str(cluster.pid), "-o",
                                     f"{directory}/trace"], " probes by ")
            cluster.bench("write", 1, depth=4)
            cluster.bench("rand", 1, depth=4)
            status, _ = tracer.finish()
            assert status == 0, status
            mine, replied = recorded_durations(f"{directory}/trace")
        theirs = tracker_durations(cluster)
    common = mine.keys() & theirs.keys()
    assert len(common) > 200 and len(common) >= 0.99 * len(theirs), (len(mine), len(theirs))
    near = sum(abs(mine[name] - theirs[name]) <= 100_000 for name in common)
    print(f"{store}: {near} of {len(common)} ops within 100 us of the op tracker's")
    far = sorted((mine[name] - theirs[name]) / 1e3 for name in common
                 if abs(mine[name] - theirs[name]) > 100_000)
    # 99 % and more while the OSD has its CPUs to itself: a thread may lose its own between the tracker's
    # look at the clock and the call that we probe
    assert near >= 0.97 * len(common), f"differences in us: {far}"

    # At standard detail the tracker's mark is not probed. It is made behind the reply: the thread that
    # writes replies is awake by then, and may have taken the worker's CPU. So long the tracker's
    # durations are longer, and never shorter.
    both = common & replied.keys()
    assert len(both) >= 0.99 * len(common), (len(both), len(common))
    behind = [theirs[name] - replied[name] for name in both]
    print(f"{store}: the reply was given away at most 100 us before for {sum(ns <= 100_000 for ns in behind)}, "
          f"{sorted(behind)[len(behind) // 2] / 1e3:.1f} us before on the median")
    assert sum(ns >= -100_000 for ns in behind) >= 0.99 * len(both), sorted(behind)[:20]


def case_history_memstore():
    compare_durations("memstore")


def case_history_filestore():
    compare_durations("filestore")


def case_history_bluestore():
    compare_durations("bluestore")


# Replicas


def case_replicas():
    """Three copies: each write is one op of its primary and one of each of two others; a replica
    that is paused is waited for, as long as it was paused."""
    with Cluster("memstore", osds=3, size=3) as cluster:
        made, report = traced(cluster, lambda: cluster.bench("write", 2, depth=8))
        assert counts(report) == {"write": made + 1, "replica write": 2 * (made + 1),
                                  "replica answer": 2 * (made + 1)}, (made, counts(report))
        check(report)

        def paused():
            load = threading.Thread(target=cluster.bench, args=("write", 3), kwargs={"depth": 4})
            load.start()
            time.sleep(1.5)
            os.kill(cluster.pids[2], signal.SIGSTOP)
            began = time.monotonic()
            time.sleep(1)
            os.kill(cluster.pids[2], signal.SIGCONT)
            lasted = time.monotonic() - began
            load.join()
            return lasted

        # of the ops in flight when it stops, one at least was just sent to it
        lasted, report = traced(cluster, paused)
        wait = stage(ops(report, "write"), "replica.wait")["latency_ns"]["max"] / 1e9
        print(f"a replica paused for {lasted:.3f} s: the longest wait is {wait:.3f} s")
        assert 0.9 * lasted <= wait <= 1.1 * lasted, (lasted, wait)


def case_coded():
    """An erasure-coded pool: writes are ops of their own kind, and so are the shards'."""
    with Cluster("memstore", osds=3, size=1) as cluster:
        cluster.ceph("osd", "erasure-code-profile", "set", "two-one", "k=2", "m=1",
                     "crush-failure-domain=osd")
        cluster.ceph("osd", "pool", "create", "coded", "8", "8", "erasure", "two-one")
        tracing.wait_for("the pool", lambda: serves(cluster, "coded"))

        def load():
            wrote = cluster.bench("write", 1, pool="coded", depth=4)
            return wrote, cluster.bench("rand", 1, pool="coded", depth=4)

        (wrote, read), report = traced(cluster, load)
        seen = counts(report)
        print(f"made {wrote} writes and {read} reads, counted {seen}")
        assert seen["coded write"] == wrote + 1, seen
        assert seen["read"] == read + 1, seen
        assert seen["shard write"] >= 2 * (wrote + 1), seen
        # one of them the primary's own
        assert seen["shard read"] == 2 * (read + 1), seen
        assert not any(report["counts"]["incomplete"].values()), report["counts"]
        check(report)


def serves(cluster, pool):
    done = subprocess.run(["timeout", "5", "rados", "-p", pool, "put", "begin", "/dev/null"],
                          env=cluster.environment, capture_output=True)
    return done.returncode == 0


tracing.need_tracing()
need_ceph()
globals()[f"case_{CASE}"]()
print(f"{CASE}: as it should be")
