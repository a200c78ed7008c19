# SPDX-License-Identifier: MIT
"""Delays of a known size in the system calls of a running daemon: the other side of slow_calls.c."""
import contextlib
import mmap
import os
import struct
import tempfile

ROW = struct.Struct("=16s16sQQQ")  # struct slow_call


class SlowCalls:
    """The file through which a daemon that has slow_calls.c loaded is told what to delay. It must be
    there before the daemon starts, and its name in the environment."""

    def __init__(self):
        self.file = tempfile.NamedTemporaryFile(prefix="optrail-slow-calls-")
        self.file.truncate(ROW.size)
        self.map = mmap.mmap(self.file.fileno(), ROW.size)
        os.environ["OPTRAIL_SLOW_CALLS"] = self.file.name

    def read(self):
        """How many calls were delayed so far, and by how many ns in all."""
        return ROW.unpack(self.map[:])[3:]

    @contextlib.contextmanager
    def delayed(self, call, thread, seconds):
        """Delays each call of that name in threads of that name. Gives a function that tells how many
        were delayed, and for how many ns in all: measured in the daemon, around the sleep."""
        self.map[:] = ROW.pack(call.encode(), thread.encode(), int(seconds * 1e9), 0, 0)
        try:
            yield self.read
        finally:
            self.map[32:40] = bytes(8)
