# SPDX-License-Identifier: MIT
"""What the tests that trace real daemons have in common."""
import atexit
import os
import re
import signal
import subprocess
import sys
import time


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def need_tracing():
    if os.geteuid() != 0:
        skip("tracing needs root")
    if not os.path.exists("/sys/kernel/btf/vmlinux"):
        skip("this kernel has no type information (/sys/kernel/btf/vmlinux)")


def wait_for(what, condition, seconds=60):
    """Polls until the condition is true; returns what it returned."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"gave up waiting for {what}")
        time.sleep(0.02)


def kill_at_exit(process):
    """A test that fails leaves nothing behind: who reads its output would wait for whoever has it."""
    atexit.register(lambda: process.poll() is None and process.kill())


class Tracer:
    """A program that traces until it is interrupted and says on stderr when it has begun."""

    def __init__(self, command, ready, environment=None):
        self.error_file = f"/tmp/optrail-tracer-{os.getpid()}-{time.monotonic_ns()}"
        self.errors = open(self.error_file, "w+")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.errors,
                                        text=True, env=environment)
        kill_at_exit(self.process)
        wait_for(f"`{ready}` from {command}", lambda: ready in self.said() or self.ended())
        if self.ended():
            raise AssertionError(f"{command} ended at once: {self.said()}")

    def said(self):
        with open(self.error_file) as file:
            return file.read()

    def ended(self):
        return self.process.poll() is not None

    def finish(self, number=signal.SIGINT):
        """Sends the signal (None: none), waits; returns exit status and output."""
        if number:
            self.process.send_signal(number)
        output, _ = self.process.communicate(timeout=120)
        self.errors.close()
        os.unlink(self.error_file)
        return self.process.returncode, output


def changed_code(pid):
    """How many bytes of the program's code in memory differ from its file: those of breakpoints."""
    return len(changed_places(pid))


def changed_places(pid):
    """Their places in the file."""
    changed = set()
    program = os.readlink(f"/proc/{pid}/exe")
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb") as memory, \
            open(f"/proc/{pid}/exe", "rb") as file:
        for line in maps:
            match = re.match(r"(\w+)-(\w+) (\S+) (\w+) \S+ \d+ +(.*)", line)
            if not match or match[5] != program or "x" not in match[3]:
                continue
            start, end, offset = (int(match[i], 16) for i in (1, 2, 4))
            memory.seek(start)
            file.seek(offset)
            mine, theirs = memory.read(end - start), file.read(end - start)
            if mine[:len(theirs)] != theirs:
                changed |= {offset + i for i, (a, b) in enumerate(zip(mine, theirs)) if a != b}
    return changed
