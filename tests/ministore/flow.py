# SPDX-License-Identifier: MIT
"""The daemon as a whole: what is written is read again, and every op is counted once."""

import itertools
import os
import signal
import subprocess

import ministore
from ministore import PING, PROGRAMS, READ, STAT, WRITE, until

OPS = 2000
OBJECTS = 300


class Flow(ministore.Case):
    def check_run(self, daemon, *options):
        load = self.load(daemon, "mixed", "--ops", OPS, "--objects", OBJECTS, "--verify",
                         "--prefill", "--quiet", *options)
        totals = load.totals
        self.assertEqual(totals["reads"] + totals["writes"], OPS)
        self.assertEqual(totals["finished"], OPS)
        self.assertEqual((totals["failed"], totals["lost"], totals["wrong"]), (0, 0, 0))
        status, stats = daemon.stop()
        self.assertEqual(status, 0)
        self.assertEqual(stats["ops"]["read"], {"count": totals["reads"], "failed": 0})
        self.assertEqual(stats["ops"]["write"], {"count": totals["writes"] + OBJECTS, "failed": 0})

    def test_every_store_with_every_messenger(self):
        for messenger, acknowledge in itertools.product(("simple", "async"),
                                                        ("applied", "journaled")):
            with self.subTest(messenger=messenger, acknowledge=acknowledge):
                data = os.path.join(self.directory, f"{messenger}-{acknowledge}")
                self.check_run(self.daemon("--data", data, "--messenger", messenger, "--ack",
                                           acknowledge))
        for messenger in ("simple", "async"):
            with self.subTest(messenger=messenger, store="memstore"):
                self.check_run(self.daemon("--store", "memstore", "--messenger", messenger))

    def test_several_connections_and_workers(self):
        self.check_run(self.filestore("--shards", 2, "--threads-per-shard", 3, "--apply-threads", 4,
                                      "--placement-groups", 5),
                       "--threads", 4, "--depth", 32)

    def test_diseases_change_no_result(self):
        self.check_run(self.filestore("--index-lock", "global", "--fd-cache", 0,
                                      "--wbthrottle-start", 1, "--wbthrottle-limit", 2,
                                      "--sync", "fsync", "--queue-max-ops", 1, "--shards", 1,
                                      "--message-throttle", 4096, "--messenger", "async"))

    def test_global_memstore_lock(self):
        self.check_run(self.daemon("--store", "memstore", "--memstore-lock", "global",
                                   "--message-throttle", 4096))

    def test_without_probes(self):
        self.check_run(self.filestore(program="ministore-bare"))

    def test_large_objects(self):
        daemon = self.filestore("--journal-size", "16M")
        load = self.load(daemon, "mixed", "--ops", 60, "--objects", 8, "--object-size", "4M",
                         "--verify", "--prefill", "--quiet", "--depth", 8)
        self.assertEqual(load.totals["finished"], 60)
        self.assertEqual(daemon.stop()[0], 0)

    def test_cache_of_the_client(self):
        daemon = self.filestore()
        load = self.load(daemon, "mixed", "--ops", OPS, "--objects", OBJECTS, "--verify",
                         "--prefill", "--quiet", "--cache", 65536)
        self.assertEqual(load.totals["finished"], OPS)
        # all of it has reached the daemon: a second client sees the same
        record = self.record()
        self.load(daemon, "write", "--ops", OPS, "--objects", OBJECTS, "--quiet", "--cache", 65536,
                  "--record", record)
        self.load(daemon, "check", "--objects", OBJECTS, "--record", record, "--quiet")
        stats = daemon.stop()[1]
        self.assertLess(stats["ops"]["write"]["count"], 2 * OPS + OBJECTS,
                        "overwriting a dirty block saves a write")

    def test_parts_of_objects(self):
        for options in (("--data", os.path.join(self.directory, "data")), ("--store", "memstore")):
            wire = self.wire(self.daemon(*options))
            self.assertEqual(wire.ask(READ, 5, length=10)[2], 2, "ENOENT")
            self.assertEqual(wire.ask(STAT, 5)[2], 2, "ENOENT")
            self.assertEqual(wire.ask(WRITE, 5, b"hello", offset=100)[2], 0)
            self.assertEqual(wire.ask(READ, 5, length=1000)[3], bytes(100) + b"hello")
            self.assertEqual(wire.ask(READ, 5, length=3, offset=101)[3], b"ell")
            self.assertEqual(wire.ask(READ, 5, length=10, offset=105)[2:], (0, b""))
            self.assertEqual(wire.ask(READ, 5, length=10, offset=5000)[2:], (0, b""))
            self.assertEqual(wire.ask(PING)[2], 0)
            self.assertEqual(wire.ask(WRITE, 5, b"")[2], 22, "EINVAL: nothing to write")
            self.assertEqual(wire.ask(READ, 5, length=0)[2], 22, "EINVAL: nothing to read")
            self.assertEqual(wire.ask(WRITE, 5, b"x", offset=1 << 40)[2], 27, "EFBIG")
            self.assertEqual(wire.ask(READ, 5, length=1, offset=(1 << 64) - 1)[2], 27, "EFBIG")


class FdCache(ministore.Case):
    def test_the_least_recently_used_file_gives_way(self):
        daemon = self.filestore("--fd-cache", 4, "--fd-cache-shards", 1, "--wbthrottle", "off")
        wire = self.wire(daemon)

        def hits_and_misses(kind, objects):
            before = daemon.stats()
            for obj in objects:
                payload = {"payload": b"x"} if kind == WRITE else {"length": 1}
                self.assertEqual(wire.ask(kind, obj, **payload)[2], 0)
            after = daemon.stats()
            return tuple(after[n] - before[n] for n in ("fd_cache_hits", "fd_cache_misses"))

        self.assertEqual(hits_and_misses(WRITE, [0, 1, 2, 3]), (0, 4))
        self.assertEqual(hits_and_misses(READ, [3, 2, 1, 0]), (4, 0))
        self.assertEqual(hits_and_misses(WRITE, [4]), (0, 1))
        self.assertEqual(hits_and_misses(READ, [0, 1, 2, 4]), (4, 0), "3 was used longest ago")
        self.assertEqual(hits_and_misses(READ, [3]), (0, 1))
        self.assertEqual(hits_and_misses(READ, [0]), (0, 1))


class Report(ministore.Case):
    FIELDS = ("Total time run", "Total writes made", "Write size", "Object size",
              "Bandwidth (MB/sec)", "Stddev Bandwidth", "Max bandwidth (MB/sec)",
              "Min bandwidth (MB/sec)", "Average IOPS", "Stddev IOPS", "Max IOPS", "Min IOPS",
              "Average Latency(s)", "Stddev Latency(s)", "Max latency(s)", "Min latency(s)")

    def test_it_has_the_fields_of_rados_bench(self):
        load = self.load(self.daemon("--store", "memstore"), "write", 2, "--depth", 2)
        lines = load.output.splitlines()
        self.assertEqual(lines[1].split(), "sec Cur ops started finished avg MB/s cur MB/s "
                                           "last lat(s) avg lat(s)".split())
        seconds = [line.split() for line in lines[2:] if line.startswith("    ")]
        self.assertIn(len(seconds), (1, 2), load.output)
        self.assertTrue(all(len(line) == 8 for line in seconds))
        totals = dict(line.split(":", 1) for line in lines if ":" in line and line[0].isupper())
        self.assertEqual(tuple(totals), self.FIELDS)
        self.assertEqual(int(totals["Total writes made"]), load.totals["writes"])
        values = [float(totals[f"{name}(s)"]) for name in ("Min latency", "Average Latency",
                                                           "Max latency")]
        self.assertEqual(values, sorted(values))
        self.assertGreater(values[0], 0)


class Repeat(ministore.Case):
    def sequence(self, daemon, *options):
        load = self.load(daemon, "mixed", "--ops", 1001, "--objects", 100, "--prefill", "--quiet",
                         *options)
        self.assertEqual(load.totals["finished"], 1001)
        return load.totals["sequence"], load.totals["reads"]

    def test_the_same_seed_gives_the_same_ops(self):
        daemon = self.daemon("--store", "memstore")
        for options in (("--depth", 1), ("--threads", 3, "--depth", 16)):
            first = self.sequence(daemon, "--seed", 7, *options)
            self.assertEqual(self.sequence(daemon, "--seed", 7, *options), first)
            self.assertNotEqual(self.sequence(daemon, "--seed", 8, *options)[0], first[0])

    def test_the_mix_is_as_asked_for(self):
        daemon = self.daemon("--store", "memstore")
        self.assertEqual(self.sequence(daemon, "--reads", 0)[1], 0)
        self.assertEqual(self.sequence(daemon, "--reads", 100)[1], 1001)


class Stop(ministore.Case):
    def test_what_was_received_is_answered(self):
        for messenger in ("simple", "async"):
            daemon = self.daemon("--data", os.path.join(self.directory, messenger), "--messenger",
                                 messenger, "--inject", "commit.callback=1ms")
            load = self.begin_load(daemon, "write", 60, "--quiet")
            until(lambda d=daemon: d.stats()["ops"]["write"]["count"] > 100, "the load runs")
            status, stats = daemon.stop()
            totals = load.finish().totals
            self.assertEqual(status, 0, daemon.messages())
            self.assertEqual(load.status, 1, "the load says that its daemon went away")
            self.assertEqual(stats["ops"]["write"]["count"], totals["writes"])
            self.assertEqual(stats["replies_dropped"], 0)
            self.assertGreater(totals["lost"], 0)

    def test_it_starts_again_with_nothing_to_replay(self):
        daemon = self.filestore()
        self.load(daemon, "write", "--ops", 500, "--record", self.record(), "--quiet")
        self.assertEqual(daemon.stop()[0], 0)
        daemon = self.filestore()
        self.assertEqual(daemon.stats()["journal_replayed"], 0)
        self.load(daemon, "check", "--record", self.record(), "--quiet")

    def test_idle_connections_do_not_hold_it(self):
        for messenger in ("simple", "async"):
            daemon = self.daemon("--store", "memstore", "--messenger", messenger)
            wires = [self.wire(daemon) for _ in range(20)]
            self.assertEqual(wires[0].ask(PING)[2], 0)
            self.assertEqual(daemon.stop()[0], 0)
            self.assertTrue(all(wire.is_closed() for wire in wires))

    def test_pid_file(self):
        path = os.path.join(self.directory, "pid")
        daemon = self.daemon("--store", "memstore", "--pid-file", path)
        with open(path, encoding="ascii") as file:
            self.assertEqual(int(file.read()), daemon.process.pid)
        daemon.process.send_signal(signal.SIGINT)
        self.assertEqual(daemon.wait(), 0)
        self.assertFalse(os.path.exists(path))


class ClosedStandardFiles(ministore.Case):
    def test_no_message_is_written_over_the_journal(self):
        daemon = self.filestore("--sync", "none", closed=True)
        for fd in range(3):
            self.assertEqual(os.readlink(f"/proc/{daemon.process.pid}/fd/{fd}"), "/dev/null")
        self.load(daemon, "write", "--ops", 500, "--record", self.record(), "--quiet")
        for _ in range(20):  # each is worth a message
            wire = self.wire(daemon)
            wire.send(ministore.frame(PING, magic=1))
            self.assertTrue(wire.is_closed())
        daemon.kill()
        daemon = self.filestore()
        self.load(daemon, "check", "--record", self.record(), "--quiet")
        self.assertEqual(daemon.stop()[0], 0)

    def test_no_report_is_written_to_a_connection(self):
        daemon = self.daemon("--store", "memstore")
        done = subprocess.run(
            [*ministore.CLOSED, os.path.join(PROGRAMS, "ministore-load"), "write", "--ops", "300",
             "--threads", "4", "--port", str(daemon.port)], timeout=ministore.PATIENCE, check=False)
        self.assertEqual(done.returncode, 0)
        status, stats = daemon.stop()
        self.assertEqual(status, 0)
        self.assertEqual(stats["ops"]["write"], {"count": 300, "failed": 0})
        self.assertEqual(daemon.messages(), "")


class WrongUse(ministore.Case):
    def check_refused(self, program, arguments, status, words):
        result = subprocess.run([os.path.join(PROGRAMS, program), *arguments], text=True,
                                capture_output=True, timeout=ministore.PATIENCE, check=False)
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertIn(words, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, "one line: " + result.stderr)

    def test_daemon(self):
        for arguments, words in (
                ([], "--data"),
                (["--bogus"], "no such option"),
                (["--port"], "argument is missing"),
                (["--port", "70000"], "from 0 to 65535"),
                (["--store", "ramstore"], "filestore|memstore"),
                (["--inject", "nowhere=1ms"], "no such point"),
                (["--inject", "journal.write"], "POINT=TIME"),
                (["--inject", "journal.write=fast"], "200us"),
                (["--slow-disk", "-1ms"], "200us"),
                (["--journal-size", "99999999999G"], "number from"),
                (["surplus"], "not expected"),
                (["--store", "memstore", "--wbthrottle-start", "9", "--wbthrottle-limit", "8"],
                 "must not be above")):
            self.check_refused("ministore", arguments, 2, words)

    def test_load(self):
        for arguments, words in (
                ([], "say what to do"),
                (["write", "1"], "--port"),
                (["write", "--port", "1"], "how long"),
                (["write", "x", "--port", "1"], "SECONDS"),
                (["check", "--port", "1"], "--record"),
                (["write", "1", "--port", "1", "--threads", "4", "--depth", "2"], "at least")):
            self.check_refused("ministore-load", arguments, 2, words)

    def test_what_is_not_there(self):
        self.check_refused("ministore", ["--data", "/nonexistent/place"], 1, "cannot")
        daemon = self.filestore()
        self.check_refused("ministore", ["--store", "memstore", "--port", str(daemon.port)], 1,
                           "choose another --port")
        self.check_refused("ministore", ["--data", os.path.join(self.directory, "data")], 1,
                           "another daemon")
        daemon.stop()
        self.check_refused("ministore-load", ["write", "1", "--port", str(daemon.port)], 1,
                           "cannot connect")
        self.check_refused("ministore", ["--data", os.path.join(self.directory, "data"),
                                         "--placement-groups", "3"], 1, "--placement-groups 16")


if __name__ == "__main__":
    ministore.main()
