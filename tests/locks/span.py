#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""span.py OPTRAIL KNOWN_LOCKS ODD_LOCKS: the time that `optrail locks` looked at is what the clock
says, not what the waits say: a lock that is fought for in a small part of it is not busy all the
time. It ends with the process; a wait that has not ended when it does is called so."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import captured

OPTRAIL, PROGRAM, ODD = sys.argv[1:4]
captured.need_root()
WORKS, WATCHED = 0.2, 2


def is_attached(pid):
    try:
        links = [os.readlink(f"/proc/{pid}/fd/{number}") for number in os.listdir(f"/proc/{pid}/fd")]
    except FileNotFoundError:
        return False
    return any("perf_event" in link or "bpf_link" in link for link in links)


def watch(works, form):
    """A report of WATCHED seconds, in which the program works for a while, or not at all."""
    target = subprocess.Popen([PROGRAM, "mutex", "2000", str(WORKS), "6"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    target.stdout.readline()
    seconds = WATCHED if works else 0.5
    try:
        watching = subprocess.Popen([OPTRAIL, "locks", "-p", str(target.pid), "-d", str(seconds),
                                     "--format", form], stdout=subprocess.PIPE, text=True)
        while works and watching.poll() is None and not is_attached(watching.pid):
            pass
        if works:
            target.stdin.write("\n")
            target.stdin.flush()
        text = watching.communicate()[0]
        assert watching.returncode == 0, text
        return target.pid, text
    finally:
        target.kill()
        target.wait()


def begin_watching(program, *options):
    """A program that waits for a line, and an optrail that has attached to it."""
    target = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert target.stdout.readline().startswith("pid ")
    watching = subprocess.Popen([OPTRAIL, "locks", "-p", str(target.pid), *options],
                                stdout=subprocess.PIPE, text=True)
    while watching.poll() is None and not is_attached(watching.pid):
        pass
    return target, watching


def ends_with_the_process():
    """Nobody waits for the program's end: it is watched on until that is noticed."""
    begun = time.monotonic()
    target, watching = begin_watching([PROGRAM, "mutex", "2000", str(WORKS), "6"], "--format", "json")
    target.communicate("\n")
    there = time.monotonic() - begun
    report = json.loads(watching.communicate()[0])
    seconds, lock = report["source"]["seconds"], report["locks"][0]
    print(f"{seconds} s of at most {there:.3f} s, busy {lock['busy']}", report["notes"])
    assert WORKS <= seconds <= there, "observed for longer than the process was there"
    assert lock["busy"] > 0.8 * WORKS / there, lock
    assert any("The process ended while it was watched" in note for note in report["notes"]), report


def any_process_is_recorded():
    """Its waits are in a trace, and in a picture, without a probe in it."""
    with tempfile.TemporaryDirectory() as directory:
        trace = os.path.join(directory, "trace")
        for verb in (["record", "--locks", "-o", trace],
                     ["flame", "--kind", "lock", "--format", "collapsed"]):
            target = subprocess.Popen([PROGRAM, "mutex", "2000", "1", "6"], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True)
            assert target.stdout.readline().startswith("pid ")
            watching = subprocess.Popen([OPTRAIL, verb[0], "-p", str(target.pid), *verb[1:]],
                                        stdout=subprocess.PIPE, text=True)
            while watching.poll() is None and not is_attached(watching.pid):
                pass
            target.communicate("\n")
            drawn = watching.communicate()[0]  # it ends with the process
            assert watching.returncode == 0, drawn
        assert re.search(r"work;.*waits for mutex in work \d+$", drawn, re.M), drawn
        report = json.loads(subprocess.run([OPTRAIL, "locks", "--format", "json", trace], check=True,
                                           stdout=subprocess.PIPE).stdout)
    assert report["source"]["daemon"] == "known_locks" and not report["ops"], report["source"]
    assert report["locks"][0]["name"] == "mutex in work" and report["locks"][0]["busy"] > 0.8, report


def says_what_has_not_ended():
    """The mutex of a thread that is gone: who waits for it waits for ever."""
    target, watching = begin_watching([ODD, "gone"])
    try:
        target.stdin.write("\n")
        target.stdin.flush()
        while target.stdout.readline() != "done\n":
            pass
        time.sleep(0.3)  # how long it has lasted so far is told
        watching.send_signal(signal.SIGINT)
        text = watching.communicate()[0]
    finally:
        target.kill()
        target.communicate()
    print(text)
    told = re.search(r"unfinished: 1 wait had not ended when the recording did, the longest\s+"
                     r"([0-9.,]+) (ms|s)\s+so far", text)
    assert told, text
    lasted = float(told[1].replace(",", "")) * (1 if told[2] == "ms" else 1000)
    assert lasted >= 300, text


def main():
    for _ in range(5):  # a machine that is slow to attach has seen nothing of it
        pid, text = watch(True, "json")
        report = json.loads(text)
        if report["locks"]:
            break
    lock = report["locks"][0]
    print(report["source"], lock["busy"], lock["busy_low"], lock["busy_high"])
    assert report["source"]["pid"] == pid and report["source"]["seconds"] >= WATCHED, report
    assert 0 < lock["busy"] < 2 * WORKS / WATCHED, lock
    pid, text = watch(False, "locks")
    print(text)
    assert text.startswith("known_locks, pid ") and f"pid {pid}" in text, text
    assert not re.search(r"   [0-4]?\d?\d(\.\d+)? (ms|ns|us|µs):", text.splitlines()[0]), text
    assert "Nothing contended" in text, text
    ends_with_the_process()
    says_what_has_not_ended()
    any_process_is_recorded()


if __name__ == "__main__":
    sys.exit(main())
