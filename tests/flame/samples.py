#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""samples.py OPTRAIL MINISTORE MINISTORE-LOAD PATH: samples that are recorded beside the op's events
know what their threads worked for.

A ministore spins for known times in one function, `inject_delay`: 50 us in one stage of each write,
30 us in another of each op; and it sleeps 3 ms there in a third stage. So of the CPU time of either
stage nearly all is in that function, and of the two they are as the program's counters say.
"""
import collections
import contextlib
import json
import pathlib
import signal
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).parent.parent / "bpf"))
import tracing

OPTRAIL, MINISTORE, LOAD, PATH = sys.argv[1:5]
SPIN = {"filestore.write": 50e3, "osd.prepare": 30e3}
SLEEP = "filestore.read"
RATE = 997  # not in step with the scheduler's own tick


@contextlib.contextmanager
def started(*command, **options):
    process = subprocess.Popen([str(word) for word in command], **options)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def daemon(place):
    log = place / "log"
    with open(log, "w") as out, started(
            MINISTORE, "--port", "0", "--data", place / "data", "--stats", place / "stats",
            "--wbthrottle", "off", *[word for stage, ns in SPIN.items()
              for word in ("--inject", f"{stage}={ns:.0f}ns")],
            "--inject", f"{SLEEP}=3ms", stdout=out, stderr=out) as process:
        port = tracing.wait_for("its port", lambda: next(
            (line.rsplit(":", 1)[1].strip() for line in log.read_text().splitlines(True)
             if line.startswith("listening on ") and line.endswith("\n")), None))
        with started(LOAD, "mixed", "60", "--port", port, "--depth", "8", "--reads", "20", "--quiet",
                     stdout=subprocess.DEVNULL):
            yield process


def flame(*arguments, status=0):
    done = subprocess.run([OPTRAIL, "flame", "--format", "collapsed", "--path", PATH,
                           *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == status, (arguments, done.stderr)
    stacks = collections.Counter()
    for line in done.stdout.splitlines():
        stack, value = line.rsplit(" ", 1)
        stacks[tuple(stack.split(";"))] += int(value)
    return stacks, done.stderr


def share(stacks, frame):
    return sum(value for stack, value in stacks.items() if frame in stack) / stacks.total()


def check_stages(trace):
    """What is spun is in the stage where it is spun, and as much of it as there is."""
    spun = {}
    for stage in SPIN:
        stacks, _ = flame("--kind", "cpu", "--weight", "time", "--stage", stage, trace)
        assert share(stacks, "inject_delay") > 0.85, (stage, stacks)
        spun[stage] = sum(value for stack, value in stacks.items() if "inject_delay" in stack)
    events = subprocess.run(["babeltrace2", str(trace)], capture_output=True, text=True,
                            check=True).stdout
    passes = {"filestore.write": events.count("optrail:filestore_write_end:"),
              "osd.prepare": events.count("optrail:osd_prepared:")}
    for stage, ns in spun.items():
        truth = passes[stage] * SPIN[stage]
        samples = ns * RATE / 1e9
        # within what so few samples can tell (three sigmas), and 15 %
        assert abs(ns - truth) < truth * (0.15 + 3 / samples ** 0.5), (stage, ns, truth)
        print(f"{stage}: {samples:.0f} samples say {ns / 1e6:.1f} ms, spun {truth / 1e6:.1f} ms")


def check_types(trace):
    """The same function, apart by the type of op; the slowest ops are fewer."""
    writes, _ = flame("--kind", "cpu", "--op", "write", "--by", "op,stage", trace)
    assert writes and all(stack[0] == "write" for stack in writes), writes
    reads, _ = flame("--kind", "cpu", "--op", "read", "--by", "stage", trace)
    assert all(stack[0] != "filestore.write" for stack in reads), reads
    sleeps, _ = flame("--kind", "offcpu", "--op", "read", "--stage", SLEEP, "--by", "reason", trace)
    slept = share(sleeps, "sleep")
    assert slept > 0.8, sleeps
    slowest, said = flame("--kind", "wall", "--op", "write", "--tail", "10%", trace)
    all_writes, _ = flame("--kind", "wall", "--op", "write", trace)
    assert 0 < slowest.total() < all_writes.total() and "the slowest ops: " in said, said
    wakers, _ = flame("--kind", "offcpu", "--wakers", trace)
    assert any("-- woken by" in stack for stack in wakers), wakers


def main():
    tracing.need_tracing()
    with tempfile.TemporaryDirectory() as directory:
        place = pathlib.Path(directory)
        trace = place / "trace"
        with daemon(place) as process:
            done = subprocess.run([OPTRAIL, "record", "-p", str(process.pid), "--samples", "wall",
                                   "--rate", str(RATE), "-d", "3", "-o", str(trace)],
                                  capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            print(done.stderr)
        check_stages(trace)
        check_types(trace)
        report = json.loads(subprocess.run([OPTRAIL, "report", "--format", "json", str(trace)],
                                           capture_output=True, text=True, check=True).stdout)
        assert report["ops"], report


main()
