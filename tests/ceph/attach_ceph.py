#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Attaches to an unmodified ceph-osd under `rados bench` and checks what it counts.

usage: attach_ceph.py OPTRAIL CLUSTER-SCRIPT CASE
"""
import concurrent.futures
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

OPTRAIL, _, CASE = sys.argv[1:4]
MAPS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../probes/maps")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../bpf"))
import tracing  # noqa: E402
from ceph_cluster import CLUSTER, Cluster, need_ceph  # noqa: E402

COMMON = ["messenger.throttle", "messenger.recv", "messenger.dispatch", "opqueue.wait",
          "pg.lock", "osd.execute", "reply.queue"]
WRITE = ["commit.pg_lock", "replica.wait", "osd.reply"]
COMMIT = {
    "memstore": ["store.commit"],
    "bluestore": ["bluestore.prepare", "bluestore.kv_queue", "bluestore.kv_commit", "commit.queue"],
    "filestore": ["filestore.submit", "journal.queue", "journal.write", "commit.queue"],
}
MOST_UNATTRIBUTED = 0.02
ROUNDS = int(os.environ.get("OPTRAIL_TEST_ROUNDS", 3))  # of a load whose every op is counted


def attach(cluster, *options):
    return tracing.Tracer([OPTRAIL, "attach", "-p", str(cluster.pid), "--format", "json",
                           *options], " probes by ")


def traced_bench(cluster):
    """Writes, then reads, under attach; returns what the bench made and what optrail saw."""
    tracer = attach(cluster)
    made = {"write": cluster.bench("write"), "read": cluster.bench("rand")}
    status, output = tracer.finish()
    assert status == 0, status
    return made, json.loads(output)


def check_counts(made, report):
    """Each of the bench's ops is counted exactly once, and nothing else, but for one object of the
    bench's own: benchmark_last_metadata, which the write bench writes at its end, and from which
    the read bench learns what there is to read. Each bench run is a client of its own."""
    counts = {op["type"]: op["count"] for op in report["ops"]}
    assert counts == {kind: number + 1 for kind, number in made.items()}, (made, counts)
    clients = sorted(row["ops"] for row in report["clients"])
    assert clients == sorted(number + 1 for number in made.values()), (made, report["clients"])
    assert all(row["client"] for row in report["clients"]), report["clients"]
    assert report["counts"]["lost_events"] == 0, report["counts"]
    other = report["counts"]["other"]
    for name in ("moved_events", "unknown_texts", "unreadable_arguments", "unset_stamps"):
        assert other[name] == 0, other
    print(f"made {made}, counted {counts}, {report['counts']['events']} events")


def check_stages(report, store):
    stages = {op["type"]: {stage["name"] for stage in op["stages"] if stage["count"]}
              for op in report["ops"]}
    # a BlueStore write that is deferred gives nothing to the device at first; and a write to a
    # FileStore may be applied before it is answered
    stages["write"] -= {"bluestore.aio", "apply.queue", "filestore.apply"}
    assert stages["read"] == set(COMMON + ["store.read"]), stages["read"]
    assert stages["write"] == set(COMMON + WRITE + COMMIT[store]), stages["write"]
    for op in report["ops"]:
        parts = sum(stage["total_ns"] for stage in op["stages"]) + op["unattributed_ns"]
        assert parts == op["total_ns"], (op["type"], parts, op["total_ns"])
        assert op["unattributed_share"] <= MOST_UNATTRIBUTED, op["unattributed_share"]


def check_batches(report):
    """One hit tells of all the journal's entries that are written in one go; none of them is missed, nor
    told twice."""
    write = next(op for op in report["ops"] if op["type"] == "write")
    stages = {stage["name"]: stage for stage in write["stages"]}
    for name in ("filestore.submit", "journal.queue", "journal.write"):
        assert stages[name]["count"] == write["count"], (name, stages[name]["count"], write["count"])
    assert write.get("broken", 0) == 0, write


def check_source(report, store):
    source = report["source"]
    assert source["kind"] == "bpf" and source["daemon"] == "ceph-osd", source
    assert source["id"] == "0" and source["store"] == store, source
    assert re.fullmatch(r"16\.2\.\d+", source["version"]), source


def exact(cluster):
    made, report = traced_bench(cluster)
    check_counts(made, report)
    # an op of somebody else's may be under way when the probes go in; no other is missed
    early = report["counts"]["other"]["unmatched_before_start"]
    assert report["counts"]["unmatched_events"] == early <= 3, report["counts"]
    check_source(report, "memstore")
    check_stages(report, "memstore")


# What a client does to an image besides reading and writing: it reads its header and much else by
# methods of an object class, and watches the header while it has the image open.
OPENING = {"class method": 10, "read": 1, "write": 2}


def count_each_op(store):
    """Again and again a load of three clients, a reading and a writing rados bench and a fio on a block
    device: each of their ops is counted once, as what it is; and so does the OSD itself."""
    if not shutil.which("fio") or not shutil.which("rbd"):
        tracing.skip("fio or rbd is not installed")
    # merged requests would be fewer than fio counts
    with Cluster(store, "rbd_cache=false", "rbd_io_scheduler=none") as cluster:
        cluster.bench("write", 1)
        cluster.make_disk(8)
        for number in range(ROUNDS):
            before = cluster.ask("perf dump")["osd"]
            tracer = attach(cluster)
            with concurrent.futures.ThreadPoolExecutor() as clients:
                wrote = clients.submit(cluster.bench, "write", 1)
                read = clients.submit(cluster.bench, "rand", 1)
                disk = clients.submit(cluster.fio, "--rw=randrw", "--bs=4k", "--iodepth=16",
                                      "--size=8M", "--number_ios=400")
            status, output = tracer.finish()
            assert status == 0, status
            after = cluster.ask("perf dump")["osd"]
            report = json.loads(output)
            counts = {op["type"]: op["count"] for op in report["ops"]}
            disk_read, disk_wrote = disk.result()
            made = {"class method": OPENING["class method"],
                    "read": read.result() + 1 + disk_read + OPENING["read"],
                    "write": wrote.result() + 1 + disk_wrote + OPENING["write"]}
            print(f"{store}, run {number}: made {made}, counted {counts}")
            assert counts == made, (made, counts)
            assert sorted(row["ops"] for row in report["clients"]) == sorted(
                [wrote.result() + 1, read.result() + 1, disk_read + disk_wrote + sum(OPENING.values())])
            assert sum(counts.values()) == after["op"] - before["op"], (counts, before, after)
            assert report["counts"]["lost_events"] == 0, report["counts"]
            assert not any(report["counts"]["incomplete"].values()), report["counts"]


def case_counts_memstore():
    count_each_op("memstore")


def case_counts_filestore():
    count_each_op("filestore")


def case_counts_bluestore():
    count_each_op("bluestore")


def case_filestore():
    with Cluster("filestore") as cluster:
        made, report = traced_bench(cluster)
        check_counts(made, report)
        check_source(report, "filestore")
        check_stages(report, "filestore")
        check_batches(report)


def listed(cluster):
    """`optrail list` knows the daemons by kind, id, version and store."""
    rows = json.loads(subprocess.run([OPTRAIL, "list", "--format", "json"], check=True,
                                     capture_output=True, text=True).stdout)
    row = [row for row in rows if row["pid"] == cluster.pid][0]
    assert (row["kind"], row["id"], row["store"]) == ("ceph-osd", "0", "bluestore"), row
    assert re.fullmatch(r"16\.2\.\d+", row["version"]) and row["traceable"], row
    for level, probes in row["probes"].items():
        tracer = attach(cluster, "--detail", level)
        said = tracer.said()
        tracer.finish()
        assert f": {probes} probes by " in said, (level, probes, said)
    table = subprocess.run([OPTRAIL, "list"], check=True, capture_output=True, text=True).stdout
    assert f"{row['probes']['basic']} basic, {row['probes']['standard']} standard" in table, table
    with open(f"{cluster.directory}/run/mon.a.pid") as file:
        mon = int(file.read())
    row = [row for row in rows if row["pid"] == mon][0]
    assert (row["kind"], row["id"], row["traceable"]) == ("ceph-mon", "a", False), row


def case_bluestore():
    with Cluster("bluestore") as cluster:
        made, report = traced_bench(cluster)
        check_counts(made, report)
        check_source(report, "bluestore")
        check_stages(report, "bluestore")
        listed(cluster)


def tracker_off(cluster):
    """Without the op tracker all is the same: nothing at standard detail comes from it."""
    cluster.set(osd_enable_op_tracker="false")
    made, report = traced_bench(cluster)
    check_counts(made, report)
    check_stages(report, "memstore")
    cluster.set(osd_enable_op_tracker="true")


def failed_ops(cluster):
    """Ops that fail are answered, too: each is counted once, as failed."""
    tracer = attach(cluster)
    for words in (["get", "missing", "/dev/null"], ["stat", "missing"], ["rm", "missing"],
                  ["put", "there", cluster.environment["CEPH_CONF"]],
                  ["getxattr", "there", "missing"], ["create", "there"]):
        subprocess.run(["rados", "-p", "bench", *words], env=cluster.environment,
                       capture_output=True, check=False)
    status, output = tracer.finish()
    report = json.loads(output)
    assert status == 0
    assert sum(op["count"] for op in report["ops"]) == 6, output
    assert sum(op["failed"] for op in report["ops"]) == 5, output
    # a failed write counts as answered when its error is noted: its reply comes later, from a
    # thread that does not say whose it is
    assert report["counts"]["unmatched_events"] <= 3, report["counts"]


def errors_of_a_daemon(cluster):
    """The errors in its log, but for the one that any MemStore has: it is full for the first
    heartbeat, some seconds after the start, until it has counted what it holds."""
    return [line for line in cluster.errors() if "full status failsafe" not in line]


def lives(cluster):
    """The daemon does not notice: not the attaching and detaching, nor that the tracer is killed."""
    before = errors_of_a_daemon(cluster)
    bench = subprocess.Popen(["rados", "-p", "bench", "bench", "6", "write", "-b", "4096",
                              "-t", "16"], env=cluster.environment, stdout=subprocess.DEVNULL)
    for number in (signal.SIGINT, signal.SIGKILL) * 2:
        tracer = attach(cluster)
        assert tracing.changed_code(cluster.pid) > 0, "no breakpoints: this tests nothing"
        status, _ = tracer.finish(number)
        assert status == (0 if number == signal.SIGINT else -number), status
        tracing.wait_for("the probes to go", lambda: tracing.changed_code(cluster.pid) == 0)
    assert bench.wait() == 0
    cluster.bench("write", 1)
    assert os.path.exists(f"/proc/{cluster.pid}/exe"), "the OSD is gone"
    assert errors_of_a_daemon(cluster) == before, cluster.errors()


def osd_ends(cluster):
    """The OSD is killed while it is traced: the report has what there was."""
    tracer = attach(cluster)
    made = cluster.bench("write", 1)
    os.kill(cluster.pid, signal.SIGKILL)
    tracing.wait_for("optrail to end", tracer.ended)
    said = tracer.said()
    status, output = tracer.finish(None)
    assert status == 0 and "has ended" in said, (status, said)
    counts = {op["type"]: op["count"] for op in json.loads(output)["ops"]}
    # the bench also removes its objects, or began to
    assert counts["write"] >= made, (made, counts)


def attach_with_map(cluster, change):
    """Attaches with a map that `change` has made of ours."""
    with open(os.path.join(MAPS, "ceph-osd/16.2.15.yaml")) as file:
        text = file.read()
    with tempfile.TemporaryDirectory(prefix="optrail-maps-") as maps:
        os.mkdir(f"{maps}/ceph-osd")
        with open(f"{maps}/ceph-osd/16.2.15.yaml", "w") as file:
            file.write(change(text))
        return subprocess.run([OPTRAIL, "attach", "-p", str(cluster.pid), "-d", "0.2", "--format",
                               "json"], capture_output=True, text=True,
                              env=dict(os.environ, OPTRAIL_MAPS=maps))


def changed_maps(cluster):
    """A function that is not there: an optional one is left out and named, a required one refuses."""
    # a build of which no fields are known: another function tells who asks, and nothing is left out
    # but what that leaves open
    done = attach_with_map(cluster, lambda text: text.replace("build_id: f", "build_id: e"))
    assert done.returncode == 0, done.stderr
    notes = json.loads(done.stdout)["notes"]
    for text in (done.stderr, str(notes)):
        assert "op.identify (" not in text and "op.header_read (where" in text, text
        assert "op.released at OSD::dequeue_op (where" in text, text

    # which may not be there
    done = attach_with_map(cluster, lambda text: text.replace(
        "_ZN12PrimaryLogPG9OpContext", "_ZN12PrimaryLogPG9NoContext").replace(
        "build_id: f", "build_id: e"))
    assert done.returncode == 0, done.stderr
    assert "op.identify (the program has no such function)" in done.stderr, done.stderr
    assert any("op.identify" in note for note in json.loads(done.stdout)["notes"]), done.stdout

    done = attach_with_map(cluster, lambda text: text.replace(
        "_ZN12PrimaryLogPG12log_op_stats", "_ZN12PrimaryLogPG12no_op_stats").replace(
        "build_id: f", "build_id: e"))
    assert done.returncode == 1 and done.stdout == "", done.stdout
    assert "osd.answer cannot be probed at PrimaryLogPG::log_op_stats" in done.stderr, done.stderr

    done = attach_with_map(cluster, lambda text: text + "  - {point: no.such}\n")
    assert done.returncode == 1 and "unknown point 'no.such'" in done.stderr, done.stderr
    assert tracing.changed_code(cluster.pid) == 0


def processes_with(words):
    """Pids of processes whose command line has these words."""
    found = []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{int(name)}/cmdline", "rb") as file:
                if words.encode() in file.read():
                    found.append(int(name))
        except (ValueError, OSError):
            continue
    return found


def cluster_script(*arguments):
    return subprocess.run([CLUSTER, *arguments], capture_output=True, text=True)


def case_cluster():
    """The cluster script leaves alone what is not its own, and nothing behind."""
    with tempfile.TemporaryDirectory(prefix="optrail-foreign-") as foreign:
        precious = f"{foreign}/precious"
        open(precious, "w").close()
        for verb in ("start", "stop"):
            done = cluster_script(verb, "--dir", foreign)
            assert done.returncode == 1 and foreign in done.stderr, done
        assert os.listdir(foreign) == ["precious"]
    with Cluster("memstore") as cluster:
        done = cluster_script("start", "--dir", cluster.directory)
        assert done.returncode == 1 and "already" in done.stderr, done
        assert os.path.exists(f"/proc/{cluster.pid}")
    assert not processes_with(cluster.directory)
    assert not os.path.exists(cluster.directory)

    for option in ("foo", "=1"):
        done = cluster_script("start", "--dir", "/nonexistent/cluster", "--option", option)
        assert done.returncode == 2 and "NAME=VALUE" in done.stderr, done

    # a start that fails, and one that is interrupted, end what they have started
    directory = tempfile.mkdtemp(prefix="optrail-ceph-")
    done = cluster_script("start", "--dir", directory, "--store", "bluestore", "--option",
                          "bluestore_block_path=/nonexistent/disk")
    assert done.returncode == 1 and f"{directory}/log" in done.stderr, done
    assert not processes_with(directory)
    assert cluster_script("stop", "--dir", directory).returncode == 0
    starting = subprocess.Popen([CLUSTER, "start", "--dir", directory], stderr=subprocess.DEVNULL)
    tracing.wait_for("the monitor", lambda: os.path.exists(f"{directory}/run/mon.a.pid"))
    starting.send_signal(signal.SIGTERM)
    assert starting.wait(60) != 0
    assert not processes_with(directory)
    assert cluster_script("stop", "--dir", directory).returncode == 0
    assert cluster_script("start", "--store", "tape").returncode == 2
    assert cluster_script("start", "--preload", "/nonexistent").returncode == 2
    assert cluster_script("dance").returncode == 2


def case_memstore():
    """What needs nothing but a daemon, one after the other on the same."""
    with Cluster("memstore") as cluster:
        for part in exact, tracker_off, failed_ops, changed_maps, lives, osd_ends:
            print(part.__name__, flush=True)
            part(cluster)


tracing.need_tracing()
need_ceph()
globals()[f"case_{CASE}"]()
print(f"{CASE}: as it should be")
