#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`optrail bench overhead` on a ministore: what it prints, and that the daemon is as it was.

usage: overhead.py OPTRAIL MINISTORE_DIRECTORY CASE
"""
import atexit
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

OPTRAIL, os.environ["MINISTORE_PROGRAMS"] = map(os.path.abspath, sys.argv[1:3])
CASE = sys.argv[3]
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", folder) for folder in ("ministore", "bpf")]

import ministore  # noqa: E402
import tracing  # noqa: E402

FIGURES = ["throughput_off", "throughput_ratio", "latency_ratio", "daemon_cpu_off_us",
           "daemon_cpu_added_us", "tracer_cpu_us", "added_cpu_us"]


class Bench:
    """A ministore, and the words that put load on it."""

    def __init__(self, *options):
        self.directory = tempfile.mkdtemp(prefix="optrail-overhead-test-")
        self.daemon = ministore.Daemon(self.directory, "--store", "memstore", *options)
        self.pid = self.daemon.process.pid
        atexit.register(self.end)  # also where the test fails
        self.load = [os.path.join(os.environ["MINISTORE_PROGRAMS"], "ministore-load"), "write",
                     "600", "--port", str(self.daemon.port), "--depth", "2", "--objects", "64"]

    def command(self, *options, load=True):
        return [OPTRAIL, "bench", "overhead", "-p", str(self.pid), *options,
                *(["--", *self.load] if load else [])]

    def run(self, *options, load=True, status=0):
        done = subprocess.run(self.command(*options, load=load), capture_output=True, text=True,
                              timeout=280)
        assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
        return done

    def end(self):
        if self.daemon.alive():
            self.daemon.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def close(self):
        """The daemon serves on without any probe, and ends as it should; the load is gone."""
        assert tracing.changed_code(self.pid) == 0
        wire = ministore.Wire(self.daemon.port)
        assert wire.ask(ministore.WRITE, payload=b"x" * 16)[2] == 0
        wire.close()
        loads = subprocess.run(["pgrep", "-f", f"ministore-load write 600 --port "
                                f"{self.daemon.port} "], capture_output=True, text=True)
        assert loads.stdout == "", loads.stdout
        status, _ = self.daemon.stop()
        assert status == 0, status
        self.daemon.close()
        shutil.rmtree(self.directory)


def figures_of(report):
    assert report["schema"] == "optrail.overhead/1" and report["daemon"] == "ministore", report
    assert [figure["name"] for figure in report["figures"]] == FIGURES, report
    return {figure["name"]: figure for figure in report["figures"]}


def case_traced():
    """Table and JSON; every op of the traced slices was seen; what is not known is said."""
    bench = Bench()
    file = f"{bench.directory}/figures.json"
    done = bench.run("--pairs", "8", "--slice", "0.2", "--json", file)
    assert re.search(r"8 pairs of slices of 0.2 s, traced and not", done.stdout), done.stdout
    assert re.search(r"throughput, traced / not +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+\n",
                     done.stdout), done.stdout
    assert "the daemon does not tell" in done.stdout, done.stdout
    assert re.search(r"(The throughput (falls|rises) by|No loss of throughput can be told)",
                     done.stdout), done.stdout
    assert re.search(r"[\d.]+ events an op; \d+ of \d+ events were lost", done.stdout)
    with open(file, encoding="utf-8") as text:
        report = json.load(text)
    figures = figures_of(report)
    assert report["pairs"] == 8 and not report["control"] and report["traced_ops"] > 0, report
    assert figures["latency_ratio"] == {"name": "latency_ratio", "pairs": 0}, figures
    for name in FIGURES:
        row = figures[name]
        if row["pairs"]:
            assert row["p10"] <= row["median"] <= row["p90"], row
            assert row["interval"][0] <= row["median"] <= row["interval"][1], row
    assert figures["daemon_cpu_off_us"]["median"] > 0 and figures["tracer_cpu_us"]["median"] > 0
    bench.close()


def case_control():
    """Never traced: equal slices are found equal. One interval in 20 misses the truth by chance,
    three in a row only if something pulls it away."""
    bench = Bench()
    for attempt in range(3):
        done = bench.run("--control", "--pairs", "20", "--slice", "0.1", "--json", "-")
        report = json.loads(done.stdout)
        figures = figures_of(report)
        assert report["control"] and report["events"] == 0, report
        assert figures["tracer_cpu_us"]["median"] == 0, figures
        low, high = figures["throughput_ratio"]["interval"]
        if low <= 1 <= high:
            break
    else:
        raise AssertionError(figures["throughput_ratio"])
    bench.close()


def case_interrupted():
    """Ctrl-C in the middle: what there is is reported."""
    bench = Bench()
    process = subprocess.Popen(bench.command("--control", "--pairs", "10000", "--slice", "0.05"),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    tracing.wait_for("ops", lambda: sum(
        op["count"] for op in bench.daemon.stats()["ops"].values()) > 0)
    # a pair takes at least 0.4 s: after the counters were asked for a few times there are some
    before = os.stat(bench.daemon.stats_file).st_mtime
    tracing.wait_for("some pairs",
                     lambda: os.stat(bench.daemon.stats_file).st_mtime > before + 3)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "10000 pairs were asked for: interrupted before" in output, output
    bench.close()


def case_load_ends():
    """A load that ends too early: the pairs so far, or the reason why there are none."""
    bench = Bench()
    bench.load[2] = "2"
    done = bench.run("--control", "--pairs", "10000", "--slice", "0.05")
    assert "the load ended before" in done.stdout, done.stdout
    bench.load[:] = ["/bin/false"]
    done = bench.run("--pairs", "2", status=1)
    assert "the load ended at once" in done.stderr, done.stderr
    bench.load[:] = ["/nowhere/load"]
    done = bench.run("--pairs", "2", status=1)
    assert "cannot run /nowhere/load" in done.stderr, done.stderr
    bench.close()


def affinities(pid):
    return {tid: os.sched_getaffinity(int(tid)) for tid in os.listdir(f"/proc/{pid}/task")}


def case_pinned():
    """--pin binds the daemon's threads meanwhile, and gives them their CPUs back."""
    if os.cpu_count() < 2:
        ministore.skip("one CPU alone: there is nothing to choose")
    bench = Bench()
    before = affinities(bench.pid)
    cpu = min(os.sched_getaffinity(bench.pid))
    process = subprocess.Popen(bench.command("--control", "--pairs", "4", "--pin", str(cpu)),
                               stdout=subprocess.PIPE, text=True)
    main = str(bench.pid)
    tracing.wait_for("the binding", lambda: affinities(bench.pid)[main] == {cpu})
    process.communicate(timeout=120)
    assert process.returncode == 0
    after = affinities(bench.pid)
    assert all(after[tid] == before[tid] for tid in before if tid in after), (before, after)
    assert all(cpus == before[main] for cpus in after.values()), after
    bench.close()


def case_refused():
    """Wrong use, and daemons that cannot be measured."""
    bench = Bench()
    done = subprocess.run([OPTRAIL, "bench", "overhead"], capture_output=True, text=True)
    assert done.returncode == 2 and "which daemon" in done.stderr, done
    done = subprocess.run([OPTRAIL, "bench", "nothing"], capture_output=True, text=True)
    assert done.returncode == 2 and "no bench `nothing`" in done.stderr, done
    done = subprocess.run([OPTRAIL, "bench", "overhead", "-p", str(os.getpid())],
                          capture_output=True, text=True)
    assert done.returncode == 1 and "number of ops is not known" in done.stderr, done
    done = bench.run("--pairs", "1", "--attach", "--path /nowhere.yaml", status=1)
    assert "did not attach" in done.stderr and "/nowhere.yaml" in done.stderr, done.stderr
    silent = subprocess.Popen([os.path.join(os.environ["MINISTORE_PROGRAMS"], "ministore"),
                               "--store", "memstore"], stdout=subprocess.PIPE, text=True)
    assert silent.stdout.readline()
    done = subprocess.run([OPTRAIL, "bench", "overhead", "-p", str(silent.pid)],
                          capture_output=True, text=True)
    silent.kill()
    silent.communicate()
    assert done.returncode == 1 and "--stats FILE" in done.stderr, done
    bench.close()


if os.geteuid() != 0:
    ministore.skip("tracing needs root")
globals()[f"case_{CASE}"]()
