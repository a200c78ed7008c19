#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""memory.py OPTRAIL MAKE-TRACE: a trace that is twenty times as long takes no more memory."""
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

STORE = pathlib.Path(__file__).parent / "store.yaml"
OP = """\
+10us op.start 100/101 op1 1 77
+5us messenger.recv_end 100/101 op1
+5us opqueue.enqueue 100/101 op1
+50us opqueue.dequeue 100/102 op1
+10us filestore.read_begin 100/102 0
+30us op.finish 100/101 op1 0 4096
"""
MOST = 64 << 20
SLACK = 4 << 20


def peak(optrail, make_trace, directory, ops):
    """The largest resident size, in bytes, of a report on so many ops."""
    fixture = directory / f"{ops}.txt"
    fixture.write_text(f"1.0 op.start 100/101 op2 2 77\nrepeat {ops}\n{OP}end\n")
    trace = directory / str(ops)
    subprocess.run([make_trace, fixture, trace], check=True)
    # what is freed is kept aside by ASan for a while, and would look like growth
    options = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"
    reader = os.fork()
    if reader == 0:
        done = subprocess.run([optrail, "report", "--path", STORE, "-o", directory / "report", trace],
                              env={**os.environ, "ASAN_OPTIONS": options})
        size = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        (directory / "size").write_text(f"{done.returncode} {size}")
        os._exit(0)
    os.waitpid(reader, 0)
    status, size = map(int, (directory / "size").read_text().split())
    assert status == 0
    assert f"{ops:,} reads" in (directory / "report").read_text()
    return size


def main():
    optrail, make_trace = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        short = peak(optrail, make_trace, directory, 20_000)
        long = peak(optrail, make_trace, directory, 400_000)
    print(f"{short >> 10} KiB for 120,000 events, {long >> 10} KiB for 2,400,000")
    assert long <= short + SLACK, "memory grows with the trace"
    if "libasan" not in subprocess.run(["ldd", optrail], capture_output=True, text=True).stdout:
        assert long <= MOST
    return 0


if __name__ == "__main__":
    sys.exit(main())
