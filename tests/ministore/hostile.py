# SPDX-License-Identifier: MIT
"""Clients that send garbage, half of a frame, or nothing at all: only they suffer."""

import os
import random
import resource
import shlex
import socket
import struct
import threading

import ministore
from ministore import FRAME_SIZE, PING, READ, REPLY, WRITE, frame, until

BAD_FRAMES = {
    "garbage": random.Random(1).randbytes(4096),
    "zeros": bytes(FRAME_SIZE),
    "a web browser": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" + b" " * FRAME_SIZE,
    "other magic": frame(PING, magic=0x12345678),
    "other version": frame(PING, version=2),
    "other type": frame(99),
    "type 0": frame(0),
    "a reply": frame(PING | REPLY),
    "a length above the limit": frame(WRITE, length=(4 << 20) + 1),
    "the largest length": frame(READ, length=0xFFFFFFFF),
    "a damaged header": frame(PING)[:60] + b"\0\0\0\0",
    "a damaged payload": frame(WRITE, payload=b"hello", payload_crc=1),
}


class Messenger:
    """The same tests for both messengers, and for both stores at once."""

    messenger = None

    def start(self, *options):
        return self.filestore("--messenger", self.messenger, *options)

    def check_serves(self, daemon):
        """The daemon still does its work."""
        self.assertTrue(daemon.alive(), daemon.messages())
        self.load(daemon, "mixed", "--ops", 200, "--objects", 50, "--prefill", "--verify",
                  "--quiet")

    def check_ends_well(self, daemon):
        status, stats = daemon.stop()
        self.assertEqual(status, 0, daemon.messages())
        return stats

    def test_bad_frames(self):
        daemon = self.start()
        for name, data in BAD_FRAMES.items():
            with self.subTest(name):
                wire = self.wire(daemon)
                wire.send(data)
                self.assertTrue(wire.is_closed())
        self.check_serves(daemon)
        stats = self.check_ends_well(daemon)
        self.assertEqual(stats["connections_bad_frame"], len(BAD_FRAMES))
        self.assertIn("closed it", daemon.messages())

    def test_a_bad_frame_behind_good_ones(self):
        daemon = self.start()
        wire = self.wire(daemon)
        self.assertEqual(wire.ask(WRITE, 9, b"good")[2], 0)
        wire.send(BAD_FRAMES["garbage"])
        self.assertTrue(wire.is_closed())
        wire = self.wire(daemon)
        self.assertEqual(wire.ask(READ, 9, length=4)[3], b"good")
        self.check_ends_well(daemon)

    def test_cut_at_every_byte(self):
        daemon = self.start("--shards", 1)
        whole = frame(WRITE, obj=3, payload=b"never to be seen")
        for length in range(1, len(whole)):
            wire = self.wire(daemon)
            wire.send(whole[:length])
            wire.close()
        until(lambda: daemon.stats()["connections_cut"] == len(whole) - 1,
              "the cuts are counted")
        wire = self.wire(daemon)
        self.assertEqual(wire.ask(READ, 3, length=1)[2], 2, "nothing was written")
        self.check_serves(daemon)
        self.check_ends_well(daemon)

    def test_reset_with_answers_on_their_way(self):
        daemon = self.start("--inject", "commit.callback=2ms")
        for _ in range(20):
            wire = self.wire(daemon)
            wire.send(b"".join(frame(WRITE, obj=i, payload=bytes(4096), tid=i) for i in range(16)))
            wire.reply()
            # closing with linger 0 sends a reset
            wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            wire.close()
        self.check_serves(daemon)
        stats = self.check_ends_well(daemon)
        self.assertGreater(stats["replies_dropped"], 0)

    def test_one_byte_at_a_time(self):
        daemon = self.start()
        wire = self.wire(daemon)
        wire.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in frame(WRITE, obj=4, payload=b"drop by drop"):
            wire.send(bytes([byte]))
        self.assertEqual(wire.reply()[2], 0)
        self.assertEqual(wire.ask(READ, 4, length=100)[3], b"drop by drop")
        self.check_ends_well(daemon)

    def test_half_a_frame_is_not_waited_for_forever(self):
        daemon = self.start("--frame-timeout", "300ms")
        idle = self.wire(daemon)
        for half in (frame(PING)[:10], frame(WRITE, payload=bytes(100))[:-50]):
            wire = self.wire(daemon)
            wire.send(half)
            self.assertTrue(wire.is_closed())
        # between two frames a client may be quiet for as long as it likes
        self.assertEqual(idle.ask(PING)[2], 0)
        self.assertEqual(self.check_ends_well(daemon)["connections_slow"], 2)

    def test_half_frames_do_not_hold_the_throttle_forever(self):
        daemon = self.start("--frame-timeout", "300ms", "--message-throttle", "1M")
        for _ in range(4):
            self.wire(daemon).send(frame(WRITE, payload=bytes(1 << 20))[:-1])
        self.check_serves(daemon)
        self.check_ends_well(daemon)

    def test_answers_that_nobody_reads(self):
        daemon = self.start("--frame-timeout", "300ms")
        wire = self.wire(daemon)
        self.assertEqual(wire.ask(WRITE, 6, bytes(1 << 20))[2], 0)
        wire.socket.settimeout(0.05)
        ask = frame(READ, obj=6, length=1 << 20)
        try:
            for _ in range(100000):
                wire.send(ask)
        except OSError:
            pass  # the daemon reads no more, or has closed
        until(lambda: daemon.stats()["connections_slow"] == 1, "the daemon gives it up")
        self.check_serves(daemon)
        self.check_ends_well(daemon)

    def test_a_flood_of_small_requests(self):
        daemon = self.start("--message-throttle", 65536)
        wire = self.wire(daemon)
        count = 20000
        sender = threading.Thread(target=wire.send, args=(frame(PING) * count,))
        sender.start()
        for _ in range(count):
            self.assertEqual(wire.reply()[0], PING)
        sender.join()
        self.check_ends_well(daemon)

    def test_thousands_of_connections(self):
        count = 2000
        daemon = self.start("--max-connections", count)
        wires = [self.wire(daemon) for _ in range(count)]
        for wire in wires[::50]:
            self.assertEqual(wire.ask(PING)[2], 0)
        until(lambda: daemon.stats()["connections_accepted"] == count, "all are taken")
        self.assertTrue(self.wire(daemon).is_closed(), "one too many")
        for number, wire in enumerate(wires):
            if number % 2:
                wire.send(BAD_FRAMES["garbage"][:number % 100 + 1])
            wire.close()

        def serves():
            wire = self.wire(daemon)
            try:
                return wire.ask(PING)[2] == 0
            except (EOFError, ConnectionError):
                return False
        until(serves, "there is room again")
        self.check_serves(daemon)
        stats = self.check_ends_well(daemon)
        self.assertGreaterEqual(stats["connections_refused"], 1)
        self.assertLess(daemon.messages().count("\n"), 500, "the log is rate limited")

    def test_random_bytes(self):
        daemon = self.start()
        dice = random.Random(2)
        for _ in range(300):
            wire = self.wire(daemon)
            data = bytearray(frame(dice.choice((READ, WRITE, PING)), obj=dice.getrandbits(64),
                                   payload=dice.randbytes(dice.randrange(200))) * 3)
            for _ in range(dice.randrange(1, 8)):
                data[dice.randrange(len(data))] = dice.randrange(256)
            try:
                wire.send(data)
            except ConnectionError:
                pass
            wire.close()
        self.check_serves(daemon)
        self.check_ends_well(daemon)


class Simple(Messenger, ministore.Case):
    messenger = "simple"


class Async(Messenger, ministore.Case):
    messenger = "async"


class FewFiles(ministore.Case):
    def test_connections_leave_files_for_the_store(self):
        wrapper = os.path.join(self.directory, "limited")
        with open(wrapper, "w", encoding="ascii") as script:
            script.write(f'#!/bin/sh\nulimit -n 256\nexec {shlex.quote(ministore.PROGRAMS)}/ministore "$@"\n')
        os.chmod(wrapper, 0o755)
        for messenger in ("simple", "async"):
            daemon = self.filestore("--messenger", messenger, "--fd-cache", 16,
                                    "--wbthrottle-start", 16, "--wbthrottle-limit", 32,
                                    program=wrapper)
            wires = [self.wire(daemon) for _ in range(200)]
            until(lambda d=daemon: d.stats()["connections_refused"] >= 72, "half of 256 are taken")
            for number in range(100):
                self.assertEqual(wires[0].ask(WRITE, number, b"there is a file for it")[2], 0)
            self.assertEqual(daemon.stop()[0], 0)
            self.assertIn("only 128 connections at once", daemon.messages())


if __name__ == "__main__":
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard < 5000:
        ministore.skip(f"only {hard} open files are allowed here, thousands are needed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (5000, hard))
    ministore.main()
