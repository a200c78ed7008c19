#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Truth by injection on an unmodified ceph-osd: the stage where a delay belongs grows by its size.

usage: inject_ceph.py OPTRAIL CLUSTER-SCRIPT CASE [SLOW-CALLS-LIBRARY]

Each case takes the means of the stages without the delay and with it. What was injected is told by
something else than optrail: by the daemon's log, by the library that slept in its calls, by the
kernel's count of throttled requests, or by the load's own clock.
"""
import contextlib
import json
import os
import re
import sys

OPTRAIL, _, CASE = sys.argv[1:4]
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../bpf"))
import tracing  # noqa: E402
from ceph_cluster import Cluster, need_ceph  # noqa: E402
from slow_calls import SlowCalls  # noqa: E402

TOLERANCE = 0.10
DELAY = 0.03


class Run:
    """One load under attach: how many ops of the type there were, what a stage took an op, in ns."""

    def __init__(self, cluster, kind="write", depth=1, seconds=1, settle=None, options=()):
        tracer = tracing.Tracer([OPTRAIL, "attach", "-p", str(cluster.pid), "--format", "json",
                                 *options], " probes by ")
        self.made, self.client_latency = cluster.timed_bench(kind, seconds, depth=depth)
        if settle:
            settle()
        status, output = tracer.finish()
        assert status == 0, status
        report = json.loads(output)
        assert report["counts"]["lost_events"] == 0, report["counts"]
        op = [op for op in report["ops"] if op["type"] == ("write" if kind == "write" else "read")][0]
        # the bench writes, or reads, an object of its own, too
        assert op["count"] == self.made + 1, (op["count"], self.made)
        assert op["unattributed_share"] <= 0.02, op["unattributed_share"]
        self.count = op["count"]
        self.shares = {stage["name"]: stage["share"] for stage in op["stages"]}
        self.stages = {stage["name"]: (stage["total_ns"] + stage["beside_ns"]) / op["count"]
                       for stage in op["stages"]}
        self.medians = {stage["name"]: stage["latency_ns"]["p50"] for stage in op["stages"]}


def check_grown(what, healthy, sick, expected, elsewhere=(), figure="stages"):
    """Each stage of `expected` has grown by the ns that stand there, and no other by so much."""
    before, after = getattr(healthy, figure), getattr(sick, figure)
    grown = {name: ns - before.get(name, 0) for name, ns in after.items()}
    for name, injected in expected.items():
        print(f"{what}: injected {injected / 1e6:.3f} ms, {name} has grown by "
              f"{grown[name] / 1e6:.3f} ms ({grown[name] / injected - 1:+.1%})")
        assert abs(grown[name] - injected) <= TOLERANCE * injected, (what, name, grown)
    least = min(expected.values())
    others = {name: ns for name, ns in grown.items()
              if name not in expected and name not in elsewhere and ns > least / 2}
    assert not others, (what, others)


# Delays that the daemon injects itself


def case_messages():
    """Delays of the messenger and of dispatching, by the daemon's own options."""
    deep = ("--detail", "deep")
    with Cluster("memstore", "log_coarse_timestamps=false") as cluster:
        healthy = Run(cluster, options=deep)

        # it sleeps before the op is put into the queue, before the worker asks for the placement
        # group's lock, and again when it has it. How long a sleep really was is not told: on a busy
        # machine some are longer, so it is the medians that count
        cluster.set(osd_debug_inject_dispatch_delay_duration=0.02,
                    osd_debug_inject_dispatch_delay_probability=1)
        sick = Run(cluster, options=deep)
        cluster.set(osd_debug_inject_dispatch_delay_probability=0)
        check_grown("osd_debug_inject_dispatch_delay", healthy, sick,
                    {"osd.register": 20e6, "opqueue.wait": 20e6, "pg.lock": 20e6},
                    figure="medians")

        # each message is held back for a random time; the log has when, and when it went on
        cluster.set(ms_inject_delay_type="client", ms_inject_delay_max=0.04,
                    ms_inject_delay_probability=1, debug_ms="1/1")
        sick = Run(cluster, options=deep)
        cluster.set(ms_inject_delay_probability=0, debug_ms="0/0")
        held = tracing.wait_for("the log to tell of all messages",
                                lambda: held_back(cluster, sick.count))
        mean = sum(held) / len(held)
        print(f"the log has {len(held)} messages, held back for {min(held) / 1e6:.1f} to "
              f"{max(held) / 1e6:.1f} ms, {mean / 1e6:.3f} ms on average")
        assert len(held) == sick.count and max(held) < 60e6, held
        check_grown("ms_inject_delay", healthy, sick, {"messenger.dispatch": mean})

        # this one sleeps while connections are made, and in the queue of messages that are not
        # dispatched at once: no op's path
        cluster.set(ms_inject_internal_delays=0.02)
        sick = Run(cluster)
        assert max(sick.medians.values()) < 10e6, sick.medians


def held_back(cluster, count):
    """How long each op of the client's was held back, in ns, if the log tells of so many."""
    begun, held = {}, []
    with open(f"{cluster.directory}/log/osd.0.log", errors="replace") as file:
        for line in file:
            name = re.search(r"osd_op\(client\.(\d+\.\d+:\d+) ", line)
            clock = re.match(r"\S+T(\d+):(\d+):([\d.]+)", line)
            if not name or not clock:
                continue
            now = (int(clock[1]) * 60 + int(clock[2])) * 60 + float(clock[3])
            if "will delay after" in line:
                begun[name[1]] = now
            elif " <== " in line and name[1] in begun:
                held.append((now - begun.pop(name[1])) * 1e9)
    return held if len(held) >= count else None


# Slow system calls


@contextlib.contextmanager
def slow_cluster(store, *options):
    slow = SlowCalls()
    with Cluster(store, *options, preload=sys.argv[4], where="/dev/shm") as cluster:
        yield cluster, slow


def check_slow(cluster, slow, call, thread, stage, healthy, later=None, elsewhere=(), **how):
    """Each op makes this call once in `stage`, which grows by what the call slept; and, where there
    is a later stage, in that one as often as it makes it besides."""
    with slow.delayed(call, thread, DELAY) as told:
        sick = Run(cluster, **how)
        calls, slept = told()
    times = round(calls / sick.count)
    # the daemon makes a few for itself
    assert abs(calls - times * sick.count) <= 0.1 * calls + 2, (call, calls, sick.count)
    assert times > 1 if later else times == 1, (call, calls, sick.count)
    expected = {stage: slept / calls}
    if later:
        expected[later] = (times - 1) * slept / calls
    check_grown(f"{call} in {thread}", healthy, sick, expected, elsewhere)
    return sick


def filestore_has_nothing(cluster, group, *counters):
    tracing.wait_for(f"{counters} to be 0",
                     lambda: not any(cluster.ask("perf dump")[group][name] for name in counters))


def case_filestore():
    """A slow journal, a slow disk behind it, the writeback throttle, and one worker."""
    with slow_cluster("filestore", "filestore_op_threads=1", "osd_op_num_shards=1",
                      "osd_op_num_threads_per_shard=1") as (cluster, slow):
        def applied():
            filestore_has_nothing(cluster, "filestore", "op_queue_ops")

        healthy = Run(cluster, settle=applied, options=("--detail", "deep"))
        check_slow(cluster, slow, "writev", "journal_write", "journal.write", healthy)

        # the client goes on when the journal has its write, until so many are to be applied that
        # the store's throttle holds it back
        behind = ("apply.queue", "filestore.submit", "filestore.throttle", "journal.queue")
        check_slow(cluster, slow, "pwritev64", "tp_fstore_op", "filestore.apply", healthy,
                   settle=applied, elsewhere=behind)

        # one dirty object is the limit: each write waits until the one before is flushed
        kinds = ("ios", "inodes")
        cluster.set(**{f"filestore_wbthrottle_xfs_{kind}_{limit}": 1 for kind in kinds
                       for limit in ("start_flusher", "hard_limit")})
        filestore_has_nothing(cluster, "WBThrottle", "ios_dirtied", "inodes_dirtied")
        check_slow(cluster, slow, "fdatasync", "wb_throttle", "wbthrottle.wait", healthy,
                   settle=applied, elsewhere=behind, options=("--detail", "deep"))

        one_worker(cluster, slow)


def one_worker(cluster, slow):
    """One shard with one worker, which sleeps in each read: of N ops that are under way all but one
    wait in the queue. By Little's law an op takes N / X, X being the throughput, and the load's own
    clock says what that is; alone it takes what the load says at depth 1."""
    healthy = Run(cluster, "rand")
    alone = check_slow(cluster, slow, "pread64", "tp_osd_tp", "store.read", healthy, kind="rand")
    for depth in (4, 16):
        with slow.delayed("pread64", "tp_osd_tp", DELAY):
            many = Run(cluster, "rand", depth)
        expected = (many.client_latency - alone.client_latency) * 1e9
        wait = many.stages["opqueue.wait"] - alone.stages["opqueue.wait"]
        print(f"one worker, {depth} at a time: by Little's law {expected / 1e6:.3f} ms in the queue, "
              f"opqueue.wait is {wait / 1e6:.3f} ms ({wait / expected - 1:+.1%}), pg.lock has "
              f"{many.shares['pg.lock']:.2%} of the time")
        assert abs(wait - expected) <= TOLERANCE * expected, (wait, expected)
        assert many.shares["pg.lock"] < 0.01, many.shares


def case_bluestore():
    """A device that is slow to write, slow to say so, and slow to flush."""
    with slow_cluster("bluestore", "bluestore_prefer_deferred_size_hdd=0",
                      "bluestore_prefer_deferred_size_ssd=0") as (cluster, slow):
        healthy = Run(cluster)
        # each op makes the device write data, and the metadata; both are flushed, once or twice the
        # metadata; and the metadata are given to the device by the thread that commits them
        check_slow(cluster, slow, "io_getevents", "bstore_aio", "bluestore.aio", healthy,
                   later="bluestore.kv_commit")
        check_slow(cluster, slow, "fdatasync", "bstore_kv_sync", "bluestore.kv_queue", healthy,
                   later="bluestore.kv_commit")


@contextlib.contextmanager
def throttled_disk(pid, directory, writes_per_second):
    """A group of its own for the process, with so many writes a second to the disk below the
    directory. Gives a function that tells how many writes the kernel let pass."""
    groups = "/sys/fs/cgroup/blkio"
    if not os.path.exists(f"{groups}/blkio.throttle.write_iops_device"):
        tracing.skip(f"no control group throttles disks here ({groups}/blkio.throttle.*)")
    number = os.stat(directory).st_dev
    disk = f"{os.major(number)}:{os.minor(number)}"
    place = os.path.realpath(f"/sys/dev/block/{disk}")
    if not os.path.exists(place):
        tracing.skip(f"{directory} is on no disk ({disk})")
    if os.path.exists(f"{place}/partition"):
        with open(f"{place}/../dev") as file:
            disk = file.read().strip()
    with open(f"/proc/{pid}/cgroup") as file:
        before = re.search(r"^\d+:blkio:/(.*)$", file.read(), re.M)[1]
    group = f"{groups}/optrail-test-{os.getpid()}"
    os.mkdir(group)

    def write(path, text):
        with open(path, "w") as file:
            file.write(text)

    def passed():
        with open(f"{group}/blkio.throttle.io_serviced") as file:
            found = re.search(rf"^{disk} Write (\d+)$", file.read(), re.M)
        return int(found[1]) if found else 0

    try:
        write(f"{group}/blkio.throttle.write_iops_device", f"{disk} {writes_per_second}")
        write(f"{group}/cgroup.procs", str(pid))
        yield passed
    finally:
        write(f"{groups}/{before}/cgroup.procs", str(pid))
        os.rmdir(group)


def case_disk():
    """A disk that takes so many writes a second and no more; but for the journal's there are hardly any
    while nothing else is synchronised."""
    limit = 20
    with Cluster("filestore", "filestore_min_sync_interval=59", "filestore_max_sync_interval=60",
                 "filestore_wbthrottle_enable=false") as cluster:
        healthy = Run(cluster)
        with throttled_disk(cluster.pid, cluster.directory, limit) as passed:
            begin = passed()
            sick = Run(cluster, seconds=2)
            writes = passed() - begin
        # the first ones are let through at once, as many as belong to a tenth of a second
        least = (writes - limit / 10 - 1) / limit / sick.count
        print(f"{limit} writes a second, {writes} for {sick.count} ops: {least * 1e3:.0f} ms an op at least; "
              f"for the client it took {healthy.client_latency * 1e3:.1f} ms before, "
              f"{sick.client_latency * 1e3:.1f} ms now")
        assert sick.client_latency >= (1 - TOLERANCE) * least, (sick.client_latency, least)
        check_grown("blkio.throttle.write_iops_device", healthy, sick,
                    {"journal.write": (sick.client_latency - healthy.client_latency) * 1e9})


tracing.need_tracing()
need_ceph()
# A busy machine makes delays of its own, now and then; what is measured wrongly is wrong each time.
for attempt in range(3):
    try:
        globals()[f"case_{CASE}"]()
        break
    except AssertionError as error:
        if attempt == 2:
            raise
        print(f"once more, since: {error}")
print(f"{CASE}: as it should be")
