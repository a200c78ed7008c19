# SPDX-License-Identifier: MIT
"""What the tests of `optrail record` share."""
import json
import os
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../bpf"))
import tracing  # noqa: E402

WRITES, READS = 300, 200


class Ministore:
    """A running ministore, and a client that makes a known number of ops."""

    def __init__(self, program, *options):
        self.data = tempfile.TemporaryDirectory(prefix="optrail-record-")
        self.process = subprocess.Popen([program, "--data", self.data.name, *options],
                                        stdout=subprocess.PIPE, text=True)
        self.port = self.process.stdout.readline().rsplit(":", 1)[-1].strip()
        assert self.port.isdigit(), "ministore did not start"
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()
        self.data.cleanup()

    def work(self, writes=WRITES, reads=READS, client=77):
        done = subprocess.run([f"{HERE}/../bpf/ministore_client.py", self.port, str(writes),
                               str(reads), str(client)], check=True, capture_output=True, text=True)
        assert done.stdout == f"writes {writes} reads {reads}\n", done.stdout

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(60)
        assert status == 0, f"ministore ended with {status}"


def report(optrail, *traces, status=0):
    """The report on recorded traces."""
    environment = {**os.environ,  # babeltrace2 2.0.4 forgets the event at which a file ends
                   "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
    done = subprocess.run([optrail, "report", "--format", "json", *traces], capture_output=True,
                          text=True, timeout=120, env=environment)
    assert done.returncode == status, (done.returncode, done.stderr)
    return json.loads(done.stdout)


def ops(made):
    """How many ops of each type a report has."""
    return {op["type"]: op["count"] for op in made["ops"]}


def refused(optrail, status, message, *arguments, **options):
    """The command ends with that status and one line that has the message."""
    done = subprocess.run([optrail, "record", *arguments], capture_output=True, text=True,
                          timeout=60, **options)
    assert done.returncode == status, (arguments, done.returncode, done.stderr)
    assert message in done.stderr, (arguments, done.stderr)
    assert done.stdout == "", done.stdout
    return done.stderr
