#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""record.py WITH_SESSION EMITTER JOB [PLUGIN]: what the emitter emits is what an LTTng session
records: the same events with the same fields in each thread's order, no more and no fewer."""
import collections
import os
import re
import subprocess
import sys
import tempfile

EVENT = re.compile(r"optrail:(\w+): .*\{ pid = (\d+), tid = (\d+), key = (0x[0-9A-F]+), "
                   r"(\w+) = (\d+|\"[^\"]*\"), (\w+) = (\d+) \}$")


def skip(why):
    print(why)
    sys.exit(77)


def recorded(trace):
    """The events of a trace, as the emitter prints them."""
    done = subprocess.run(["babeltrace2", trace], text=True, capture_output=True,
                          env={**os.environ, "LC_ALL": "C"})
    assert done.returncode == 0, done.stderr
    assert "discarded" not in done.stderr, done.stderr
    for line in done.stdout.splitlines():
        match = EVENT.search(line)
        assert match, f"an event of another shape: {line}"
        name, pid, tid, key, name0, value0, name1, value1 = match.groups()
        yield f"{name} {pid} {tid} {key} {name0}={value0} {name1}={value1}"


def by_thread(lines):
    """(event, pid, tid) -> its lines in order; a nested handler's events come in between others."""
    threads = collections.defaultdict(list)
    for line in lines:
        threads[tuple(line.split()[:3])].append(line)
    return threads


def main(with_session, emitter, *job):
    with tempfile.TemporaryDirectory(prefix="optrail-test-") as directory:
        trace = os.path.join(directory, "trace")
        done = subprocess.run([with_session, "--output", trace, "--", emitter, *job], text=True,
                              capture_output=True)
        if "not installed" in done.stderr:
            skip(done.stderr.strip())
        assert done.returncode == 0, (done.returncode, done.stderr)
        assert done.stderr == "", done.stderr
        first, *emitted = done.stdout.splitlines()
        assert first == "started 1", first
        wanted, found = by_thread(emitted), by_thread(recorded(trace))
        for who in wanted.keys() | found.keys():
            assert wanted.get(who) == found.get(who), (who, wanted.get(who), found.get(who))
        assert emitted
        print(f"{len(emitted)} events of {len({key[1:] for key in wanted})} threads, all recorded")


if __name__ == "__main__":
    main(*sys.argv[1:])
