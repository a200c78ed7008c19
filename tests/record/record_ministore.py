#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records a ministore by eBPF: the trace says what a live report says, whatever happens.

usage: record_ministore.py OPTRAIL MINISTORE CASE
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import recording
from recording import READS, WRITES, Ministore, ops, tracing

OPTRAIL, MINISTORE, CASE = sys.argv[1:4]
BOTH = {"write": WRITES, "read": READS}


def record(store, trace, *options):
    return tracing.Tracer([OPTRAIL, "record", "-p", str(store.pid), "-o", str(trace), *options],
                          " probes by ")


def finish(recorder, status=0, number=signal.SIGINT):
    """Ends it; what it said."""
    if number:
        recorder.process.send_signal(number)
    tracing.wait_for("optrail to end", recorder.ended)
    said = recorder.said()
    ended, _ = recorder.finish(None)
    assert ended == status, (ended, said)
    return said


def same(live, recorded):
    """Two reports of one run: every figure of them."""
    with open(live) as file:
        live = json.load(file)
    assert live["ops"] and live["counts"]["events"] > 0, live["counts"]
    for key in sorted(live.keys() | recorded.keys()):
        assert live.get(key) == recorded.get(key), (key, live.get(key), recorded.get(key))


def case_same_report(directory):
    """The report on the trace is the live report of the same run, in each figure; babeltrace2
    finds every event."""
    for number, options in enumerate((["--store", "filestore"],
                                      ["--store", "memstore", "--messenger", "async"])):
        with Ministore(MINISTORE, *options) as store:
            trace = directory / f"trace{number}"
            recorder = record(store, trace, "--json", f"{directory}/live.json")
            store.work()
            said = finish(recorder)
            recorded = recording.report(OPTRAIL, trace)
            assert ops(recorded) == BOTH, recorded["ops"]
            assert recorded["source"]["daemon"] == "ministore", recorded["source"]
            assert recorded["source"]["kind"] == "bpf", recorded["source"]
            assert recorded["cpu"]["known"] and recorded["cpu"]["run_ns"] > 0, recorded["cpu"]
            same(f"{directory}/live.json", recorded)
            events = recorded["counts"]["events"]
            assert f"{events} events recorded, 0 lost" in said, said
            lines = subprocess.run(["babeltrace2", trace], check=True, capture_output=True,
                                   text=True).stdout.count("\n")
            assert lines == events, (lines, events)


def has_pending(pid, number):
    """Whether the signal still waits to be handled by the process."""
    with open(f"/proc/{pid}/status") as file:
        return any(int(line.split()[1], 16) >> (number - 1) & 1
                   for line in file if line.startswith(("ShdPnd", "SigPnd")))


def case_signalled_twice(directory):
    """As timeout(1) does, which signals the process and its group: the trace is whole."""
    with Ministore(MINISTORE, "--store", "memstore") as store:
        recorder = record(store, directory / "trace")
        store.work()
        recorder.process.send_signal(signal.SIGINT)
        while has_pending(recorder.process.pid, signal.SIGINT):
            pass
        said = finish(recorder)
        assert " 0 lost" in said, said
        read = recording.report(OPTRAIL, directory / "trace")
        assert ops(read) == BOTH and not any("come to an end" in note for note in read["notes"])


def case_killed(directory):
    """SIGKILL: what was recorded until then can be read, and the daemon works on."""
    with Ministore(MINISTORE, "--store", "memstore") as store:
        trace = directory / "trace"
        recorder = record(store, trace)
        store.work()
        stream = trace / f"ministore.{store.pid}" / "stream"
        sizes = [0]

        def all_written():
            """20 events an op at least, of 52 bytes each, and no more for a second."""
            sizes.append(len(stream.read_bytes().rstrip(b"\0")) if stream.exists() else 0)
            return sizes[-1] > (WRITES + READS) * 20 * 52 and len(set(sizes[-10:])) == 1

        tracing.wait_for("the events to be written", lambda: time.sleep(0.1) or all_written())
        status, _ = recorder.finish(signal.SIGKILL)
        assert status == -signal.SIGKILL
        tracing.wait_for("the probes to go", lambda: tracing.changed_code(store.pid) == 0)
        store.work()
        read = recording.report(OPTRAIL, trace, status=1)
        assert 0.9 * (WRITES + READS) < read["counts"]["ops"] <= WRITES + READS, read["counts"]
        assert any("did not come to an end" in note for note in read["notes"]), read["notes"]
        assert read["source"]["store"] == "memstore", read["source"]


def case_full_disk(directory):
    """The disk is full: the message, exit status 1, and a trace of what there was. The daemon is
    not probed any longer."""
    small = directory / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", small],
                             capture_output=True, text=True)
    if mounted.returncode:
        tracing.skip(f"no file system of its own: {mounted.stderr.strip()}")
    try:
        with Ministore(MINISTORE, "--store", "memstore") as store:
            recorder = record(store, small / "trace", "--json", f"{directory}/live.json")
            store.work(3000, 2000)
            said = finish(recorder, status=1, number=None)
            assert "the disk is full" in said, said
            tracing.wait_for("the probes to go", lambda: tracing.changed_code(store.pid) == 0)
            read = recording.report(OPTRAIL, small / "trace")
            with open(f"{directory}/live.json") as file:
                live = json.load(file)
            assert read["counts"]["ops"] > 0 and read["ops"] == live["ops"], (read, live)
            assert any("did not come to an end" in note for note in read["notes"]), read["notes"]
    finally:
        subprocess.run(["umount", small], check=True)


def case_write_error(directory):
    """A write fails though the disk has room, as with a quota: the same."""
    with Ministore(MINISTORE, "--store", "memstore") as store:
        limited = "trap '' XFSZ; ulimit -f 4000; exec \"$@\""
        recorder = tracing.Tracer(["sh", "-c", limited, "sh", OPTRAIL, "record", "-p",
                                   str(store.pid), "-o", f"{directory}/trace"], " probes by ")
        store.work(3000, 2000)
        said = finish(recorder, status=1, number=None)
        assert "cannot be written any further" in said, said
        read = recording.report(OPTRAIL, directory / "trace", status=1)
        assert read["counts"]["ops"] > 500, read["counts"]


def case_exists(directory):
    """A recording is replaced with --force; anything else never is."""
    with Ministore(MINISTORE, "--store", "memstore") as store:
        pid = str(store.pid)
        for _ in range(2):
            recorder = record(store, directory / "trace", "--force")
            store.work()
            finish(recorder)
            assert ops(recording.report(OPTRAIL, directory / "trace")) == BOTH
        recording.refused(OPTRAIL, 1, "--force", "-p", pid, "-o", directory / "trace")
        assert ops(recording.report(OPTRAIL, directory / "trace")) == BOTH
        # what somebody keeps in there is no part of it
        (directory / "trace" / "letter").write_text("dear")
        recording.refused(OPTRAIL, 1, "letter: is no part of a recording", "-p", pid, "--force",
                          "-o", directory / "trace")
        assert (directory / "trace" / "letter").read_text() == "dear"
        (directory / "trace" / "letter").unlink()
        finish(record(store, directory / "trace", "--force"))
        (directory / "mine").mkdir()
        (directory / "mine" / "letter").write_text("dear")
        (directory / "file").write_text("dear")
        for name in ("mine", "file"):
            recording.refused(OPTRAIL, 1, "is no recording of optrail", "-p", pid, "--force", "-o",
                              directory / name)
        assert (directory / "mine" / "letter").read_text() == "dear"
        assert (directory / "file").read_text() == "dear"
        (directory / "empty").mkdir()
        finish(record(store, directory / "empty"))


def case_unwritable(directory):
    """A place that cannot be written is told before anything is probed."""
    del directory
    with Ministore(MINISTORE, "--store", "memstore") as store:
        said = recording.refused(OPTRAIL, 1, "/proc/no-place: cannot be made", "-p",
                                 str(store.pid), "-o", "/proc/no-place/trace")
        assert "probes by" not in said and said.count("\n") == 1, said


def case_daemon_ends(directory):
    """The daemon ends first: the trace has what there was."""
    with Ministore(MINISTORE, "--store", "memstore") as store:
        recorder = record(store, directory / "trace")
        store.work()
        store.stop()
        said = finish(recorder, number=None)
        assert "has ended" in said, said
        read = recording.report(OPTRAIL, directory / "trace")
        assert ops(read) == BOTH, read["ops"]
        assert any("ended while it was traced" in note for note in read["notes"]), read["notes"]


def case_two_at_once(directory):
    """Two recordings of one daemon: both are whole."""
    with Ministore(MINISTORE, "--store", "memstore") as store:
        recorders = [record(store, directory / name) for name in ("one", "two")]
        store.work()
        for recorder in recorders:
            finish(recorder)
        for name in ("one", "two"):
            assert ops(recording.report(OPTRAIL, directory / name)) == BOTH


def case_two_daemons(directory):
    """Two daemons in one recording: a trace each, and one report on both."""
    with Ministore(MINISTORE, "--store", "memstore") as one, \
            Ministore(MINISTORE, "--store", "memstore") as other:
        recorder = tracing.Tracer([OPTRAIL, "record", "-p", f"{one.pid},{other.pid}", "-o",
                                   f"{directory}/trace"], f"(pid {other.pid}): ")
        one.work()
        other.work(WRITES // 2, READS // 2)
        finish(recorder)
        assert ops(recording.report(OPTRAIL, directory / "trace" / f"ministore.{one.pid}")) == BOTH
        both = ops(recording.report(OPTRAIL, directory / "trace"))
        assert both == {"write": WRITES * 3 // 2, "read": READS * 3 // 2}, both


def longest_gap(trace):
    """Of the time between two events of a daemon's probes, as a part of the whole."""
    lines = subprocess.run(["babeltrace2", "--clock-seconds", trace], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    times = [float(re.match(r"\[([0-9.]+)\]", line)[1]) for line in lines
             if not re.search(" optrail:(lock|stack|thread)_", line)]
    assert len(times) > 1000, len(times)
    return max(later - time for time, later in zip(times, times[1:])) / (times[-1] - times[0])


def case_captures_of_two(directory):
    """Two daemons that never rest, and what their threads wait for: nothing of the first one is
    lost, or put at another time, while the captures of the second are prepared."""
    with Ministore(MINISTORE, "--store", "memstore") as one, \
            Ministore(MINISTORE, "--store", "memstore") as other:
        clients = [subprocess.Popen([f"{recording.HERE}/../bpf/ministore_client.py", store.port,
                                     "10000000", "0"]) for store in (one, other)]
        try:
            recorder = tracing.Tracer([OPTRAIL, "record", "-p", f"{one.pid},{other.pid}", "--locks",
                                       "--samples", "wall", "-d", "2", "-o", f"{directory}/trace"],
                                      f"(pid {other.pid}): ")
            finish(recorder, number=None)
        finally:
            for client in clients:
                client.kill()
                client.wait()
        for store in (one, other):
            trace = directory / "trace" / f"ministore.{store.pid}"
            counts = recording.report(OPTRAIL, trace)["counts"]
            assert counts["other"].get("moved_events", 0) == 0, counts
            gap = longest_gap(trace)
            assert gap < 0.2, (store.pid, gap)


def case_snapshots(directory):
    """A flight recorder writes at SIGUSR1 and at the end, and no op into two snapshots."""
    with Ministore(MINISTORE, "--store", "memstore") as store:
        trace = directory / "trace" / f"ministore.{store.pid}"
        recorder = record(store, directory / "trace", "--snapshot", "60")
        store.work()
        assert not (trace / "snapshot-1").exists()
        recorder.process.send_signal(signal.SIGUSR1)
        tracing.wait_for("the snapshot", lambda: "snapshot-1:" in recorder.said())
        store.work(100, 50)
        # sooner than 60 s after the first: it waits, at most to the end
        recorder.process.send_signal(signal.SIGUSR1)
        said = finish(recorder)
        assert "(signal)" in said and "snapshot-2" in said and "snapshot-3" not in said, said
        first, second = (recording.report(OPTRAIL, trace / f"snapshot-{i}") for i in (1, 2))
        assert ops(second) == {"write": 100, "read": 50}, second["ops"]
        assert ops(first) == BOTH, first["ops"]
        both = recording.report(OPTRAIL, directory / "trace")
        assert both["counts"]["ops"] == WRITES + READS + 150, both["counts"]
        # counters go on from snapshot to snapshot: they are not added up
        assert both["counts"]["other"] == second["counts"]["other"], (both, second)


def case_slower(directory):
    """Slow ops cause snapshots, up to the limit; without slow ops there is none."""
    with Ministore(MINISTORE, "--store", "memstore") as store:
        recorder = record(store, directory / "all", "--snapshot", "0.1", "--slower-than", "1us",
                          "--snapshots", "2")
        tracing.wait_for("both", lambda: store.work() or "snapshot-2:" in recorder.said())
        store.work()
        said = finish(recorder)
        assert "snapshot-3" not in said, said
        assert re.search(r"more snapshot( was|s were) asked for", said), said
        read = recording.report(OPTRAIL, directory / "all")
        assert read["counts"]["ops"] > 0, read["counts"]
        recorder = record(store, directory / "none", "--snapshot", "5", "--slower-than", "60s")
        store.work()
        said = finish(recorder)
        assert "no snapshot was asked for" in said, said
        assert not list((directory / "none").rglob("snapshot-*"))


def case_wrong_use(directory):
    """Options that do not go together are refused before anything is made."""
    trace = str(directory / "trace")
    for message, *arguments in (
            ("say where to", "-p", "1"),
            ("say which daemons", "-o", trace),
            ("--slower-than needs --snapshot", "-p", "1", "-o", trace, "--slower-than", "1s"),
            ("are for --lttng", "-p", "1", "-o", trace, "--session", "x"),
            ("are for --lttng", "-p", "1", "-o", trace, "--ceph"),
            ("no number of seconds", "-p", "1", "-o", trace, "-d", "1h")):
        recording.refused(OPTRAIL, 2, message, *arguments)
    assert not os.path.exists(trace)


tracing.need_tracing()
with tempfile.TemporaryDirectory(prefix="optrail-record-") as place:
    globals()[f"case_{CASE}"](pathlib.Path(place))
print(f"{CASE}: as it should be")
