#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One run of a ministore, folded in the kernel and from the events of the same hits: one report.

usage: fold_both.py FOLD_BOTH MINISTORE MINISTORE-LOAD
"""
import signal
import subprocess
import sys
import tempfile

import same_report
import tracing

FOLD_BOTH, MINISTORE, LOAD = sys.argv[1:4]


class Ministore:
    def __init__(self, *options):
        self.data = tempfile.TemporaryDirectory(prefix="optrail-fold-")
        self.process = subprocess.Popen([MINISTORE, "--data", self.data.name, *options],
                                        stdout=subprocess.PIPE, text=True)
        self.port = self.process.stdout.readline().rsplit(":", 1)[-1].strip()
        assert self.port.isdigit(), "ministore did not start"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        self.data.cleanup()


def trace(*options):
    with Ministore(*options) as store:
        tracer = tracing.Tracer([FOLD_BOTH, str(store.process.pid), "-"], "ready")
        # a little at a time: what has no room is lost, and then the two sides know different things
        for kind in ("write", "mixed") * 8:
            subprocess.run([LOAD, kind, "--ops", "500", "--port", store.port, "--threads", "4",
                            "--quiet"], check=True, stdout=subprocess.DEVNULL)
        status, output = tracer.finish()
        assert status == 0, status
    return output


def run(*options):
    report = same_report.run(lambda: trace(*options))
    print(f"{' '.join(options)}: {report['counts']['ops']} ops, the same report")
    return report


tracing.need_tracing()
run("--store", "filestore")
run("--store", "filestore", "--ack", "journaled", "--messenger", "async")
run("--store", "memstore")
with Ministore("--store", "memstore") as one, Ministore("--store", "memstore") as two:
    report = run("--store", "filestore", "--peer", f"127.0.0.1:{one.port}",
                 "--peer", f"127.0.0.1:{two.port}")
    assert len(report["peers"]) == 2, report["peers"]
    assert all(peer["latency_ns"]["count"] > 4000 for peer in report["peers"]), report["peers"]
