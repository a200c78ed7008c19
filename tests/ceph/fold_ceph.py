#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One run of a ceph-osd, folded in the kernel and from the events of the same hits: one report.

usage: fold_ceph.py FOLD_BOTH CLUSTER-SCRIPT STORE
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../bpf"))
import same_report  # noqa: E402
import tracing  # noqa: E402

tracing.need_tracing()
import ceph_cluster  # noqa: E402

FOLD_BOTH, STORE = sys.argv[1], sys.argv[3]

ceph_cluster.need_ceph()
with ceph_cluster.Cluster(STORE) as cluster:
    made = 0

    def trace():
        global made
        tracer = tracing.Tracer([FOLD_BOTH, str(cluster.pid), STORE], "ready")
        made = cluster.bench("write") + cluster.bench("rand")
        status, output = tracer.finish()
        assert status == 0, status
        return output

    ops = same_report.run(trace)["counts"]["ops"]
    assert ops >= made, (ops, made)
    print(f"{STORE}: {ops} ops, the same report")
