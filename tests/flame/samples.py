#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""samples.py OPTRAIL MINISTORE MINISTORE-LOAD PATH: samples that are recorded beside the op's events
know what their threads worked for.

A ministore spins for known times in one function, `inject_delay`: 50 us in one stage of each write,
30 us in another of each op; and it sleeps 3 ms there in a third stage. So of the CPU time of either
stage most is in that function, below the one that the stage is about, and adds up to what was spun.
"""
import collections
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).parent.parent / "bpf"))
import tracing

OPTRAIL, MINISTORE, LOAD, PATH = sys.argv[1:5]
SPIN = {"filestore.write": 50e3, "osd.prepare": 30e3}
FUNCTION = {"filestore.write": "write_object", "osd.prepare": "process"}
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


def check_spun(stacks, samples, function):
    """All are below the function that the stage is about, and most in what spins there, within what so
    few samples can tell."""
    worst = stacks.most_common(5)
    assert samples > 0 and share(stacks, "inject_delay") > 0.7 - 3 * (0.21 / samples) ** 0.5, worst
    known = collections.Counter({stack: value for stack, value in stacks.items()
                                 if "start_thread" in stack})
    assert known.total() > 0.9 * stacks.total() and share(known, function) > 0.9, worst


def check_stages(trace):
    """What is spun is in the stage where it is spun, and as much of it as there is."""
    spun = {}
    for stage in SPIN:
        stacks, _ = flame("--kind", "cpu", "--weight", "time", "--stage", stage, trace)
        check_spun(stacks, stacks.total() * RATE / 1e9, FUNCTION[stage])
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


def check_live(process, place):
    """The same of the running daemon at once: by a trace that is gone when it is drawn, or when
    optrail is."""
    place.mkdir()
    environment = os.environ | {"TMPDIR": str(place)}
    options = ["flame", "-p", str(process.pid), "--path", PATH, "--op", "write", "--stage",
               "filestore.write", "--format", "collapsed"]
    done = subprocess.run([OPTRAIL, *options, "-d", "2", "--rate", str(RATE)], capture_output=True,
                          text=True, env=environment)
    assert done.returncode == 0, done.stderr
    stacks = collections.Counter()
    for line in done.stdout.splitlines():
        stacks[tuple(line.rsplit(" ", 1)[0].split(";"))] += int(line.rsplit(" ", 1)[1])
    check_spun(stacks, stacks.total(), FUNCTION["filestore.write"])
    assert "drawn from a trace of" in done.stderr and not list(place.iterdir()), done.stderr
    for number, status in ((signal.SIGINT, 0), (signal.SIGKILL, -signal.SIGKILL)):
        with started(OPTRAIL, *options, "--kind", "wall", env=environment,
                     stdout=subprocess.DEVNULL) as drawing:
            tracing.wait_for("what is recorded", lambda: any(
                file.stat().st_size > 100000 for file in place.rglob("*") if file.is_file()))
            drawing.send_signal(number)
            assert drawing.wait(60) == status, (number, drawing.returncode)
        tracing.wait_for("the trace to be removed", lambda: not list(place.iterdir()))
    for option, name, known in (("--op", "nosuch", "write"), ("--stage", "filestore.nosuch", "filestore.write")):
        refused = subprocess.run([OPTRAIL, "flame", "-p", str(process.pid), option, name, "-d", "600"],
                                 capture_output=True, text=True, env=environment, timeout=100)
        assert refused.returncode == 2 and not list(place.iterdir()), refused
        assert f"{option}: there is no '{name}' among " in refused.stderr and known in refused.stderr
    failed = subprocess.run([OPTRAIL, *options], capture_output=True, text=True,
                            env=os.environ | {"TMPDIR": str(place / "none")})
    assert failed.returncode == 1 and "TMPDIR" in failed.stderr, failed.stderr
    check_failures_name_nothing_gone(options, place)


def check_failures_name_nothing_gone(options, place):
    small = place / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1500k", "none", small],
                             capture_output=True, text=True)
    if mounted.returncode == 0:
        try:
            failed = subprocess.run([OPTRAIL, *options], capture_output=True, text=True,
                                    env=os.environ | {"TMPDIR": str(small)})
        finally:
            subprocess.run(["umount", small], check=True)
        assert failed.returncode == 1, failed.stderr
        assert "the disk is full where the events are recorded" in failed.stderr, failed.stderr
        assert "optrail-flame-" not in failed.stderr and "kept" not in failed.stderr, failed.stderr
    # a write fails though the disk has room
    limited = "trap '' XFSZ; ulimit -f 600; exec \"$@\""
    failed = subprocess.run(["sh", "-c", limited, "sh", OPTRAIL, *options, "-d", "60"],
                            capture_output=True, text=True)
    assert failed.returncode == 1 and "recorded until they are drawn" in failed.stderr, failed.stderr
    assert "optrail-flame-" not in failed.stderr, failed.stderr


def check_no_ops(place):
    place.mkdir()
    with open(place / "log", "w") as out, started(
            MINISTORE, "--port", "0", "--data", place / "data", "--store", "memstore", stdout=out,
            stderr=out) as process:
        tracing.wait_for("its port", lambda: "listening on" in (place / "log").read_text())
        for options, words in ((["--kind", "lock", "--op", "write"], "no op and no sample was seen"),
                               (["--format", "perfetto"], "no op and no sample was seen")):
            done = subprocess.run([OPTRAIL, "flame", "-p", str(process.pid), "-d", "1", *options],
                                  capture_output=True, text=True)
            assert done.returncode == 1 and words in done.stderr, done.stderr
            assert "optrail-flame-" not in done.stderr, done.stderr


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
            check_live(process, place / "temporary")
        check_no_ops(place / "idle")
        check_stages(trace)
        check_types(trace)
        report = json.loads(subprocess.run([OPTRAIL, "report", "--format", "json", str(trace)],
                                           capture_output=True, text=True, check=True).stdout)
        assert report["ops"], report


main()
