#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records OSDs of two clusters, each with an osd.0, on different stores: one by one, then both at once.
What was recorded of each is what its clients did.

usage: record_ceph.py OPTRAIL CLUSTER-SCRIPT
"""
import os
import subprocess
import sys
import tempfile

OPTRAIL = sys.argv[1]
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../bpf"))
sys.path.insert(0, os.path.join(HERE, "../record"))
import recording  # noqa: E402
import tracing  # noqa: E402
from ceph_cluster import Cluster, need_ceph  # noqa: E402


def work(cluster):
    """What the clients did, of each type; a bench writes one object and reads it besides (see
    attach_ceph.py)."""
    return {"write": cluster.bench("write", 1) + 1, "read": cluster.bench("rand", 1) + 1}


def trace_of(directory, cluster):
    """The one whose name has the daemon's process: two daemons have the name osd.0."""
    found = [name for name in os.listdir(directory) if name.split(".")[:2] == ["osd", "0"] and
             name.endswith(f".{cluster.pid}")]
    assert len(found) == 1, (cluster.pid, os.listdir(directory))
    return f"{directory}/{found[0]}"


def check(made, store, report):
    assert report["source"]["store"] == store, report["source"]
    assert recording.ops(report) == made, (store, made, report["ops"])
    counts = report["counts"]
    assert counts["lost_events"] == 0 and counts["events"] > sum(made.values()), counts
    assert not any(number for reason, number in counts["incomplete"].items() if reason != "open"), counts
    for op in report["ops"]:
        parts = sum(stage["total_ns"] for stage in op["stages"]) + op["unattributed_ns"]
        assert parts == op["total_ns"], (store, op["type"])
        assert op["unattributed_share"] <= 0.02, (store, op["type"], op["unattributed_share"])
    print(f"{store}: {made}, {counts['events']} events")


def main():
    with Cluster("memstore") as memory, Cluster("filestore") as files, \
            tempfile.TemporaryDirectory(prefix="optrail-record-") as directory:
        clusters = {"memstore": memory, "filestore": files}
        # one alone has its plain name
        for store, cluster in clusters.items():
            recorder = tracing.Tracer([OPTRAIL, "record", "-p", str(cluster.pid), "-o",
                                       f"{directory}/{store}"], " probes by ")
            made = work(cluster)
            status, _ = recorder.finish()
            assert status == 0, status
            check(made, store, recording.report(OPTRAIL, f"{directory}/{store}/osd.0"))

        recorder = tracing.Tracer([OPTRAIL, "record", "--all", "-o", f"{directory}/all"], " probes by ")
        tracing.wait_for("both to be probed", lambda: all(
            f"pid {cluster.pid}): " in recorder.said() for cluster in clusters.values()))
        made = {store: work(cluster) for store, cluster in clusters.items()}
        status, _ = recorder.finish()
        assert status == 0, status
        for store, cluster in clusters.items():
            check(made[store], store,
                  recording.report(OPTRAIL, trace_of(f"{directory}/all", cluster)))
        # both together, too
        subprocess.run([OPTRAIL, "report", f"{directory}/all"], check=True, stdout=subprocess.DEVNULL)


tracing.need_tracing()
need_ceph()
main()
print("each daemon's record is its own")
