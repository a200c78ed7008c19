#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""annotated.py OPTRAIL MINISTORE MINISTORE-LOAD MAKE-TRACE PATHS: waits that were captured at the
futex get the op and the stage that waiter and holder are in by their place among the probes' events.

A ministore with dumpling's disease: one lock for all directories, held across an open that takes
1 ms. What it tells of that lock itself is the truth for each captured wait. Then all that it tells of
its locks is taken out of the trace: the captured waits alone must lead to the same places.
"""
import bisect
import collections
import contextlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).parent.parent / "bpf"))
import tracing

OPTRAIL, MINISTORE, LOAD, MAKE_TRACE, PATHS = sys.argv[1:6]
EVENT = re.compile(r"^\[(\d+):(\d+):(\d+)\.(\d+)\] .*optrail:(\w+): .*\{ pid = (\d+), tid = (\d+), "
                   r'key = (0x[0-9A-F]+), \w+ = (\d+|"[^"]*"), \w+ = (\d+) \}$')
INDEX = "filestore_index_"
OPEN = "filestore_lfn_open_"
TOLD = ("lock_request", "lock_acquired", "lock_released", "lock_named")
Event = collections.namedtuple("Event", "ns point pid tid key arg0 arg1")


@contextlib.contextmanager
def started(*command, **options):
    process = subprocess.Popen([str(word) for word in command], **options)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def record(place, seconds):
    log = place / "log"
    with open(log, "w") as out, started(
            MINISTORE, "--port", "0", "--store", "filestore", "--data", place / "data",
            "--index-lock", "global", "--fd-cache", "0", "--apply-threads", "6", "--inject",
            "filestore.cold_open=1ms", stdout=out, stderr=out) as daemon:
        port = tracing.wait_for("its port", lambda: next(
            (line.rsplit(":", 1)[1].strip() for line in log.read_text().splitlines(True)
             if line.startswith("listening on ") and line.endswith("\n")), None))
        with started(LOAD, "write", "60", "--port", port, "--depth", "8", "--quiet",
                     stdout=subprocess.DEVNULL):
            subprocess.run([OPTRAIL, "record", "-p", str(daemon.pid), "--locks", "-d",
                            str(seconds), "-o", str(place / "trace")], check=True)


def read(trace):
    text = subprocess.run(["babeltrace2", str(trace)], capture_output=True, text=True, check=True)
    events = []
    for line in text.stdout.splitlines():
        match = EVENT.match(line)
        assert match, line
        hours, minutes, seconds, ns = map(int, match.groups()[:4])
        time = ((hours * 60 + minutes) * 60 + seconds) * 10 ** 9 + ns
        arg0 = match[9] if match[9].startswith('"') else int(match[9])
        events.append(Event(time, match[5], int(match[6]), int(match[7]), match[8], arg0,
                            int(match[10])))
    assert all(one.ns <= other.ns for one, other in zip(events, events[1:])), "not in order"
    return events


class Thread:
    """What it told of the index lock and of its op, in order."""

    def __init__(self):
        self.times, self.points = [], []

    def add(self, event):
        self.times.append(event.ns)
        self.points.append(event.point)

    def last(self, ns):
        """The last point up to this time; "" before the first one."""
        index = bisect.bisect_right(self.times, ns) - 1
        return self.points[index] if index >= 0 else ""


def check_waits(events):
    """Each captured wait stands between its thread's request and its acquisition; its owner is one
    that has the lock, in the middle of lfn_open, or has been given it and will say so next. Until
    when, and the part of the waiting at whose end the owner was still in its lfn_open: None if there
    were too few."""
    lock = next(event.arg0 for event in events if event.point == INDEX + "request")
    threads, asked, waited, captured = collections.defaultdict(Thread), {}, 0, 0
    opening = collections.defaultdict(Thread)
    for event in events:
        if event.point.startswith(OPEN):
            opening[event.tid].add(event)
    told = [event for event in events if event.point.startswith(INDEX)]
    for event in told:
        threads[event.tid].add(event)
    taken = [(event.ns, event.tid) for event in told if event.point == INDEX + "acquired"]
    # probes are put in and taken out one after the other: all are there between these
    times = [[event.ns for event in events if event.point == point]
             for point in (INDEX + "request", INDEX + "acquired", INDEX + "released", "lock_waited")]
    begin, end = max(each[0] for each in times), min(each[-1] for each in times)
    between = owners = holding = waits = in_the_open = 0
    for number, event in enumerate(events):
        length = event.arg0 if event.point == "lock_waited" else 0
        if event.ns - length < begin or event.ns > end:
            continue
        if event.point == INDEX + "request":
            asked[event.tid] = event.ns
        elif event.point == INDEX + "acquired" and event.tid in asked:
            waited += event.ns - asked.pop(event.tid)
        if event.point != "lock_waited" or int(event.key, 16) != lock:
            continue
        waits, captured = waits + 1, captured + event.arg0
        between += threads[event.tid].last(event.ns) == INDEX + "request"
        holder = events[number + 1]
        if holder.point == "lock_counted":
            holder = events[number + 2]
        if holder.point == "lock_holder" and holder.tid == event.tid and holder.arg0 >> 32:
            owners += 1
            owner, since = holder.arg0 >> 32, event.ns - event.arg0
            then = bisect.bisect(taken, (since, 0))
            holding += (threads[owner].last(since) == INDEX + "acquired"
                        or then < len(taken) and taken[then][1] == owner)
            in_the_open += event.arg0 * (opening[owner].last(event.ns) == OPEN + "begin")
    print(f"{waits} waits for the index, {between} between request and acquisition; {owners} owners, "
          f"{holding} of them have it; {captured / 1e6:.0f} ms captured, {waited / 1e6:.0f} ms told")
    if waits <= 100:
        return None, None
    assert between >= 0.98 * waits
    # between the lock and what is told of it a thread may lose its CPU
    assert owners > 0.8 * waits and holding >= 0.9 * owners
    assert 0.85 * waited < captured < 1.1 * waited
    return end, in_the_open / captured


def without_words(events, place):
    """The trace as it were of a daemon that tells nothing of its locks."""
    lines = []
    for event in events:
        if event.point in TOLD or event.point.startswith(INDEX):
            continue
        name = event.point.replace("_", ".", 1)
        lines.append(f"{event.ns // 10 ** 9}.{event.ns % 10 ** 9:09d} {name} {event.pid}/{event.tid} "
                     f"{event.key} {event.arg0} {event.arg1}\n")
    (place / "silent.txt").write_text("".join(lines))
    subprocess.run([MAKE_TRACE, place / "silent.txt", place / "silent"], check=True)
    done = subprocess.run([OPTRAIL, "locks", "--path", PATHS, "--format", "json",
                           place / "silent"], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def main():
    tracing.need_tracing()
    for seconds in (2, 8, 24):  # a busy machine has few waits, and probes that come and go late
        with tempfile.TemporaryDirectory() as directory:
            place = pathlib.Path(directory)
            record(place, seconds)
            events = read(place / "trace")
            names = {event.arg0 for event in events if event.point == "lock_named"}
            assert {'"pg.lock"', '"journal.lock"', '"filestore.index"'} <= names, names
            end, in_the_open = check_waits(events)
            if end:
                report = without_words([event for event in events if event.ns <= end], place)
                break
    assert end, "never more than 100 waits for the index"
    lock = report["locks"][0]
    print({name: lock[name] for name in ("name", "waits", "wait_total_ns", "waiters", "holders")})
    assert lock["waiters"][0]["name"] == "filestore.lfn_open" and lock["waiters"][0]["share"] > 0.9
    # which stage the holder was in is looked up when the wait ends: it may be further then, and is
    # where a waiter gets its CPU late
    part = sum(row["share"] for row in lock["holders"] if row["name"] == "filestore.lfn_open")
    print(f"holders in lfn_open {part:.2f}, in truth {in_the_open:.2f}")
    assert abs(part - in_the_open) < 0.1, (lock["holders"], in_the_open)


main()
