#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ten thousand stacks of an unmodified ceph-osd under writes: each as libunwind has it.

usage: stacks_ceph.py COMPARE-STACKS CLUSTER-SCRIPT [BENCH-STACKS]
"""
import os
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../bpf"))
from ceph_cluster import Cluster, need_ceph  # noqa: E402

need_ceph()
with Cluster("memstore") as cluster:
    ended = threading.Event()

    def load():
        while not ended.is_set():
            cluster.bench("write", 2)

    thread = threading.Thread(target=load)
    thread.start()
    try:
        # what the sampler cannot copy, pages that are not there yet, leaves some stacks incomplete
        done = subprocess.run([sys.argv[1], str(cluster.pid), "10000", "60", "95"])
        for bench in sys.argv[3:]:
            subprocess.run([bench, str(cluster.pid)], check=True)
    finally:
        ended.set()
        thread.join()
sys.exit(done.returncode)
