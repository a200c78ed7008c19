#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One run of a ministore, folded in the kernel and from the events of the same hits: one report.

usage: fold_both.py FOLD_BOTH MINISTORE MINISTORE-LOAD
"""
import json
import signal
import subprocess
import sys
import tempfile

import same_report
import tracing

FOLD_BOTH, MINISTORE, LOAD = sys.argv[1:4]


def run(*options):
    with tempfile.TemporaryDirectory(prefix="optrail-fold-") as data:
        store = subprocess.Popen([MINISTORE, "--data", data, *options], stdout=subprocess.PIPE,
                                 text=True)
        try:
            port = store.stdout.readline().rsplit(":", 1)[-1].strip()
            assert port.isdigit(), "ministore did not start"
            tracer = tracing.Tracer([FOLD_BOTH, str(store.pid), "-"], "ready")
            for kind in ("write", "mixed"):
                subprocess.run([LOAD, kind, "--ops", "8000", "--port", port, "--threads", "4",
                                "--quiet"], check=True, stdout=subprocess.DEVNULL)
            status, output = tracer.finish()
            assert status == 0, status
        finally:
            store.send_signal(signal.SIGTERM)
            store.wait(60)
    ops = same_report.check(json.loads(output))
    print(f"{' '.join(options)}: {ops} ops, the same report")


tracing.need_tracing()
run("--store", "filestore")
run("--store", "filestore", "--ack", "journaled", "--messenger", "async")
run("--store", "memstore")
