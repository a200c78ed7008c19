#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cpu.py OPTRAIL MINISTORE MINISTORE-LOAD: a daemon that waits for a CPU.

ministore may run on one CPU only, on which programs run that never sleep. The kernel's own counters
of its threads are read beside optrail: the report must have the same sums, and name the cause. With
`none` for programs beside it, the figures must be right as well.
"""
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

sys.path.append(str(pathlib.Path(__file__).parent.parent / "bpf"))
import tracing

OPTRAIL, MINISTORE, LOAD = sys.argv[1:4]
BESIDE = 3
SECONDS = 3
ENOUGH_OPS = 200  # a daemon that hardly gets a CPU needs longer for them


def times(pid):
    """What its threads ran and waited so far, ns, as the kernel counts."""
    run = wait = 0
    for thread in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            words = (thread / "schedstat").read_text().split()
            run, wait = run + int(words[0]), wait + int(words[1])
    return run, wait


@contextlib.contextmanager
def started(*command, **options):
    process = subprocess.Popen(command, **options)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def daemon(directory, cpu):
    log = pathlib.Path(directory) / "log"
    with open(log, "w") as out, started(
            "taskset", "-c", str(cpu), MINISTORE, "--port", "0", "--store", "memstore", "--shards",
            "2", stdout=out, stderr=out) as process:
        port = tracing.wait_for("its port", lambda: next(
            (line.rsplit(":", 1)[1].strip() for line in log.read_text().splitlines(True)
             if line.startswith("listening on ") and line.endswith("\n")), None))
        yield process, port


def watch(directory, pid):
    """The report, and the kernel's sums from before optrail's first look to behind its last."""
    out = pathlib.Path(directory) / "report.json"
    before = times(pid)
    subprocess.run([OPTRAIL, "attach", "-p", str(pid), "-d", str(SECONDS), "--fold", "user", "--json", out,
                    "-o", "/dev/null"], check=True, stderr=subprocess.DEVNULL)
    after = times(pid)
    return json.loads(out.read_text()), [now - then for now, then in zip(after, before)]


def recorded(directory, pid):
    """What the report of a trace says that has enough ops for a verdict."""
    for seconds in (SECONDS, 3 * SECONDS, 9 * SECONDS):
        trace = pathlib.Path(directory) / f"trace-{seconds}"
        subprocess.run([OPTRAIL, "record", "-p", str(pid), "-d", str(seconds), "-o", trace],
                       check=True, stderr=subprocess.DEVNULL)
        report = json.loads(subprocess.run([OPTRAIL, "report", trace, "--format", "json"], check=True,
                                           capture_output=True, text=True).stdout)
        if report["counts"]["ops"] >= ENOUGH_OPS:
            break
    return report


def check_verdict(report):
    for verdict in report["verdict"]:
        print(verdict["cause"], verdict["share"], verdict["text"])
    # where ops come in bursts, how long threads were wanted is not known well: part of the time then
    # stays with the queue that they are late for
    causes = {verdict["cause"]: verdict for verdict in report["verdict"]}
    assert "cpu" in causes and causes["cpu"]["share"] > 0.25, report["verdict"]
    assert set(causes) <= {"cpu", "queue:opqueue.wait"}, causes
    first = report["verdict"][0]
    assert any("waited for a CPU" in text for text in first["evidence"]), first


def main():
    tracing.need_tracing()
    cpu = max(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack() as beside, \
            daemon(directory, cpu) as (process, port):
        for _ in range(BESIDE):
            beside.enter_context(started("taskset", "-c", str(cpu), sys.executable, "-c",
                                         "while True: pass"))
        with started(LOAD, "write", "60", "--port", port, "--depth", "8", "--quiet",
                     stdout=subprocess.DEVNULL):
            report, (run, wait) = watch(directory, process.pid)
            trace = recorded(directory, process.pid)
    cpu_row = report["cpu"]
    print(json.dumps(cpu_row), run, wait)
    assert cpu_row["known"] and cpu_row["cpus"] == 1 and cpu_row["busy"] > 0.9, cpu_row
    assert 0 < cpu_row["run_ns"] <= run and 0 < cpu_row["wait_ns"] <= wait, (cpu_row, run, wait)
    # optrail's own beginning and end lie between the two looks of this test, and not of its own
    assert cpu_row["wait_ns"] > 0.5 * wait, (cpu_row, wait)
    check_verdict(report)
    # a trace has the sums of the time in which it was recorded
    assert trace["cpu"]["known"] and trace["cpu"]["cpus"] == 1 and trace["cpu"]["run_ns"] > 0, trace
    assert trace["cpu"]["seconds"] >= SECONDS, trace["cpu"]
    check_verdict(trace)


main()
