#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Several daemons at once, restarts, containers: which processes are traced, and that it is said.

usage: attach_targets.py OPTRAIL MINISTORE TRACE_ONCE CASE
"""
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile

import tracing

OPTRAIL, MINISTORE, _, CASE = sys.argv[1:5]
HERE = os.path.dirname(os.path.abspath(__file__))
WRITES, READS = 100, 60


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


class Ministore:
    """A ministore on a port of its own, so that it can be started again with the same words."""

    def __init__(self, program=MINISTORE, prefix=(), pid_of=None):
        self.data = tempfile.TemporaryDirectory(prefix="optrail-targets-")
        self.port = free_port()
        self.command = [*prefix, program, "--data", self.data.name, "--store", "memstore",
                        "--port", self.port]
        self.pid_of = pid_of
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)
        assert self.port in self.process.stdout.readline(), "ministore did not start"
        self.pid = self.pid_of(self.process.pid) if self.pid_of else self.process.pid

    def work(self, writes=WRITES, reads=READS):
        done = subprocess.run([f"{HERE}/ministore_client.py", self.port, str(writes), str(reads)],
                              check=True, capture_output=True, text=True)
        assert done.stdout == f"writes {writes} reads {reads}\n", done.stdout

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        self.process.wait(60)
        self.process.stdout.close()

    def stop(self):
        os.kill(self.pid, signal.SIGTERM)
        self.process.wait(60)
        self.process.stdout.close()
        self.data.cleanup()


def attach(*options):
    return tracing.Tracer([OPTRAIL, "attach", *options], " probes by ")


def counts_of(report):
    return {op["type"]: op["count"] for op in report["ops"]}


def several():
    return [Ministore(), Ministore(), Ministore()]


def case_several():
    """Three daemons in one run: each is reported, and the tables are of all."""
    stores = several()
    pids = ",".join(str(store.pid) for store in stores[:2])
    tracer = attach("-p", pids, "-p", str(stores[2].pid), "--each", "--format", "json")
    tracing.wait_for("all probes", lambda: tracer.said().count(" probes by ") == 3)
    for factor, store in enumerate(stores, 1):
        store.work(WRITES * factor, READS)
    status, output = tracer.finish()
    report = json.loads(output)
    assert status == 0
    assert counts_of(report) == {"write": 6 * WRITES, "read": 3 * READS}, counts_of(report)
    assert report["counts"]["lost_events"] == report["counts"]["unmatched_events"] == 0
    assert [row["pid"] for row in report["sources"]] == [store.pid for store in stores]
    for factor, (row, one) in enumerate(zip(report["sources"], report["each"]), 1):
        assert row["ops"] == WRITES * factor + READS, row
        assert row["lost_events"] == row["incomplete"] == row["restarts"] == 0, row
        assert row["daemon"] == "ministore" and row["latency_ns"]["p99"] > 0, row
        assert counts_of(one) == {"write": WRITES * factor, "read": READS}, counts_of(one)
        assert one["source"]["pid"] == row["pid"], one["source"]
    check_documented(report["sources"][0])
    total = sum(op["total_ns"] for op in report["ops"])
    assert total == sum(op["total_ns"] for one in report["each"] for op in one["ops"])

    tracer = attach("-p", pids)
    tracing.wait_for("all probes", lambda: tracer.said().count(" probes by ") == 2)
    stores[0].work()
    status, output = tracer.finish()
    assert status == 0 and "2 daemons" in output, output
    for store in stores[:2]:
        assert re.search(rf"ministore.*pid {store.pid} ", output), output
    for store in stores:
        tracing.wait_for("the probes to go", lambda: tracing.changed_code(store.pid) == 0)
        store.stop()


def check_documented(row):
    """The rows of `sources` are in the manual, key by key."""
    with open(f"{HERE}/../../docs/report-json.md") as manual:
        documented = set(re.findall(r"^\| `sources\[\]\.([^`]+)` \|", manual.read(), re.M))
    present = set(row) | {f"latency_ns.{key}" for key in row["latency_ns"]}
    assert documented == present, documented ^ present


def report_of(directory, *profiles):
    return subprocess.run([OPTRAIL, "report", "--format", "json", *profiles], cwd=directory,
                          check=True, capture_output=True, text=True).stdout


def case_saved():
    """The profile of a live run has the live report in it; those of several merge."""
    with tempfile.TemporaryDirectory(prefix="optrail-saved-") as directory:
        stores = [Ministore(), Ministore()]
        for fold in ("kernel", "user"):
            for i, store in enumerate(stores):
                tracer = attach("-p", str(store.pid), "--fold", fold, "--format", "json", "--save",
                                f"{directory}/{fold}{i}.profile")
                store.work(WRITES * (i + 1), READS)
                status, live = tracer.finish()
                assert status == 0
                saved = report_of(directory, f"{fold}{i}.profile")
                assert live == saved, f"{fold}:\n{live}\n{saved}"
            merged = json.loads(report_of(directory, f"{fold}0.profile", f"{fold}1.profile"))
            assert counts_of(merged) == {"write": 3 * WRITES, "read": 2 * READS}, merged["ops"]
            assert merged["source"]["daemon"] == "ministore", merged["source"]
        tracer = attach("-p", ",".join(str(store.pid) for store in stores), "--format", "json",
                        "--save", f"{directory}/all.profile")
        tracing.wait_for("all probes", lambda: tracer.said().count(" probes by ") == 2)
        for store in stores:
            store.work()
        status, live = tracer.finish()
        live, saved = json.loads(live), json.loads(report_of(directory, "all.profile"))
        assert status == 0 and counts_of(live) == {"write": 2 * WRITES, "read": 2 * READS}
        # who had which part is said of running daemons only; of profiles, whose they are
        assert saved["source"].pop("id") == ",".join(store.port for store in stores), saved["source"]
        assert live["source"].pop("id") == ""
        assert len(live.pop("sources")) == 2 and saved.pop("sources") == []
        assert live == saved, "\n".join(str(pair) for key in live
                                        for pair in [(live[key], saved.get(key))]
                                        if pair[0] != pair[1])
        for store in stores:
            store.stop()


def case_one_ends():
    """One of two ends: it is said, and the other one is traced on."""
    stores = [Ministore(), Ministore()]
    tracer = attach("-p", f"{stores[0].pid},{stores[1].pid}", "--format", "json")
    tracing.wait_for("all probes", lambda: tracer.said().count(" probes by ") == 2)
    stores[0].work()
    stores[0].kill()
    tracing.wait_for("the end to be noticed", lambda: "has ended" in tracer.said())
    assert not tracer.ended()
    stores[1].work()
    status, output = tracer.finish()
    report = json.loads(output)
    assert status == 0 and counts_of(report) == {"write": 2 * WRITES, "read": 2 * READS}, output
    assert any("ended while it was traced" in note for note in report["notes"]), report["notes"]
    stores[1].stop()


def case_follow():
    """A daemon is killed and started again: with --follow its new process is probed."""
    store = Ministore()
    tracer = attach("-p", str(store.pid), "--follow", "--format", "json")
    store.work()
    for restart in (1, 2):
        store.kill()
        tracing.wait_for("its end to be said",
                         lambda: tracer.said().count("waiting for its next process") == restart)
        store.start()
        tracing.wait_for("its new process to be probed",
                         lambda: tracer.said().count(" probes by ") == 1 + restart)
        store.work()
    status, output = tracer.finish()
    report = json.loads(output)
    assert status == 0 and counts_of(report) == {"write": 3 * WRITES, "read": 3 * READS}, output
    assert any("restarted 2 times" in note for note in report["notes"]), report["notes"]
    assert report["source"]["pid"] == store.pid
    tracing.wait_for("the probes to go", lambda: tracing.changed_code(store.pid) == 0)
    store.stop()


def case_stopped():
    """A daemon that stands still (SIGSTOP) is attached to and left, and goes on as if nothing was."""
    store = Ministore()
    os.kill(store.pid, signal.SIGSTOP)
    tracer = attach("-p", str(store.pid), "--format", "json")
    assert tracing.changed_code(store.pid) > 0
    os.kill(store.pid, signal.SIGCONT)
    store.work()
    os.kill(store.pid, signal.SIGSTOP)
    status, output = tracer.finish()
    assert status == 0 and counts_of(json.loads(output)) == {"write": WRITES, "read": READS}, output
    tracing.wait_for("the probes to go", lambda: tracing.changed_code(store.pid) == 0)
    os.kill(store.pid, signal.SIGCONT)
    store.work()
    store.stop()


def child_named(parent, name):
    """The process with this name below the parent."""
    def look():
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat") as file:
                    line = file.read()
            except OSError:
                continue
            if f"({name})" in line and below(int(pid), parent):
                return int(pid)
        return 0
    return tracing.wait_for(f"{name} below {parent}", look)


def below(pid, ancestor):
    while pid > 1:
        if pid == ancestor:
            return True
        try:
            with open(f"/proc/{pid}/stat") as file:
                pid = int(file.read().rsplit(")", 1)[1].split()[1])
        except OSError:
            return False
    return False


def case_container():
    """A daemon in mount and pid namespaces of its own, with a root that holds nothing but itself:
    neither its path nor its process number means anything out here."""
    if subprocess.run(["unshare", "-m", "-p", "-f", "true"], capture_output=True).returncode:
        tracing.skip("namespaces cannot be made here")
    with tempfile.TemporaryDirectory(prefix="optrail-root-") as root:
        libraries = re.findall(r"(/\S+) \(0x", subprocess.run(
            ["ldd", MINISTORE], check=True, capture_output=True, text=True).stdout)
        for file in libraries:
            os.makedirs(root + os.path.dirname(file), exist_ok=True)
            shutil.copy(file, root + file)
        shutil.copy(MINISTORE, f"{root}/ministore")
        os.mkdir(f"{root}/dev")
        os.mknod(f"{root}/dev/null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        os.mkdir(f"{root}/proc")
        store = Ministore("/ministore", ["unshare", "-m", "-p", "-f", "--kill-child", "chroot",
                                         root], lambda pid: child_named(pid, "ministore"))
        with open(f"/proc/{store.pid}/status") as status:
            inner = re.search(r"NSpid:\s+\d+\s+(\d+)", status.read())[1]
        assert inner == "1", inner
        tracer = attach("-p", str(store.pid), "--format", "json")
        store.work()
        status, output = tracer.finish()
        assert status == 0 and counts_of(json.loads(output)) == {"write": WRITES, "read": READS}
        tracing.wait_for("the probes to go", lambda: tracing.changed_code(store.pid) == 0)

        # and a tracer in namespaces of its own, whose /proc is that of its own processes
        store.kill()
    with tempfile.TemporaryDirectory(prefix="optrail-inner-") as data:
        port = free_port()
        inner = f"""mount -t proc proc /proc
            {MINISTORE!r} --data {data!r} --store memstore --port {port} & store=$!
            until {HERE!r}/ministore_client.py {port} 1 0 2>/dev/null; do :; done
            {OPTRAIL!r} attach -p $store --format json 2>{data!r}/said & tracer=$!
            until grep -q ' probes by ' {data!r}/said; do kill -0 $tracer || exit 1; done
            {HERE!r}/ministore_client.py {port} {WRITES} {READS} >&2
            kill -INT $tracer; wait $tracer; kill $store; wait $store"""
        done = subprocess.run(["unshare", "-m", "-p", "-f", "--kill-child", "bash", "-c", inner],
                              capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    text = done.stdout[done.stdout.index("{"):]
    assert counts_of(json.JSONDecoder().raw_decode(text)[0]) == {"write": WRITES, "read": READS}


def case_deleted():
    """The executable is replaced while it runs, as an upgrade does: the process is what counts."""
    with tempfile.TemporaryDirectory(prefix="optrail-deleted-") as directory:
        program = shutil.copy(MINISTORE, f"{directory}/ministore")
        store = Ministore(program)
        os.unlink(program)
        with open(program, "w") as file:
            file.write("not a program")
        tracer = attach("-p", str(store.pid), "--format", "json")
        store.work()
        status, output = tracer.finish()
        assert status == 0 and counts_of(json.loads(output)) == {"write": WRITES, "read": READS}
        store.stop()


def case_two_tracers():
    """Two tracers on the same sites, one of which goes first; and perf, where it is installed."""
    store = Ministore()
    tracers = [attach("-p", str(store.pid), "--format", "json") for _ in range(2)]
    store.work()
    status, output = tracers[0].finish()
    assert status == 0 and counts_of(json.loads(output)) == {"write": WRITES, "read": READS}
    assert tracing.changed_code(store.pid) > 0, "the second one's probes went with the first one"
    store.work()
    status, output = tracers[1].finish()
    assert status == 0 and counts_of(json.loads(output)) == {"write": 2 * WRITES, "read": 2 * READS}
    tracing.wait_for("the probes to go", lambda: tracing.changed_code(store.pid) == 0)
    store.stop()


def case_without():
    """A kernel without uprobe_multi links is traced by perf events; one without BTF is refused."""
    store = Ministore()
    environment = dict(os.environ, OPTRAIL_WITHOUT="uprobe_multi")
    tracer = tracing.Tracer([OPTRAIL, "attach", "-p", str(store.pid), "--format", "json"],
                            " probes by ", environment)
    assert "by a perf event a probe" in tracer.said(), tracer.said()
    store.work()
    status, output = tracer.finish()
    assert status == 0 and counts_of(json.loads(output)) == {"write": WRITES, "read": READS}
    tracing.wait_for("the probes to go", lambda: tracing.changed_code(store.pid) == 0)
    for without, options, message in (
            ("btf", [], "no type information"),
            ("uprobe_multi", ["--duty", "10%"], "--duty needs uprobe_multi links")):
        done = subprocess.run([OPTRAIL, "attach", "-p", str(store.pid), *options],
                              env=dict(os.environ, OPTRAIL_WITHOUT=without), capture_output=True,
                              text=True)
        assert done.returncode == 1 and message in done.stderr, done.stderr
    tracing.wait_for("the probes to go", lambda: tracing.changed_code(store.pid) == 0)
    store.stop()


def case_capabilities():
    """What is missing is named."""
    store = Ministore()
    for dropped, name in (("-bpf", "CAP_BPF"), ("-perfmon", "CAP_PERFMON"),
                          ("-sys_ptrace", "CAP_SYS_PTRACE")):
        done = subprocess.run(["setpriv", f"--bounding-set={dropped},-sys_admin",
                               f"--inh-caps={dropped},-sys_admin", OPTRAIL, "attach", "-p",
                               str(store.pid), "-d", "0.2"], capture_output=True, text=True)
        assert done.returncode == 1 and f"missing {name}" in done.stderr, (dropped, done.stderr)
        assert done.stdout == "" and done.stderr.count("\n") == 1, done.stderr
    store.stop()


def case_duty():
    """Slices: every op that is counted was seen whole, what is cut is no loss, rates are per traced
    second."""
    store = Ministore()
    tracer = attach("-p", str(store.pid), "--duty", "40%", "-d", "6", "--format", "json")
    made = 0
    while not tracer.ended():
        store.work()
        made += 1
    status, output = tracer.finish(None)
    report = json.loads(output)
    assert status == 0
    source, counts = report["source"], report["counts"]
    assert 0 < source["traced_seconds"] < 0.5 * source["seconds"], source
    ops = sum(op["count"] for op in report["ops"])
    assert 0 < ops < made * (WRITES + READS), (ops, made)
    assert counts["lost_events"] == counts["unmatched_events"] == 0, counts
    assert counts["incomplete"]["open"] == counts["incomplete"]["key_reused"] == 0, counts
    for op in report["ops"]:
        parts = sum(stage["total_ns"] for stage in op["stages"]) + op["unattributed_ns"]
        assert parts == op["total_ns"], op
        assert not op["broken"] if "broken" in op else True
    note = [note for note in report["notes"] if "part of the time" in note]
    slices = int(re.search(r"in (\d+) slices", note[0])[1])
    assert slices >= 3, note
    tracing.wait_for("the probes to go", lambda: tracing.changed_code(store.pid) == 0)
    for wrong in ("0", "100%", "a lot", "10x"):
        done = subprocess.run([OPTRAIL, "attach", "-p", str(store.pid), "--duty", wrong],
                              capture_output=True, text=True)
        assert done.returncode == 2 and "--duty" in done.stderr, done.stderr
    store.stop()


tracing.need_tracing()
globals()[f"case_{CASE}"]()
print(f"{CASE}: as it should be")
