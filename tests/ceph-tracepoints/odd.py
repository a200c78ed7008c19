#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""odd.py OPTRAIL: what a trace of Ceph's own tracepoints may lack, or have wrong, is told and counted."""
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import ceph_requests as ceph
import ceph_trace
import stories
from ceph_requests import Request

NAN = float("nan")


class Odd:
    def __init__(self, optrail, directory):
        self.optrail, self.directory, self.number = optrail, pathlib.Path(directory), 0

    def trace(self, tell, **options):
        self.number += 1
        trace = ceph_trace.Trace(self.directory / f"trace{self.number}", **options)
        tell(trace)
        return trace.write(), len(trace.events)

    def report(self, *traces, status=0, options=()):
        done = subprocess.run([self.optrail, "report", "--format", "json", *options, *traces],
                              capture_output=True, text=True)
        assert done.returncode == status, (done.returncode, done.stderr)
        return json.loads(done.stdout) if done.stdout else done.stderr

    def told(self, tell, status=0, **options):
        trace, _ = self.trace(tell, **options)
        return self.report(trace, status=status)


def other(report, name):
    return report["counts"]["other"].get(name, 0)


def ops(report):
    return {op["type"]: op for op in report["ops"]}


def noted(report, text):
    assert any(text in note for note in report["notes"]), (text, report["notes"])


def tables(report):
    return [(op["type"], op["count"], op["latency_ns"], op["stages"]) for op in report["ops"]]


def contexts(odd):
    whole = odd.told(stories.hammer)
    manual = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "report-json.md").read_text()
    counters = {name for name in whole["counts"]["other"] if name.startswith("ceph_")}
    assert len(counters) == 6 and all(f"`counts.other.{name}`" in manual for name in counters)
    named = odd.told(stories.hammer, contexts=("vpid", "pthread_id"))
    assert tables(whole) == tables(named)
    of_process = odd.told(stories.hammer, contexts=("vtid",), env_pid=ceph.OSD_PID)
    assert tables(whole) == tables(of_process) and of_process["source"]["pid"] == ceph.OSD_PID

    # without threads: the requests by their id, all that has none is counted
    bare = odd.told(stories.hammer, contexts=())
    assert other(bare, "ceph_events_without_thread") == 40 * 2 + 40 * 3 + 30 + 30 * 4, bare["counts"]
    noted(bare, "lttng add-context --userspace --type vpid --type vtid")
    noted(bare, "does not tell which process")
    assert [ops(bare)[name]["count"] for name in ("read", "write", "replica write")] == [41, 30, 5]
    for name in ("write", "replica write"):
        assert ops(bare)[name]["latency_ns"] == ops(whole)[name]["latency_ns"]
        assert ops(bare)[name]["stages"] == ops(whole)[name]["stages"]


def lacking(odd):
    def without(names):
        def tell(trace):
            stories.hammer(trace)
            trace.events = [event for event in trace.events if event[2] not in names]
        return tell
    report = odd.told(without({"oprequest:mark_flag_point"}))
    noted(report, "lacks oprequest:mark_flag_point, without which no write ends")
    assert "write" not in ops(report) and report["counts"]["incomplete"]["open"] == 35
    noted(odd.told(without({"osd:opwq_process_finish"})), "opwq_process_finish, without which no read")
    noted(odd.told(without({"osd:ms_fast_dispatch"})), "ms_fast_dispatch, without which no op begins")
    # a client's library alone is no OSD that lacks anything
    assert not any("lacks" in note for note in odd.told(stories.client)["notes"])


def wrong_types(odd):
    whole = odd.told(stories.hammer)
    text = odd.told(stories.hammer, types={
        "osd:do_osd_op_pre_read": {"length": "str"}, "objectstore:read_enter": {"len": "str"}})
    assert other(text, "malformed_events") == 80, text["counts"]
    assert ops(text)["read"]["count"] == 41 and ops(text)["read"]["bytes"] == 0
    assert ops(text)["write"] == ops(whole)["write"]

    gone = odd.told(stories.hammer, types={"osd:ms_fast_dispatch": {"inc": ""}})
    assert other(gone, "malformed_events") == 40 + 30 + 30 + 1 + 5, gone["counts"]
    noted(gone, "lacks osd:ms_fast_dispatch, without which no op begins")

    message = odd.told(lambda trace: trace.emit(
        1, 1, 1, "osd:ms_fast_dispatch", type="x"), types={"osd:ms_fast_dispatch": {"type": "str"}},
        status=1)
    assert "1 lack the fields they must have" in message, message


def unmapped(odd):
    def tell(trace):
        for i in range(9):
            trace.emit(i + 1, 1, 1, "eventtrace:func_exit", file="OSD.cc", func="dequeue_op")
    message = odd.told(tell, status=1)
    assert "of its 9 events of Ceph's own tracepoints no op can be made: enable 'osd:*'" in message, (
        message)

    def mixed(trace):
        stories.client(trace)
        tell(trace)
    assert other(odd.told(mixed), "ceph_events_unmapped") == 10


def twice(odd):
    def ours(pid):
        def tell(trace):
            stories.hammer(trace)
            trace.emit(200000, 1, 1, "optrail:op_start", pid=pid, tid=3, key=0x5000, type=42)
        return tell
    noted(odd.told(ours(ceph.OSD_PID)), "each of them counts twice")
    apart = odd.told(ours(4444))
    assert not any("twice" in note for note in apart["notes"]), apart["notes"]
    assert apart["counts"]["incomplete"]["open"] == 1


def again(odd):
    def tell(trace):
        for _ in range(2):  # the client sends it once more, before it was answered
            Request(trace, 100 * len(trace.events), tid=5).hammer_arrives(ceph.WRITE, 10, 20)
    report = odd.told(lambda trace: (stories.hammer(trace), tell(trace)))
    assert report["counts"]["incomplete"]["key_reused"] == 1, report["counts"]


def extremes(odd):
    """Numbers that no OSD has."""
    top, least = 2**64 - 1, -2**63

    def tell(trace):
        for i, seconds in enumerate((NAN, float("inf"), -1.0, 1e300, 5e-324, 1e-4)):
            write = Request(trace, 1000 * i + 1000, tid=top - i, num=least + i)
            write.pacific_arrives(1, 1)
            write.flags(-1 if i % 2 else ceph.WRITE)
            write.starts(1, 1)
            for _ in range(3):
                write.emit("osd:do_osd_op_pre_write", length=top)
            write.prepares(1)
            write.mark(ceph.SENT, ("from ", "", "from " + "," * 999, "x" * 70000)[i % 4])
            write.txc("initial_state", top, throttle_time=seconds)
            for state in range(-128, 128):
                write.txc("state_duration", top, state=state)
            write.txc("commit_latency", top)
            write.mark(0)
            write.mark(255, "from")
            write.leaves(1)
            write.wait(1).commit_sent()
    report = odd.told(tell)
    counts = {op["type"]: op["count"] for op in report["ops"]}
    assert counts == {"write": 3, "class method": 3}, counts
    assert all(op["latency_ns"]["max"] < 10**6 for op in report["ops"])


def many(odd):
    """More open requests than there is room for: those that had to go are counted."""
    def tell(trace):
        for i in range(60000):
            trace.emit(1000 + i, 1, 1, "osd:ms_fast_dispatch", type=8, num=1, tid=i)
        for i in range(100):
            Request(trace, 100000 + i * 100, tid=i, num=2).hammer_arrives(ceph.READ, 1, 1)
            Request(trace, 100003 + i * 100, tid=i, num=2).leaves(1)
    report = odd.told(tell)
    gone = other(report, "ceph_requests_forgotten")
    assert 60100 - 32768 <= gone < 60100, gone
    assert ops(report)["read"]["count"] == 100
    assert report["counts"]["incomplete"]["open"] + report["counts"]["incomplete"]["evicted"] == 60000


def profiles(odd):
    """A saved profile tells the same, and adds up."""
    trace, _ = odd.trace(stories.hammer)
    saved = odd.directory / "saved"
    direct = odd.report(trace, options=("--save", saved))
    assert odd.report(saved) == direct
    more, _ = odd.trace(stories.pacific)
    both = odd.report(saved, more)
    assert other(direct, "ceph_events") > 0
    assert other(both, "ceph_events") == sum(other(report, "ceph_events")
                                             for report in (direct, odd.report(more)))


def garbage(odd):
    """Any event after any other: every one is counted, and nothing else happens."""
    for seed in range(6):
        chance = random.Random(seed)
        names = [name for name in ceph_trace.EVENTS if not name.startswith("optrail:")]

        def value(kind, chance=chance):
            if kind == "str":
                return chance.choice(("", "waiting for subops from 1,2", "waiting for", "from"))
            if kind == "double":
                return chance.choice((0.0, 1e-5, NAN, -1.0))
            _, bits, signed = ceph_trace.INTEGERS[kind]
            few = chance.choice((0, 1, 2, 4, 8, 16, 32, 20, 64))
            return chance.choice((few, few, few, 2**(bits - signed) - 1))

        def tell(trace, chance=chance, names=names, value=value):
            for i in range(4000):
                name = chance.choice(names)
                trace.emit(i + 1, chance.randrange(3), chance.randrange(4), name,
                           **{field: value(kind) for field, kind in trace.types[name].items()})
        trace, count = odd.trace(tell)
        report = odd.report(trace)
        assert other(report, "ceph_events") == count == 4000, report["counts"]
        assert other(report, "malformed_events") == 0


def main(optrail):
    with tempfile.TemporaryDirectory(prefix="optrail-test-") as directory:
        odd = Odd(optrail, directory)
        for test in (contexts, lacking, wrong_types, unmapped, twice, again, extremes, many, profiles,
                     garbage):
            test(odd)
            print(f"{test.__name__}: fine")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
