#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""lttng.py OPTRAIL WITH_SESSION EMITTER: `optrail report` on what LTTng-UST itself has written, whole
and cut off: the packets of LTTng have another layout than those of our fixtures."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile


def report(optrail, trace):
    """The report, and the run."""
    environment = {**os.environ,  # babeltrace2 2.0.4 forgets the event at which a file ends
                   "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
    done = subprocess.run([optrail, "report", "--format", "json", trace], capture_output=True,
                          text=True, env=environment)
    return (json.loads(done.stdout) if done.stdout else None), done


def main(optrail, with_session, emitter):
    with tempfile.TemporaryDirectory(prefix="optrail-test-") as directory:
        trace = pathlib.Path(directory) / "trace"
        recorded = subprocess.run([with_session, "--output", trace, "--", emitter, "each"],
                                  capture_output=True, text=True)
        if "not installed" in recorded.stderr:
            print(recorded.stderr.strip())
            return 77
        assert recorded.returncode == 0, recorded.stderr
        emitted = len(recorded.stdout.splitlines()) - 1

        whole, done = report(optrail, trace)
        assert done.returncode == 0, done.stderr
        assert whole["source"]["kind"] == "lttng", whole["source"]
        assert whole["counts"]["events"] == emitted > 80, (whole["counts"], emitted)
        assert whole["counts"]["other"]["malformed_events"] == 0

        # the stream with the events: those of cpus on which nothing ran are empty
        streams = [path for path in trace.rglob("optrail_*")
                   if path.is_file() and path.suffix != ".idx" and path.stat().st_size > 0]
        stream = max(streams, key=lambda path: path.read_bytes().rstrip(b"\0").__len__())
        content = len(stream.read_bytes().rstrip(b"\0"))

        # cut within the padding behind the last packet's content: nothing is lost, and nothing that
        # stands there is taken for an event
        padding = stream.stat().st_size - content
        assert padding > 600, padding
        os.truncate(stream, content + padding // 2)
        padded, done = report(optrail, trace)
        assert done.returncode == 1, done
        assert "is cut off at byte" in done.stderr, done.stderr
        assert padded["counts"]["other"].pop("damaged_streams") == 1
        assert whole["counts"]["other"].pop("damaged_streams") == 0
        assert padded["counts"] == whole["counts"], (padded["counts"], whole["counts"])
        assert padded["source"]["seconds"] == whole["source"]["seconds"], padded["source"]

        os.truncate(stream, content // 2)
        part, done = report(optrail, trace)
        assert done.returncode == 1, done
        assert f"is cut off at byte {content // 2}" in done.stderr, done.stderr
        assert 0.2 * emitted < part["counts"]["events"] < emitted, part["counts"]
        assert part["counts"]["other"]["malformed_events"] == 0
        print(f"{emitted} events, of which {part['counts']['events']} before the cut")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
