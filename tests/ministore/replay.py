# SPDX-License-Identifier: MIT
"""kill -9 at any time loses no acknowledged write: the journal is replayed at the next start."""

import itertools
import os
import random
import shutil
import struct
import zlib

import ministore
from ministore import READ, WRITE, frame, until

OBJECTS = 400
ROUNDS = 5

# journal_format.h
SUPER = struct.Struct("<IIQQQQQII")
ENTRY = struct.Struct("<IIQQQQII")
ENTRY_MAGIC = 0x59544E45
SUPER_SPACE, RING_BEGIN = 4096, 8192


class JournalFile:
    """The journal of a daemon that is not running."""

    def __init__(self, directory):
        self.path = os.path.join(directory, "data", "journal")

    def super_block(self):
        with open(self.path, "rb") as file:
            blocks = [SUPER.unpack(file.read(SUPER_SPACE)[:SUPER.size]) for _ in range(2)]
        return max((b for b in blocks if b[0]), key=lambda b: b[2])

    def newest_super_place(self):
        return self.super_block()[2] % 2 * SUPER_SPACE

    def entries(self):
        """(place, fields) of each valid entry that is not trimmed; then the place behind them."""
        *_, incarnation, size, start, trimmed, _, _ = self.super_block()
        with open(self.path, "rb") as file:
            ring = file.read()[RING_BEGIN:RING_BEGIN + size]
        place, sequence = start, trimmed + 1
        while True:
            for at in (place, 0):
                fields = ENTRY.unpack_from(ring.ljust(at + ENTRY.size, b"\0"), at)
                payload = ring[at + ENTRY.size:at + ENTRY.size + fields[1]]
                if (fields[0], fields[2], fields[3]) == (ENTRY_MAGIC, incarnation, sequence) and \
                        zlib.crc32(payload) == fields[6]:
                    yield at, fields
                    place = at + ENTRY.size + (fields[1] + 7) // 8 * 8
                    sequence += 1
                    break
            else:
                return

    def end(self):
        """The place behind the last entry, the next sequence, the incarnation."""
        *_, incarnation, _, start, trimmed, _, _ = self.super_block()
        place, sequence = start, trimmed + 1
        for at, fields in self.entries():
            place, sequence = at + ENTRY.size + (fields[1] + 7) // 8 * 8, fields[3] + 1
        return place, sequence, incarnation

    def write_at(self, place, data):
        with open(self.path, "r+b") as file:
            file.seek(place)
            file.write(data)


def entry(incarnation, sequence, obj, payload, length=None, payload_crc=None):
    head = ENTRY.pack(ENTRY_MAGIC, len(payload) if length is None else length, incarnation,
                      sequence, obj, 0, zlib.crc32(payload) if payload_crc is None else payload_crc,
                      0)[:-4]
    return head + struct.pack("<I", zlib.crc32(head)) + payload


def opens_objects(daemon):
    """Whether the daemon has got as far as the journal (or is through with it)."""
    try:
        links = [os.readlink(f"/proc/{daemon.process.pid}/fd/{fd}")
                 for fd in os.listdir(f"/proc/{daemon.process.pid}/fd")]
    except OSError:
        return False
    return any(link.endswith("/journal") for link in links)


class KillNine(ministore.Case):
    def rounds(self, *options, load_options=(), killed_in_replay=False):
        record = ("--record", self.record(), "--objects", OBJECTS, "--quiet")
        dice = random.Random(3)
        replayed = 0
        for number in range(ROUNDS):
            daemon = self.filestore(*options)
            replayed += daemon.stats()["journal_replayed"]
            if number:
                self.load(daemon, "check", *record)
            load = self.begin_load(daemon, "mixed", 60, "--reads", 20, "--seed", number,
                                   "--depth", 32, *record, *load_options)
            wanted = dice.randrange(200, 2000)
            until(lambda d=daemon, n=wanted: d.stats()["ops"]["write"]["count"] > n,
                  "the load writes")
            daemon.kill()
            totals = load.finish().totals
            self.assertEqual(load.status, 1)
            self.assertGreaterEqual(totals["writes"], wanted - 32)
            self.assertEqual((totals["failed"], totals["wrong"]), (0, 0), load.output)
            if killed_in_replay:
                victim = self.filestore(*options, ready=False)
                until(lambda v=victim: opens_objects(v), "it replays")
                victim.kill()
        daemon = self.filestore(*options)
        replayed += daemon.stats()["journal_replayed"]
        self.load(daemon, "check", *record)
        self.assertEqual(daemon.stop()[0], 0)
        self.assertGreater(replayed, 0, "something was there to be replayed")

    def test_rounds(self):
        for messenger, acknowledge in itertools.product(("simple", "async"),
                                                        ("applied", "journaled")):
            with self.subTest(messenger=messenger, acknowledge=acknowledge):
                self.rounds("--messenger", messenger, "--ack", acknowledge)

    def test_several_connections_and_workers(self):
        self.rounds("--threads-per-shard", 2, "--apply-threads", 4, "--ack", "journaled",
                    load_options=("--threads", 4))

    def test_while_much_is_journaled_and_little_applied(self):
        self.rounds("--ack", "journaled", "--inject", "filestore.write=200us", "--queue-max-ops",
                    1000)

    def test_killed_again_while_replaying(self):
        self.rounds("--ack", "journaled", killed_in_replay=True)

    def test_while_the_journal_is_trimmed_all_the_time(self):
        self.rounds("--journal-size", "16M", "--sync-interval", "1ms")

    def test_the_journal_wraps(self):
        daemon = self.filestore("--journal-size", "16M")
        record = ("--record", self.record(), "--objects", OBJECTS, "--object-size", 65536, "--quiet")
        self.load(daemon, "write", "--ops", 1000, *record)
        self.assertGreater(daemon.stats()["journal_trims"], 3)
        daemon.kill()
        daemon = self.filestore("--journal-size", "16M")
        self.load(daemon, "check", *record)


class LostFiles(ministore.Case):
    """The journal alone must bring back what the files have lost."""

    def test_replay_is_what_brings_it_back(self):
        daemon = self.filestore("--sync-interval", "60s")
        record = ("--record", self.record(), "--objects", 50, "--quiet")
        self.load(daemon, "write", "--ops", 500, *record)
        daemon.kill()
        for directory, _, names in os.walk(os.path.join(self.directory, "data")):
            for name in names:
                if name.startswith("object-"):
                    os.truncate(os.path.join(directory, name), 0)
        daemon = self.filestore()
        self.assertEqual(daemon.stats()["journal_replayed"], 500)
        self.load(daemon, "check", *record)
        daemon.kill()
        self.assertEqual(self.filestore().stats()["journal_replayed"], 0)


    def test_a_lost_write_is_noticed(self):
        """The counter-test: `check` fails when the daemon forgets."""
        daemon = self.filestore()
        record = ("--record", self.record(), "--objects", 50, "--quiet")
        self.load(daemon, "write", "--ops", 500, *record)
        daemon.stop()  # all is applied, synced, and no longer in the journal
        names = []
        for directory, _, files in os.walk(os.path.join(self.directory, "data")):
            names += [os.path.join(directory, name) for name in sorted(files) if "object-" in name]
        os.unlink(names[0])
        os.truncate(names[1], 100)
        with open(names[2], "r+b") as file:
            file.seek(2000)
            file.write(b"\0\1\2\3")
        load = self.load(self.filestore(), "check", *record, status=1)
        self.assertEqual(load.totals["wrong"], 3)
        self.assertIn("is not what was acknowledged", load.errors)


class Damage(ministore.Case):
    def written(self, count=3):
        """A killed daemon that has acknowledged `count` writes."""
        daemon = self.filestore("--sync-interval", "60s")
        wire = self.wire(daemon)
        for number in range(count):
            self.assertEqual(wire.ask(WRITE, 1, b"version %d" % number)[2], 0)
        daemon.kill()
        return JournalFile(self.directory)

    def check_content(self, daemon, expected):
        self.assertEqual(self.wire(daemon).ask(READ, 1, length=100)[3], expected)

    def test_the_format_is_as_documented(self):
        journal = self.written(3)
        self.assertEqual([fields[3] for _, fields in journal.entries()], [1, 2, 3])

    def test_torn_last_entry(self):
        torn = {
            "payload cut": lambda i, s: entry(i, s, 1, b"never acknowledged")[:-5],
            "payload damaged": lambda i, s: entry(i, s, 1, b"never acknowledged", payload_crc=7),
            "header damaged": lambda i, s: entry(i, s, 1, b"no")[:44] + b"\1\2\3\4" + b"no",
            "length absurd": lambda i, s: entry(i, s, 1, b"no", length=0xFFFFFFF0),
        }
        for name, make in torn.items():
            with self.subTest(name):
                shutil.rmtree(os.path.join(self.directory, "data"), ignore_errors=True)
                journal = self.written()
                place, sequence, incarnation = journal.end()
                journal.write_at(RING_BEGIN + place, make(incarnation, sequence))
                daemon = self.filestore()
                stats = daemon.stats()
                self.assertEqual((stats["journal_replayed"], stats["journal_torn"]), (3, 1))
                self.check_content(daemon, b"version 2")
                self.assertEqual(self.wire(daemon).ask(WRITE, 1, b"after all")[2], 0)
                daemon.kill()
                daemon = self.filestore()
                self.check_content(daemon, b"after all")
                daemon.stop()

    def test_a_whole_entry_counts(self):
        """The counter-test: the hand-made entry is replayed when nothing is wrong with it."""
        journal = self.written()
        place, sequence, incarnation = journal.end()
        journal.write_at(RING_BEGIN + place, entry(incarnation, sequence, 1, b"by hand !"))
        daemon = self.filestore()
        self.assertEqual(daemon.stats()["journal_replayed"], 4)
        self.check_content(daemon, b"by hand !")

    def test_entries_of_an_earlier_life_are_not_taken(self):
        journal = self.written()
        place, sequence, incarnation = journal.end()
        journal.write_at(RING_BEGIN + place, entry(incarnation - 1, sequence, 1, b"of the past"))
        daemon = self.filestore()
        stats = daemon.stats()
        self.assertEqual((stats["journal_replayed"], stats["journal_torn"]), (3, 0))
        self.check_content(daemon, b"version 2")

    def test_torn_superblock(self):
        journal = self.written()
        # while the newer one is written, the older one still stands
        journal.write_at(journal.newest_super_place() + 8, b"\xff" * 8)
        daemon = self.filestore()
        self.check_content(daemon, b"version 2")

    def test_no_superblock(self):
        journal = self.written()
        journal.write_at(0, b"\x55" * RING_BEGIN)
        daemon = self.filestore(ready=False)
        self.assertEqual(daemon.wait(), 1)
        self.assertIn("both its superblocks are damaged", daemon.messages())

    def test_died_while_the_journal_was_made(self):
        os.mkdir(os.path.join(self.directory, "data"))
        with open(os.path.join(self.directory, "data", "journal"), "wb") as file:
            file.truncate(16 << 20)
        daemon = self.filestore()
        self.assertEqual(self.wire(daemon).ask(WRITE, 1, b"new")[2], 0)
        daemon.kill()
        self.check_content(self.filestore(), b"new")


class Order(ministore.Case):
    def test_a_read_sees_the_write_that_was_answered_before(self):
        """--ack journaled answers before applying: the read must wait for it."""
        daemon = self.filestore("--ack", "journaled", "--inject", "filestore.write=20ms")
        wire = self.wire(daemon)
        for number in range(10):
            payload = b"number %d" % number
            self.assertEqual(wire.ask(WRITE, 1, payload)[2], 0)
            self.assertEqual(wire.ask(READ, 1, length=100)[3], payload)

    def test_writes_of_one_connection_are_applied_in_their_order(self):
        daemon = self.filestore("--apply-threads", 8)
        wire = self.wire(daemon)
        count = 500
        wire.send(b"".join(frame(WRITE, obj=1, payload=b"%06d" % n, tid=n) for n in range(count)))
        for _ in range(count):
            self.assertEqual(wire.reply()[2], 0)
        self.assertEqual(wire.ask(READ, 1, length=100)[3], b"%06d" % (count - 1))
        daemon.kill()
        daemon = self.filestore()
        self.assertEqual(self.wire(daemon).ask(READ, 1, length=100)[3], b"%06d" % (count - 1))


if __name__ == "__main__":
    ministore.main()
