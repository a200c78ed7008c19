#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ops of other kinds on an unmodified ceph-osd: scrub, recovery, a cache pool, class methods, ops that
are parked and why.

usage: types_ceph.py OPTRAIL CLUSTER-SCRIPT CASE
"""
import json
import os
import signal
import subprocess
import sys
import threading
import time

OPTRAIL, _, CASE = sys.argv[1:4]
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../bpf"))
import tracing  # noqa: E402
from ceph_cluster import Cluster, need_ceph  # noqa: E402


class Attached:
    """What optrail tells of some OSDs while the block runs."""

    def __init__(self, cluster, *options, verb="attach", output=("--format", "json")):
        pids = ",".join(str(pid) for pid in cluster.pids)
        self.tracer = tracing.Tracer([OPTRAIL, verb, "-p", pids, *output, *options], " probes by ")
        tracing.wait_for("all OSDs to be probed",
                         lambda: self.tracer.said().count(" probes by ") == len(cluster.pids))

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        status, output = self.tracer.finish()
        if kind:
            return
        assert status == 0, status
        self.report = json.loads(output) if output else None

    def counts(self):
        return {op["type"]: op["count"] for op in self.report["ops"]}

    def op(self, name):
        found = [op for op in self.report["ops"] if op["type"] == name]
        assert found, (name, self.counts())
        return found[0]

    def stage(self, name, stage):
        found = [row for row in self.op(name)["stages"] if row["name"] == stage]
        assert found and found[0]["count"], (name, stage, self.op(name)["stages"])
        return found[0]

    def check(self):
        """Each op's stages are its time, and nothing was lost or left open."""
        counts = self.report["counts"]
        for op in self.report["ops"]:
            parts = sum(row["total_ns"] for row in op["stages"]) + op["unattributed_ns"]
            assert parts == op["total_ns"], op["type"]
        assert counts["lost_events"] == 0, counts
        assert counts["incomplete"]["key_reused"] == counts["incomplete"]["evicted"] == 0, counts


def put(cluster, pool, names):
    for name in names:
        cluster.rados(pool, "put", name, cluster.environment["CEPH_CONF"])


def scrubbed(cluster, groups):
    """How many of the groups the OSDs say in their logs that they have scrubbed."""
    done = set()
    for number in range(len(cluster.pids)):
        with open(f"{cluster.directory}/log/osd.{number}.log", errors="replace") as file:
            done |= {group for line in file for group in groups if f" {group} " in line and
                     "scrub ok" in line}
    return len(done)


def case_background():
    """Two copies: groups are scrubbed; one OSD ends and comes back, its objects are recovered, and
    ops on them are parked until they are."""
    options = ("osd_scrub_load_threshold=1000", "osd_scrub_backoff_ratio=0", "osd_scrub_sleep=0",
               "osd_max_scrubs=4", "osd_scrub_interval_randomize_ratio=0")
    with Cluster("memstore", *options, osds=2, size=2) as cluster:
        put(cluster, "bench", [f"object-{i}" for i in range(4)])
        groups = [f"1.{i:x}" for i in range(4)]
        with Attached(cluster) as scrub:
            for group in groups:
                cluster.ceph("tell", group, "scrub")
            tracing.wait_for("the groups to be scrubbed",
                             lambda: scrubbed(cluster, groups) == len(groups))
        scrub.check()
        counts = scrub.counts()
        print(counts, scrub.report["counts"])
        assert counts["scrub chunk"] >= len(groups), counts
        assert counts["scrub request"] == counts["scrub map"] == counts["scrub chunk"], counts
        assert counts["scrub reservation"] >= 2 * len(groups), counts
        for stage in ("scrub.writes", "scrub.maps", "scrub.compare"):
            assert scrub.stage("scrub chunk", stage)["count"] == counts["scrub chunk"], stage

        restart(cluster)


def restart(cluster):
    """What was written while osd.1 was away is missing there when it is back, and nobody recovers it
    but for an op that asks for it: each write of it is parked once, by what it misses."""
    os.kill(cluster.pids[1], signal.SIGKILL)
    cluster.ceph("osd", "set", "norecover")
    cluster.ceph("osd", "down", "1")
    names = [f"object-{i}" for i in range(12)]
    put(cluster, "bench", names)
    subprocess.run(["sh", "-c", "setsid ceph-osd -f -i 1 -c $CEPH_CONF </dev/null >/dev/null 2>&1 & "
                    "echo $! >$0/run/osd.1.pid", cluster.directory], env=cluster.environment,
                   check=True)
    cluster.pids[1] = cluster.pid_of("osd.1")
    tracing.wait_for("osd.1", lambda: "osd.1 up" in cluster.ceph("osd", "dump"))
    with Attached(cluster) as recovery:
        put(cluster, "bench", names)
    recovery.check()
    counts = recovery.counts()
    print(counts, recovery.report["counts"])
    recovered = recovery.stage("recovered object", "recovery.object")
    assert recovered["count"] == len(names), counts
    parked = {row["name"]: row["count"] for row in recovery.op("write")["stages"]
              if row["name"].startswith("parked.")}
    print(f"parked: {parked}")
    assert parked["parked.degraded"] + parked["parked.missing"] == len(names), parked
    # what the primary lacks is asked for, and pushed; what a replica lacks is pushed, and answered
    assert counts["recovery pull"] == parked["parked.missing"], counts
    assert counts["recovery answer"] == parked["parked.degraded"], counts
    assert counts["recovery push"] == len(names), counts


def make_cache(cluster):
    for pool in ("base", "cache"):
        cluster.ceph("osd", "pool", "create", pool, "1", "1")
    put(cluster, "base", [f"cold-{i}" for i in range(14)])
    cluster.ceph("osd", "tier", "add", "base", "cache")
    cluster.ceph("osd", "tier", "cache-mode", "cache", "proxy")
    for name, value in (("hit_set_type", "bloom"), ("hit_set_count", "1"), ("hit_set_period", "3600"),
                        ("min_read_recency_for_promote", "0"),
                        ("min_write_recency_for_promote", "0")):
        cluster.ceph("osd", "pool", "set", "cache", name, value)
    cluster.ceph("osd", "tier", "set-overlay", "base", "cache")


def case_cache():
    """A cache pool: ops that it hands on, objects that it takes in, and writes that wait for room.
    Calls of class methods, also with arguments that the daemon throws exceptions at."""
    with Cluster("memstore") as cluster:
        make_cache(cluster)
        before = cluster.errors()
        with Attached(cluster) as proxied:
            for i in range(5):
                cluster.rados("base", "get", f"cold-{i}", "/dev/null")
            put(cluster, "base", [f"new-{i}" for i in range(4)])
        proxied.check()
        # each is an op of the cache pool's, and one that it asks of the base pool
        assert proxied.counts() == {"proxied read": 5, "read": 5, "proxied write": 4, "write": 4}, \
            proxied.counts()
        assert proxied.report["counts"]["unmatched_events"] <= 3, proxied.report["counts"]
        assert proxied.stage("proxied read", "tier.proxy_read")["share"] > 0.3
        assert proxied.stage("proxied write", "tier.proxy_write")["share"] > 0.3

        cluster.ceph("osd", "tier", "cache-mode", "cache", "writeback")
        with Attached(cluster) as promoted:
            for i in range(5, 8):  # a method needs the object itself
                cluster.rados("base", "lock", "get", f"cold-{i}", "name")
        promoted.check()
        assert promoted.op("class method")["count"] == 3, promoted.counts()
        blocked = promoted.stage("class method", "parked.blocked")
        assert blocked["count"] == 3 and blocked["share"] > 0.2, blocked
        reads_that_promote(cluster)
        full(cluster)
        garbage(cluster)
        assert cluster.errors() == before, cluster.errors()


def promoted_all(cluster, names):
    return set(names) <= set(cluster.rados("cache", "ls").split())


def reads_that_promote(cluster):
    """Which reads take their object into the cache pool: the first, or the second within a while."""
    for recency, names, rounds in (
            (0, ["cold-8", "cold-9", "cold-10"], ["promoted read", "read"]),
            (1, ["cold-11", "cold-12", "cold-13"], ["proxied read", "promoted read", "read"])):
        cluster.ceph("osd", "pool", "set", "cache", "min_read_recency_for_promote", str(recency))
        for expected in rounds:
            with Attached(cluster) as attached:
                for name in names:
                    cluster.rados("base", "get", name, "/dev/null")
                if expected == "promoted read":
                    tracing.wait_for("the objects to be in the cache",
                                     lambda: promoted_all(cluster, names))
            attached.check()
            # beside the clients' reads there are the cache pool's own, of the base pool
            counts = {name: count for name, count in attached.counts().items()
                      if name in ("promoted read", "proxied read")}
            assert counts == ({expected: 3} if expected != "read" else {}), (recency, counts)
            assert attached.op("read")["count"] >= 3, attached.counts()
            if expected != "read":  # it is answered by proxy
                assert attached.stage(expected, "tier.proxy_read")["share"] > 0.3
            print(f"recency {recency}: {attached.counts()}")


def full(cluster):
    """More objects than the cache pool shall have, and nobody who takes some out: a write waits."""
    cluster.ceph("osd", "set", "notieragent")
    cluster.ceph("osd", "pool", "set", "cache", "target_max_objects", "1")
    waited = 1.0
    with Attached(cluster) as blocked:
        writer = threading.Thread(target=put, args=(cluster, "base", ["late"]))
        writer.start()
        tracing.wait_for("the write to be parked", lambda: "waiting for cache not full" in
                         cluster.ceph("osd.0", "dump_ops_in_flight"))
        began = time.monotonic()
        time.sleep(waited)  # the truth that is looked for
        waited = time.monotonic() - began
        cluster.ceph("osd", "pool", "set", "cache", "target_max_objects", "1000")
        cluster.ceph("osd", "unset", "notieragent")
        writer.join()
    blocked.check()
    longest = max((row["latency_ns"]["max"] for op in blocked.report["ops"] for row in op["stages"]
                   if row["name"] == "parked.cache_full" and row["count"]), default=0) / 1e9
    print(f"a full cache for {waited:.2f} s and more: the longest wait is {longest:.2f} s")
    assert longest >= waited, (longest, blocked.report["ops"])


GARBAGE = """
import rados, sys
with rados.Rados(conffile=sys.argv[1]) as cluster, cluster.open_ioctx("bench") as pool:
    pool.write_full("victim", b"x")
    failed = 0
    for number in range(100):
        for cls, method in (("lock", "lock"), ("refcount", "get"), ("version", "set")):
            try:
                pool.execute("victim", cls, method, bytes([number]) * (number % 7))
            except rados.Error:
                failed += 1
    print(failed)
"""


def garbage(cluster):
    python = [path for path in ("/usr/bin/python3", sys.executable) if subprocess.run(
        [path, "-c", "import rados"], capture_output=True).returncode == 0]
    if not python:
        print("no rados module for Python: methods are not called with garbage")
        return
    with Attached(cluster, "--detail", "deep") as thrown:
        failed = int(subprocess.run([python[0], "-c", GARBAGE, cluster.environment["CEPH_CONF"]],
                                    check=True, capture_output=True, text=True).stdout)
    thrown.check()
    assert failed > 250, failed
    assert thrown.counts() == {"class method": 300, "write": 1}, thrown.counts()
    assert sum(op["failed"] for op in thrown.report["ops"]) == failed, thrown.report["ops"]
    print(f"{failed} of 300 calls made the daemon throw: {thrown.counts()}")


tracing.need_tracing()
need_ceph()
globals()[f"case_{CASE}"]()
print(f"{CASE}: as it should be")
