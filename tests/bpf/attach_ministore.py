#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Attaches to a ministore: every op is counted once, and the daemon does not mind.

usage: attach_ministore.py OPTRAIL MINISTORE TRACE_ONCE CASE
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import tracing

OPTRAIL, MINISTORE, TRACE_ONCE, CASE = sys.argv[1:5]
LOAD = f"{MINISTORE}-load"
HERE = os.path.dirname(os.path.abspath(__file__))
WRITES, READS = 300, 200


class Ministore:
    def __init__(self, *options):
        self.data = tempfile.TemporaryDirectory(prefix="optrail-attach-")
        self.process = subprocess.Popen(
            [MINISTORE, "--data", self.data.name, *options], stdout=subprocess.PIPE, text=True)
        tracing.kill_at_exit(self.process)
        self.port = self.process.stdout.readline().rsplit(":", 1)[-1].strip()
        assert self.port.isdigit(), "ministore did not start"
        self.pid = self.process.pid

    def work(self, writes=WRITES, reads=READS, client=77):
        done = subprocess.run([f"{HERE}/ministore_client.py", self.port, str(writes), str(reads),
                               str(client)], check=True, capture_output=True, text=True)
        assert done.stdout == f"writes {writes} reads {reads}\n", done.stdout

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(60)
        self.data.cleanup()
        assert status == 0, f"ministore ended with {status}"


def attach(store, *options):
    return tracing.Tracer([OPTRAIL, "attach", "-p", str(store.pid), "--format", "json", *options],
                          " probes by ")


def counts_of(report):
    return {op["type"]: op["count"] for op in report["ops"]}


def check_report(text, writes=WRITES, reads=READS):
    report = json.loads(text)
    counts = counts_of(report)
    assert counts == {"write": writes, "read": reads}, counts
    assert report["counts"]["lost_events"] == 0, report["counts"]
    assert report["counts"]["unmatched_events"] == 0, report["counts"]
    assert not any(report["counts"]["incomplete"].values()), report["counts"]
    assert [row["ops"] for row in report["clients"]] == [writes + reads], report["clients"]
    assert report["source"]["kind"] == "bpf" and report["source"]["daemon"] == "ministore"
    for op in report["ops"]:
        assert op["stages"], op


def case_counts():
    """Ops done = ops counted, on both stores and messengers, and again on a second attach."""
    for options in (["--store", "filestore"], ["--store", "memstore", "--messenger", "async"]):
        store = Ministore(*options)
        for _ in range(2):
            tracer = attach(store)
            store.work()
            status, output = tracer.finish()
            assert status == 0, status
            check_report(output)
        store.stop()


def case_list():
    """`optrail list` shows it, with the number of its probes."""
    store = Ministore()
    rows = json.loads(subprocess.run([OPTRAIL, "list", "--format", "json"], check=True,
                                     capture_output=True, text=True).stdout)
    row = [row for row in rows if row["pid"] == store.pid]
    assert row and row[0]["kind"] == "ministore" and row[0]["traceable"], rows
    assert row[0]["usdt_probes"] > 50, row
    assert row[0]["probes"] == dict.fromkeys(("basic", "standard", "deep"), row[0]["usdt_probes"]), row
    table = subprocess.run([OPTRAIL, "list"], check=True, capture_output=True, text=True).stdout
    assert f"{store.pid} " in table and "yes, by its" in table, table
    store.stop()


def case_duration():
    """-d ends it by itself; nothing happened, and that is what it says: no ops, in all that time."""
    store = Ministore()
    for options in ([], ["--fold", "user"]):
        begun = time.monotonic()
        tracer = attach(store, "-d", "0.3", *options)
        status, output = tracer.finish(None)
        lasted = time.monotonic() - begun
        report = json.loads(output)
        assert status == 0 and report["counts"]["events"] == 0, output
        assert 0.3 <= report["source"]["seconds"] < lasted, (report["source"], lasted)
        assert report["source"]["traced_seconds"] == report["source"]["seconds"], report["source"]
    done = subprocess.run([OPTRAIL, "attach", "-p", str(store.pid), "-d", "0.3"], check=True,
                          capture_output=True, text=True)
    assert re.search(r"3\d\d(\.\d)? ms: no ops, 0 events lost", done.stdout) or \
        re.search(r"\d s: no ops, 0 events lost", done.stdout), done.stdout
    # ops that take a part of the time only: rates are over all of it
    tracer = attach(store, "-d", "1.5")
    store.work(10, 0)
    status, output = tracer.finish(None)
    report = json.loads(output)
    assert status == 0 and report["source"]["seconds"] >= 1.5, report["source"]
    assert counts_of(report) == {"write": 10}, output
    store.stop()


def case_killed():
    """SIGKILL in the middle of its work: the kernel takes the probes away, the daemon works on."""
    store = Ministore("--store", "memstore")
    assert tracing.changed_code(store.pid) == 0
    tracer = attach(store)
    store.work()
    assert tracing.changed_code(store.pid) > 0, "no breakpoints: this test tests nothing"
    status, _ = tracer.finish(signal.SIGKILL)
    assert status == -signal.SIGKILL
    tracing.wait_for("the probes to go", lambda: tracing.changed_code(store.pid) == 0)
    store.work()
    tracer = attach(store)
    store.work()
    status, output = tracer.finish()
    assert status == 0
    check_report(output)
    tracing.wait_for("the probes to go", lambda: tracing.changed_code(store.pid) == 0)
    store.stop()


def case_daemon_ends():
    """The daemon ends first: the report has what there was, and says so."""
    store = Ministore("--store", "memstore")
    tracer = attach(store)
    store.work()
    store.stop()
    tracing.wait_for("optrail to end", tracer.ended)
    said = tracer.said()
    status, output = tracer.finish(None)
    assert status == 0 and "has ended" in said, said
    report = json.loads(output)
    assert sum(op["count"] for op in report["ops"]) == WRITES + READS, output
    assert any("ended while it was traced" in note for note in report["notes"]), report["notes"]


def trace_once(store, *options):
    tracer = tracing.Tracer([TRACE_ONCE, str(store.pid), *options], "ready")
    store.work()
    status, output = tracer.finish()
    assert status == 0, status
    return json.loads(output)


def case_one_by_one():
    """The way of older kernels, a perf event a probe, counts the same."""
    store = Ministore("--store", "memstore")
    counts = trace_once(store, "--one-by-one")
    assert counts["method"].startswith("a perf event a probe"), counts
    assert counts["points"]["op.finish"] == counts["points"]["op.start"] == WRITES + READS, counts
    assert counts["lost"] == counts["backwards"] == counts["faults"] == 0, counts
    tracing.wait_for("the probes to go", lambda: tracing.changed_code(store.pid) == 0)
    store.stop()


def case_full_ring():
    """A ring that is far too small: what is lost is counted, and told to the reader. How often a lock is
    waited for nobody knows; what an op passes, it passes."""
    store = Ministore("--store", "memstore")
    counts = trace_once(store, "--ring", "4096")
    assert counts["lost"] > 0 and counts["told_lost"] == counts["lost"], counts
    assert counts["hits"] == counts["events"] > 0, counts
    assert counts["events"] == sum(counts["points"].values()), counts
    assert counts["lost"] == sum(counts["lost_points"].values()), counts
    for point, passed in {"op.start": WRITES + READS, "op.finish": WRITES + READS,
                          "opqueue.dequeue": WRITES + READS, "memstore.apply_begin": WRITES,
                          "memstore.read_end": READS}.items():
        told, lost = counts["points"].get(point, 0), counts["lost_points"].get(point, 0)
        assert told + lost == passed and lost > 0, (point, passed, counts)
    store.stop()


def switches(process):
    """How often the process has waited for something."""
    with open(f"/proc/{process.pid}/status") as file:
        return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", file.read(), re.M)[1])


def full_records(fold):
    """A tracer that gets no processor for longer than there is room for records: the hits that find no
    room are counted, also while it catches up; the ops that are open then are given up, and no op is
    made of what is left of two. What was before and comes after is as always."""
    before, during, after = 77, 5, 78
    store = Ministore("--store", "memstore")
    tracer = attach(store, "--fold", fold)
    store.work(client=before)
    tracer.process.send_signal(signal.SIGSTOP)
    with subprocess.Popen([LOAD, "write", "--ops", "80000", "--port", store.port, "--client", str(during)],
                          stdout=subprocess.PIPE, text=True) as load:
        # a line a second, with the number of ops: each makes some 44 records, there is room for 131,072
        finished = 0
        while finished < 6000:
            line = load.stdout.readline()
            assert line, "the load has ended"
            finished = int(line.split()[3]) if re.match(r" +\d+ ", line) else finished
        tracer.process.send_signal(signal.SIGCONT)
        load.stdout.read()
    assert load.returncode == 0, load.returncode
    waited = switches(tracer.process)
    tracing.wait_for("all to be read", lambda: switches(tracer.process) > waited + 5)
    store.work(client=after)
    status, output = tracer.finish()
    assert status == 0, status
    report = json.loads(output)
    counts, clients = report["counts"], {row["client"]: row["ops"] for row in report["clients"]}
    print(fold, counts, clients)
    assert clients[before] == clients[after] == WRITES + READS, clients
    assert sum(clients.values()) == sum(op["count"] for op in report["ops"]), report["ops"]
    assert counts["lost_events"] > 0 and counts["incomplete"]["lost_events"] > 0, counts
    others = {reason: number for reason, number in counts["incomplete"].items() if number}
    assert list(others) == ["lost_events"], counts
    store.stop()


def case_full_records():
    full_records("kernel")
    full_records("user")


def refused(status, message, *arguments, user=None):
    done = subprocess.run([OPTRAIL, "attach", *arguments], capture_output=True, text=True,
                          user=user, group=user, extra_groups=[] if user else None, cwd="/")
    assert done.returncode == status, (arguments, done.returncode, done.stderr)
    assert message in done.stderr, (arguments, done.stderr)
    assert done.stderr.count("\n") == 1 or status == 2, done.stderr
    assert done.stdout == "", done.stdout


def case_refused():
    """What cannot be traced is refused in one line, with the right status."""
    gone = subprocess.Popen(["true"])
    gone.wait()
    refused(1, "no process", "-p", str(gone.pid))
    refused(1, "no storage daemon", "-p", str(os.getpid()))
    refused(1, "no osd.987654 runs here", "--osd", "987654")
    refused(2, "'x' is no OSD's number", "--osd", "987654,x")
    refused(2, "-p PID or --osd ID")
    refused(2, "one of -p, --osd and --all", "-p", "1", "--osd", "0")
    refused(2, "", "-p", "0")
    refused(2, "", "-p", "1", "-d", "soon")
    store = Ministore()
    refused(1, "nonexistent", "-p", str(store.pid), "--path", "/nonexistent")
    # as a user with no rights; the command must be readable for it
    if os.access(OPTRAIL, os.X_OK) and subprocess.run(
            [OPTRAIL, "--version"], user=65534, group=65534, extra_groups=[], cwd="/",
            capture_output=True).returncode == 0:
        refused(1, "belongs to another user", "-p", str(store.pid), user=65534)
    store.stop()


tracing.need_tracing()
globals()[f"case_{CASE}"]()
print(f"{CASE}: as it should be")
