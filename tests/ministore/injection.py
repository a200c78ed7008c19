# SPDX-License-Identifier: MIT
"""Injected delays are what they say: the daemon's account of them against what the client saw.

Only what must hold on a busy machine too is checked: a delay is never shorter than asked for, is
on the path of every op that it counts, and counts every op of its kind."""

import itertools
import os

import ministore

OPS = 100
DELAY_NS = 2_000_000
DELAY = "2ms"

EVERY_OP = ("messenger.recv", "messenger.throttle", "messenger.dispatch", "opqueue.wait", "pg.lock",
            "pg.lock_hold", "osd.prepare", "reply.queue", "reply.send")
FILESTORE_WRITE = ("filestore.throttle", "journal.queue", "journal.write", "apply.queue",
                   "wbthrottle.wait", "filestore.write", "commit.callback")
FILESTORE_BOTH = ("filestore.index", "filestore.index_hold", "filestore.lfn_open")
MEMSTORE_BOTH = ("memstore.lock",)


class Injection(ministore.Case):
    def check_delay(self, name, mode, *daemon_options, options=None, count=OPS, on_path=True):
        """One run at depth 1 with one delay, against the same daemon's account of it."""
        directory = os.path.join(self.directory, "data")
        daemon = self.daemon("--data", directory, *daemon_options,
                             *(options or ("--inject", f"{name}={DELAY}")))
        load = self.load(daemon, mode, "--ops", OPS, "--objects", 50, "--depth", 1, "--quiet",
                         *(("--prefill",) if mode == "randread" else ()))
        status, stats = daemon.stop()
        self.assertEqual(status, 0)
        self.assertEqual(list(stats["inject"]), [name])
        account = stats["inject"][name]
        latency = load.totals["latency_ns"]
        self.assertEqual(account["delay_ns"], DELAY_NS)
        self.assertEqual(account["count"], count, name)
        self.assertGreaterEqual(account["total_ns"], count * DELAY_NS)
        if on_path:
            self.assertGreaterEqual(latency["min"], DELAY_NS, "every op has it on its path")
            if count == OPS:  # no other op has a part in the account
                self.assertGreaterEqual(latency["sum"], account["total_ns"])

    def test_every_op_of_a_filestore(self):
        for name in EVERY_OP + FILESTORE_BOTH:
            for mode in ("write", "randread"):
                with self.subTest(name=name, mode=mode):
                    # the prefill's 50 writes have it too
                    self.check_delay(name, mode, count=OPS + (50 if mode == "randread" else 0))

    def test_writes_of_a_filestore(self):
        for name in FILESTORE_WRITE:
            with self.subTest(name):
                self.check_delay(name, "write")

    def test_reads_of_a_filestore(self):
        self.check_delay("filestore.read", "randread")

    def test_memstore(self):
        store = ("--store", "memstore")
        for name in EVERY_OP + MEMSTORE_BOTH + ("memstore.apply", "memstore.lock_hold",
                                                "commit.callback"):
            with self.subTest(name):
                self.check_delay(name, "write", *store)
        self.check_delay("memstore.read", "randread", *store)

    def test_async_messenger(self):
        for name in ("messenger.recv", "messenger.throttle", "messenger.dispatch", "reply.queue",
                     "reply.send"):
            with self.subTest(name):
                self.check_delay(name, "write", "--messenger", "async")

    def test_slow_devices(self):
        self.check_delay("slow_journal", "write", options=("--slow-journal", DELAY))
        self.check_delay("slow_disk", "write", options=("--slow-disk", DELAY))
        # a flusher's syncs are on no op's path and not in the account
        self.check_delay("slow_disk", "write", options=("--slow-disk", DELAY, "--wbthrottle-start",
                                                        1, "--wbthrottle-limit", 2))

    def test_answered_before_it_is_applied(self):
        """What comes after the answer is not in the client's latency, but happens all the same."""
        for name in ("apply.queue", "filestore.write"):
            self.check_delay(name, "write", "--ack", "journaled", on_path=False)
        self.check_delay("journal.write", "write", "--ack", "journaled")

    def test_cold_opens(self):
        """One a file without end of the cache, one an op without a cache."""
        count = 50
        daemon = self.filestore("--inject", f"filestore.cold_open={DELAY}", "--fd-cache", 128,
                                "--fd-cache-shards", 1)
        self.load(daemon, "write", "--ops", 1, "--objects", count, "--prefill", "--quiet")
        stats = daemon.stop()[1]
        self.assertEqual(stats["inject"]["filestore.cold_open"]["count"], count)
        self.assertEqual((stats["fd_cache_misses"], stats["fd_cache_hits"]), (count, 1))
        self.check_delay("filestore.cold_open", "write", "--fd-cache", 0)

    def test_a_lock_that_is_held_makes_others_wait(self):
        """One lock for all: with depth 8 each op waits for about 8 holders, as with one server."""
        shared = ("--shards", 16, "--placement-groups", 64, "--apply-threads", 8)
        load = ("--ops", 400, "--objects", 400, "--depth", 8, "--quiet")
        for lock, store, name in (("--index-lock", "filestore", "filestore.index_hold"),
                                  ("--memstore-lock", "memstore", "memstore.lock_hold")):
            with self.subTest(name):
                daemon = self.daemon("--data", os.path.join(self.directory, "data"), "--store",
                                     store, lock, "global", "--inject", f"{name}={DELAY}", *shared)
                totals = self.load(daemon, "write", *load).totals
                held = daemon.stop()[1]["inject"][name]["total_ns"]
                self.assertGreaterEqual(totals["seconds"] * 1e9, held,
                                        "the holders come one after the other")
                self.assertGreater(totals["latency_ns"]["mean"], 4 * DELAY_NS)

    def test_a_batch_counts_for_each_of_its_ops(self):
        daemon = self.filestore("--inject", f"journal.write={DELAY}", "--shards", 8)
        self.load(daemon, "write", "--ops", 400, "--depth", 16, "--objects", 400, "--quiet")
        stats = daemon.stop()[1]
        self.assertEqual(stats["inject"]["journal.write"]["count"], 400)
        self.assertLess(stats["journal_batches"], 400, "some batches have several entries")

    def test_units(self):
        daemon = self.daemon("--store", "memstore", *itertools.chain(
            ("--inject", "pg.lock=1500ns"), ("--inject", "osd.prepare=1.5us"),
            ("--inject", "reply.send=0.001ms"), ("--inject", "reply.queue=0s")))
        delays = {name: row["delay_ns"] for name, row in daemon.stats()["inject"].items()}
        self.assertEqual(delays, {"pg.lock": 1500, "osd.prepare": 1500, "reply.send": 1000})


if __name__ == "__main__":
    ministore.main()
