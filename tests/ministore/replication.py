# SPDX-License-Identifier: MIT
"""Replication: what is written is on all peers, and what happens when a peer is slow or gone."""

import os
import shutil
import signal
import socket
import struct
import tempfile
import threading

import ministore
from ministore import FRAME, FRAME_SIZE, READ, REPLY, WRITE, frame, until

OPS = 1500
OBJECTS = 200
SIZE = 4096
ENOSPC = 28
REPLICATE = 5


class Group(ministore.Case):
    """A primary and its peers, each with a directory of its own."""

    def start(self, *options, data=True):
        directory = tempfile.mkdtemp(dir=self.directory)
        where = ("--data", os.path.join(directory, "data")) if data else ("--store", "memstore")
        daemon = ministore.Daemon(directory, *where, *options)
        self.addCleanup(daemon.close)
        return daemon

    def primary(self, peers, *options, **keywords):
        named = [word for peer in peers for word in ("--peer", f"127.0.0.1:{peer.port}")]
        return self.start(*named, *options, **keywords)

    def contents(self, daemon, objects=OBJECTS):
        wire = self.wire(daemon)
        return [wire.ask(READ, number, length=SIZE)[2:] for number in range(objects)]

    def check_equal(self, daemons, objects=OBJECTS):
        expected = self.contents(daemons[0], objects)
        self.assertTrue(any(payload for _, payload in expected), "something was written")
        for daemon in daemons[1:]:
            self.assertTrue(self.contents(daemon, objects) == expected, "a peer's objects differ")


class CleanRuns(Group):
    def test_peers_have_what_the_primary_has(self):
        for acknowledge, messenger in (("applied", "simple"), ("journaled", "async")):
            with self.subTest(acknowledge=acknowledge, messenger=messenger):
                options = ("--ack", acknowledge, "--messenger", messenger)
                peers = [self.start(*options), self.start(data=False)]
                primary = self.primary(peers, *options)
                totals = self.load(primary, "mixed", "--ops", OPS, "--objects", OBJECTS, "--verify",
                                   "--prefill", "--quiet", "--depth", 32).totals
                self.assertEqual(totals["finished"], OPS)
                self.check_equal([primary, *peers])
                writes = totals["writes"] + OBJECTS
                status, stats = primary.stop()
                self.assertEqual(status, 0)
                self.assertEqual(stats["ops"]["write"], {"count": writes, "failed": 0})
                self.assertEqual((stats["peers_lost"], stats["replicas_missed"],
                                  stats["replicas_failed"]), (0, 0, 0))
                for peer in peers:
                    ops = peer.stop()[1]["ops"]
                    self.assertEqual(ops["replicate"], {"count": writes, "failed": 0})
                    self.assertEqual(ops["write"]["count"], 0)

    def test_writes_of_one_object_keep_their_order(self):
        """Many writes of few objects in flight together: the last one is the same everywhere."""
        peers = [self.start(), self.start()]
        primary = self.primary(peers, data=False)
        for seed in range(5):
            self.load(primary, "write", "--ops", 400, "--objects", 3, "--depth", 32, "--seed", seed,
                      "--quiet")
            self.check_equal([primary, *peers], objects=3)

    def test_replica_send_delays_every_copy(self):
        peer = self.start(data=False)
        primary = self.primary([peer], "--inject", "replica.send=2ms", data=False)
        totals = self.load(primary, "write", "--ops", 50, "--depth", 1, "--quiet").totals
        account = primary.stop()[1]["inject"]["replica.send"]
        self.assertEqual(account["count"], 50)
        self.assertGreaterEqual(totals["latency_ns"]["min"], 2_000_000)


class Trouble(Group):
    def test_an_error_of_a_peer_is_the_answer(self):
        peer = self.start("--reserve", "1023G")
        primary = self.primary([peer])
        self.assertEqual(self.wire(primary).ask(WRITE, 1, b"x")[2], ENOSPC)
        self.assertEqual(self.wire(primary).ask(READ, 1, length=1)[2:], (0, b"x"),
                         "a write that failed may be there")
        stats = primary.stop()[1]
        self.assertEqual((stats["replicas_failed"], stats["peers_lost"]), (1, 0))
        self.assertEqual(stats["ops"]["write"], {"count": 1, "failed": 1})

    def test_a_killed_peer_is_left_out(self):
        """Under load, no write fails for it, and the others go on with the same data."""
        for acknowledge in ("applied", "journaled"):
            with self.subTest(acknowledge):
                peers = [self.start(), self.start()]
                primary = self.primary(peers, "--ack", acknowledge)
                record = self.record() + acknowledge
                load = self.begin_load(primary, "write", "--ops", 4000, "--objects", OBJECTS,
                                       "--depth", 16, "--quiet", "--record", record)
                until(lambda p=peers[0]: p.stats()["ops"]["replicate"]["count"] > 300,
                      "the first peer is at work")
                peers[0].kill()
                load.finish()
                self.assertEqual(load.status, 0, load.errors)
                self.assertEqual(load.totals["finished"], 4000)
                self.check_equal([primary, peers[1]])
                self.load(primary, "check", "--objects", OBJECTS, "--record", record, "--quiet")
                stats = primary.stop()[1]
                self.assertEqual(stats["peers_lost"], 1)
                self.assertGreater(stats["replicas_missed"], 0)
                self.assertEqual(stats["ops"]["write"], {"count": 4000, "failed": 0})
                self.assertEqual(primary.messages().count("it gets no more writes"), 1)

    def test_a_killed_primary_keeps_what_it_acknowledged(self):
        peer = self.start()
        primary = self.primary([peer])
        record = self.record()
        load = self.begin_load(primary, "write", "--ops", 100000, "--objects", OBJECTS, "--depth",
                               16, "--quiet", "--record", record)
        until(lambda: primary.stats()["ops"]["write"]["count"] > 500, "the primary is at work")
        primary.kill()
        load.finish()
        again = ministore.Daemon(primary.directory, "--data",
                                 os.path.join(primary.directory, "data"))
        self.addCleanup(again.close)
        # a check writes down what it saw, which must stay so; but of the writes that were under way
        # one daemon may have what the other has not
        others = shutil.copy(record, record + ".peer")
        self.load(again, "check", "--objects", OBJECTS, "--record", record, "--quiet")
        self.load(peer, "check", "--objects", OBJECTS, "--record", others, "--quiet")

    def test_a_paused_peer_is_waited_for(self):
        peer = self.start()
        primary = self.primary([peer])
        wire = self.wire(primary)
        self.assertEqual(wire.ask(WRITE, 1, b"before")[2], 0)
        peer.pause()
        wire.send(frame(WRITE, 1, b"paused"))
        # it is here already, and not answered
        other = self.wire(primary)
        until(lambda: other.ask(READ, 1, length=6)[3] == b"paused", "the write is applied here")
        self.assertFalse(ministore.readable_soon(wire.socket, 0.2))
        peer.process.send_signal(signal.SIGCONT)
        self.assertEqual(wire.reply()[2], 0)
        self.assertEqual(self.wire(peer).ask(READ, 1, length=6)[3], b"paused")
        self.assertEqual(primary.stop()[1]["peers_lost"], 0)

    def test_a_peer_paused_for_too_long_is_left_out(self):
        peer = self.start()
        primary = self.primary([peer], "--peer-timeout", "100ms")
        wire = self.wire(primary)
        self.assertEqual(wire.ask(WRITE, 1, b"before")[2], 0)
        peer.pause()
        self.assertEqual(wire.ask(WRITE, 1, b"alone")[2], 0)
        self.assertEqual(wire.ask(WRITE, 2, b"alone")[2], 0)
        peer.process.send_signal(signal.SIGCONT)
        self.assertIn("it has not answered for --peer-timeout", primary.messages())
        stats = primary.stop()[1]
        self.assertEqual((stats["peers_lost"], stats["replicas_missed"]), (1, 2))

    def test_a_full_socket_holds_nobody_up_but_writes(self):
        """A paused peer takes nothing more; reads are answered all the same."""
        peer = self.start(data=False)
        primary = self.primary([peer], data=False)
        wire, other = self.wire(primary), self.wire(primary)
        peer.pause()
        count = 32
        for tid in range(count):
            wire.send(frame(WRITE, 7, bytes(1 << 20), tid=tid))
        self.assertEqual(other.ask(READ, 99, length=1)[2], 2, "ENOENT")
        peer.process.send_signal(signal.SIGCONT)
        self.assertEqual([wire.reply()[2] for _ in range(count)], [0] * count)

    def test_the_end_does_not_wait_for_a_paused_peer_for_ever(self):
        peer = self.start(data=False)
        primary = self.primary([peer], data=False)
        wire = self.wire(primary)
        peer.pause()
        wire.send(frame(WRITE, 1, b"x"))
        until(lambda: self.wire(primary).ask(READ, 1, length=1)[3] == b"x", "it is written here")
        status, stats = primary.stop()
        peer.process.send_signal(signal.SIGCONT)
        self.assertEqual(status, 0)
        self.assertEqual(stats["replicas_missed"], 1)


class FalsePeers(Group):
    """Peers that are none."""

    def check_left_out(self, answer, message):
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)

        def serve():
            connection = listener.accept()[0]
            with connection:
                header = connection.recv(FRAME_SIZE, socket.MSG_WAITALL)
                connection.sendall(answer(header))
                while connection.recv(65536):
                    pass
        thread = threading.Thread(target=serve)
        thread.start()
        primary = self.start("--peer", f"127.0.0.1:{listener.getsockname()[1]}", data=False)
        self.assertEqual(self.wire(primary).ask(WRITE, 1, b"x")[2], 0)
        thread.join(ministore.PATIENCE)
        until(lambda: message in primary.messages(), f"it says: {message}")
        self.assertEqual(primary.stop()[1]["peers_lost"], 1)

    @staticmethod
    def answer(header, kind=REPLICATE | REPLY, route=None):
        fields = list(FRAME.unpack(header[:FRAME.size]))
        fields[2] = kind
        fields[7] = fields[9] = 0
        if route is not None:
            fields[10] = route
        head = FRAME.pack(*fields)
        return head + struct.pack("<I", ministore.zlib.crc32(head))

    def test_what_they_send_is_looked_at(self):
        self.check_left_out(lambda header: bytes(FRAME_SIZE), "no frame of ours")
        self.check_left_out(lambda header: self.answer(header, WRITE | REPLY),
                            "it sent what is no answer to a copy")
        self.check_left_out(lambda header: self.answer(header, route=4711),
                            "it answered what it was not asked")
        self.check_left_out(lambda header: self.answer(header) * 2,
                            "it answered what it was not asked")

    def test_wrong_use(self):
        for text in ("nowhere", "host:", ":1", "host:0", "host:65536", "host:1x", "h" * 300 + ":1"):
            with self.subTest(text):
                daemon = self.daemon("--store", "memstore", "--peer", text, ready=False)
                self.assertEqual(daemon.wait(), 2)
                self.assertIn("it must read HOST:PORT", daemon.messages())
        many = ["--peer", "127.0.0.1:1"] * 17
        self.assertEqual(self.daemon("--store", "memstore", *many, ready=False).wait(), 2)
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        daemon = self.daemon("--store", "memstore", "--peer", f"127.0.0.1:{port}", ready=False)
        self.assertEqual(daemon.wait(), 1)
        self.assertIn("it must run before its primary starts", daemon.messages())


if __name__ == "__main__":
    ministore.main()
