#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ceph_locks.py WATCH_LOCKS CLUSTER CASE: the locks of an unmodified ceph-osd under writes, and those
of a client with a write-back cache: nearly all of the time waited has a whole call stack, so that the
lock has a call site; the allocator's locks are told from the program's."""
import collections
import os
import pathlib
import subprocess
import sys

sys.path += [str(pathlib.Path(__file__).parent.parent / "ceph"),
             str(pathlib.Path(__file__).parent.parent / "bpf")]
import captured
import ceph_cluster
import tracing

WATCH, CASE = sys.argv[1], sys.argv[3]
captured.need_root()
ceph_cluster.need_ceph()
ALLOCATOR = {"malloc", "cfree", "free", "calloc", "realloc", "posix_memalign", "operator new",
             "operator delete", "_int_malloc", "_int_free", "__libc_malloc", "__libc_free"}


def watch(pid, seconds):
    watcher = subprocess.Popen([WATCH, "-w", str(seconds), str(pid)], text=True,
                               stdout=subprocess.PIPE, stdin=subprocess.PIPE)
    text = watcher.stdout.read().split("\n", 1)[1]  # behind "ready"
    watcher.stdin.close()
    assert watcher.wait() == 0, "watch_locks failed"
    return captured.Captured(text)


def check(got, least):
    kinds = collections.Counter()
    complete = sited = total = 0
    for wait in got.waits:
        if wait["kind"] in ("condvar_idle", "semaphore", "join") or wait["flags"] & 8:
            continue
        end, text = got.stacks.get(wait["stack"], ("none", ""))
        length = wait["ns"] * wait["weight"]
        kinds[wait["kind"]] += length
        total += length
        complete += length * (end == "complete")
        sited += length * (text.count(";") > 1)
        if wait["kind"] == "allocator" and text:
            assert any(frame.split("(")[0].split("[")[0].strip() in ALLOCATOR
                       for frame in text.split(";")), text
    waits = sum(wait["weight"] for wait in got.waits)
    print(f"{waits} waits, {total / 1e6:.0f} ms at locks, {100 * complete / total:.2f} % of it with "
          f"a stack to the thread's start, {100 * sited / total:.2f} % with a call site; ms by kind: "
          + ", ".join(f"{kind} {ns / 1e6:.0f}" for kind, ns in kinds.most_common()))
    assert total > 0 and len(got.waits) > least
    assert complete > 0.95 * total and sited > 0.95 * total
    assert got.counts["lost"] == 0
    owned = [wait for wait in got.waits if wait["kind"] == "mutex"]
    assert sum(wait["owner"] != 0 for wait in owned) > 0.95 * len(owned)


def case_filestore():
    with ceph_cluster.Cluster("filestore") as cluster:
        load = subprocess.Popen(["rados", "-p", "bench", "bench", "6", "write", "-b", "4096", "-t",
                                 "16"], stdout=subprocess.DEVNULL, env=cluster.environment)
        got = watch(cluster.pid, 4)
        assert load.wait() == 0
        check(got, 50)
        assert all(os.path.exists(f"/proc/{pid}") for pid in cluster.pids), "the daemon has ended"


def case_rbd():
    if subprocess.run(["fio", "--enghelp=rbd"], capture_output=True, check=False).returncode:
        tracing.skip("fio with the rbd engine is not installed")
    with ceph_cluster.Cluster("memstore") as cluster:
        subprocess.run(["rbd", "create", "--size", "64M", "bench/image"], check=True,
                       env=cluster.environment)
        environment = dict(cluster.environment,
                           CEPH_ARGS="--rbd_cache=true --rbd_cache_policy=writeback")
        load = subprocess.Popen(
            ["fio", "--name=writes", "--thread", "--ioengine=rbd", "--clientname=admin",
             "--pool=bench", "--rbdname=image", "--rw=randwrite", "--bs=4k", "--iodepth=32",
             "--time_based", "--runtime=6"], stdout=subprocess.DEVNULL, env=environment)
        try:
            got = watch(load.pid, 4)
            assert load.wait() == 0
        finally:
            load.kill()
        check(got, 50)


globals()["case_" + CASE]()
