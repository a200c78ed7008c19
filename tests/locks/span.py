#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""span.py OPTRAIL KNOWN_LOCKS: the time that `optrail locks` looked at is what the clock says, not
what the waits say: a lock that is fought for in a small part of it is not busy all the time."""
import json
import os
import re
import subprocess
import sys

import captured

OPTRAIL, PROGRAM = sys.argv[1:3]
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


if __name__ == "__main__":
    sys.exit(main())
