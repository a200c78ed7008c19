# SPDX-License-Identifier: MIT
"""What the tests of ministore share: a daemon, its load generator, and the wire by hand."""

import contextlib
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

PROGRAMS = os.environ["MINISTORE_PROGRAMS"]  # the directory they are built in
PATIENCE = 60  # seconds after which something that must happen has not happened

CLOSED = ("sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh")  # runs what follows without standard files

READ, WRITE, STAT, PING, REPLY = 1, 2, 3, 4, 0x8000
FRAME = struct.Struct("<IHHQQQQIIIII")  # without its crc
FRAME_SIZE = 64
MAGIC = 0x5254534D


def until(condition, what):
    """Waits for a condition, in small steps."""
    deadline = time.monotonic() + PATIENCE
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {PATIENCE} s in vain: {what}")
        time.sleep(0.002)


def check_sanitizers(messages):
    """In a build with sanitizers, what they found; a killed process has no exit status to say so."""
    if "Sanitizer" in messages or "runtime error:" in messages:
        raise AssertionError(messages)


class Daemon:
    """A running ministore on a port of its own. `closed`: without standard files, so its messages
    are nowhere."""

    def __init__(self, directory, *options, program="ministore", ready=True, closed=False):
        self.directory = directory
        self.stats_file = os.path.join(directory, "stats.json")
        self.log_file = os.path.join(directory, "log")
        self.log = open(self.log_file, "ab")
        self.process = subprocess.Popen(
            [*(CLOSED if closed else ()), os.path.join(PROGRAMS, program),
             "--stats", self.stats_file, *map(str, options)],
            stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.port = None
        if closed:
            self.port = until(self.listening_port, "it listens")
        elif ready:
            line = self.process.stdout.readline()
            if not line.startswith("listening on 127.0.0.1:"):
                raise AssertionError(f"the daemon did not start: {self.wait()} {self.messages()}")
            self.port = int(line.rpartition(":")[2])

    def listening_port(self):
        """The kernel's word for it, 0 if there is none yet."""
        names = []
        with contextlib.suppress(OSError):  # a descriptor that was just closed
            names = [os.readlink(fd) for fd in os.scandir(f"/proc/{self.process.pid}/fd")]
        with open("/proc/net/tcp", encoding="ascii") as sockets:
            for line in sockets:
                _, local, _, state, *_, inode = line.split()[:10]
                if state == "0A" and f"socket:[{inode}]" in names:
                    return int(local.rpartition(":")[2], 16)
        return 0

    def messages(self):
        with open(self.log_file, encoding="utf-8", errors="replace") as log:
            return log.read()

    def stats(self):
        """The daemon's counters now."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.stats_file)
        self.process.send_signal(signal.SIGUSR1)
        until(lambda: os.path.exists(self.stats_file) or self.process.poll() is not None,
              "the daemon writes its counters")
        return self.last_stats()

    def last_stats(self):
        with open(self.stats_file, encoding="utf-8") as file:
            return json.load(file)

    def alive(self):
        return self.process.poll() is None

    def pause(self):
        """Stops all its threads, which the signal alone does some time later."""
        self.process.send_signal(signal.SIGSTOP)

        def stand():
            states = []
            for file in pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/stat"):
                states.append(file.read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0])
            return set(states) == {"T"}
        until(stand, "it is paused")

    def wait(self):
        return self.process.wait(PATIENCE)

    def stop(self):
        """SIGTERM; the exit status and the last counters."""
        self.process.send_signal(signal.SIGTERM)
        status = self.wait()
        return status, self.last_stats()

    def kill(self):
        self.process.kill()
        return self.wait()

    def close(self):
        if self.alive():
            self.kill()
        self.process.stdout.close()
        self.log.close()
        check_sanitizers(self.messages())


class Load:
    """A finished run of the load generator."""

    def __init__(self, port, *options, directory):
        self.json_file = os.path.join(directory, "load.json")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.json_file)
        self.process = subprocess.Popen(
            [os.path.join(PROGRAMS, "ministore-load"), *map(str, options), "--port", str(port),
             "--json", self.json_file],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def finish(self):
        self.output, self.errors = self.process.communicate(timeout=10 * PATIENCE)
        self.status = self.process.returncode
        check_sanitizers(self.errors)
        self.totals = {}
        if os.path.exists(self.json_file):
            with open(self.json_file, encoding="utf-8") as file:
                self.totals = json.load(file)
        return self


class Wire:
    """A connection on which every byte is ours."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE)

    def send(self, data):
        self.socket.sendall(data)

    def receive(self, length):
        data = b""
        while len(data) < length:
            more = self.socket.recv(length - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def reply(self):
        """(type, tid, result, payload) of the next reply."""
        header = self.receive(FRAME_SIZE)
        _, _, kind, _, tid, _, _, length, result, *_ = FRAME.unpack(header[:FRAME.size])
        assert struct.unpack("<I", header[60:])[0] == zlib.crc32(header[:60])
        payload = self.receive(length) if kind == READ | REPLY else b""
        return kind & ~REPLY, tid, result, payload

    def ask(self, *arguments, **fields):
        self.send(frame(*arguments, **fields))
        return self.reply()

    def is_closed(self):
        """Waits until the daemon has closed the connection."""
        try:
            while self.socket.recv(65536):
                pass
        except ConnectionError:
            pass
        return True

    def close(self):
        self.socket.close()


def frame(kind, obj=1, payload=b"", length=None, tid=1, offset=0, magic=MAGIC, version=1,
          payload_crc=None):
    """A frame; its header's crc is right whatever else is wrong."""
    if length is None:
        length = len(payload)
    if payload_crc is None:
        payload_crc = zlib.crc32(payload) if payload else 0
    head = FRAME.pack(magic, version, kind, 77, tid, obj, offset, length, 0, payload_crc, 0, 0)
    return head + struct.pack("<I", zlib.crc32(head)) + payload


class Case(unittest.TestCase):
    """A test with a directory of its own, in which nothing is left running."""

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="ministore-test-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def daemon(self, *options, **keywords):
        daemon = Daemon(self.directory, *options, **keywords)
        self.addCleanup(daemon.close)
        return daemon

    def filestore(self, *options, **keywords):
        return self.daemon("--data", os.path.join(self.directory, "data"), *options, **keywords)

    def wire(self, daemon):
        wire = Wire(daemon.port)
        self.addCleanup(wire.close)
        return wire

    def begin_load(self, daemon, *options):
        load = Load(daemon.port, *options, directory=self.directory)

        def end():
            if load.process.poll() is None:
                load.process.kill()
                load.process.communicate()
        self.addCleanup(end)
        return load

    def load(self, daemon, *options, status=0):
        load = self.begin_load(daemon, *options).finish()
        self.assertEqual(load.status, status, load.output + load.errors + daemon.messages())
        return load

    def record(self):
        return os.path.join(self.directory, "record")


def readable_soon(connection, seconds):
    return bool(select.select([connection], [], [], seconds)[0])


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def main():
    unittest.main(verbosity=2)
