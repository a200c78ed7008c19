# SPDX-License-Identifier: MIT
"""Locks: what the daemon says of its waits and holds is what was injected, and what a trace of the
same run says of them."""

import collections
import json
import os
import re
import signal
import subprocess
import sys

import ministore

WITH_SESSION = os.environ.get("WITH_SESSION", "")
HOLD_NS = 1_000_000
HOLD = "1ms"
WIDE = ("--placement-groups", 256, "--shards", 8)
EVENT = re.compile(r"^\[(\d+)\] .*optrail:(\w+): .*\{ pid = (\d+), tid = (\d+), key = (0x[0-9A-F]+), "
                   r'\w+ = (\d+|"[^"]*"), \w+ = (\d+) \}$')


class Truth(ministore.Case):
    """Each disease alone: the lock that it is about waits and is held for as long as injected."""

    def check(self, name, injection, *daemon_options, load=(), mode="write"):
        daemon = self.daemon("--data", os.path.join(self.directory, "data"), "--lock-stats", "on",
                             "--inject", f"{injection}={HOLD}", *daemon_options)
        self.load(daemon, mode, "--ops", 300, "--depth", 8, "--objects", 300, "--quiet", *load)
        status, stats = daemon.stop()
        self.assertEqual(status, 0)
        lock, injected = stats["locks"][name], stats["inject"][injection]
        self.assertGreaterEqual(lock["hold_ns"], injected["total_ns"], "held at least so long")
        self.assertEqual(lock["holds"], lock["taken"])
        # eight ops at a time, one holder: the others wait for it
        self.assertGreater(lock["waits"], 100, lock)
        self.assertGreater(lock["wait_ns"], 100 * HOLD_NS, lock)
        others = {other: row["wait_ns"] for other, row in stats["locks"].items() if other != name}
        self.assertLess(max(others.values()), lock["wait_ns"], others)
        return lock

    def test_one_memstore_lock(self):
        self.check("memstore.lock", "memstore.lock_hold", "--store", "memstore", "--memstore-lock",
                   "global", *WIDE)

    def test_one_index_lock(self):
        self.check("filestore.index", "filestore.index_hold", "--index-lock", "global",
                   "--apply-threads", 8, *WIDE)

    def test_an_account_behind_a_mutex_or_a_spinning_lock(self):
        for kind in ("mutex", "spin"):
            with self.subTest(kind):
                self.check("osd.account", "osd.account_hold", "--store", "memstore",
                           "--account-lock", kind, *WIDE)

    def test_a_hot_placement_group(self):
        """With nine of ten ops in one group its lock is waited for more than when they spread."""
        waits = {}
        for hot in (90, 0):
            daemon = self.daemon("--store", "memstore", "--threads-per-shard", 8,
                                 "--placement-groups", 64, "--inject", f"pg.lock_hold={HOLD}")
            self.load(daemon, "randread", "--ops", 300, "--depth", 8, "--objects", 128, "--prefill",
                               "--placement-groups", 64, "--hot-pg", hot, "--quiet")
            waits[hot] = daemon.stop()[1]["locks"]["pg.lock"]["wait_ns"]
        self.assertGreater(waits[90], 4 * waits[0], waits)

    def test_without_the_option_holds_are_not_measured(self):
        daemon = self.daemon("--store", "memstore", "--memstore-lock", "global",
                             "--inject", f"memstore.lock_hold={HOLD}", *WIDE)
        self.load(daemon, "write", "--ops", 50, "--depth", 8, "--quiet")
        lock = daemon.stop()[1]["locks"]["memstore.lock"]
        self.assertGreater(lock["waits"], 0)
        self.assertEqual((lock["holds"], lock["taken"]), (0, 0))

    def test_the_clients_cache(self):
        """Eight threads of one image behind its cache's lock: the client's own account."""
        daemon = self.daemon("--store", "memstore")
        totals = self.load(daemon, "write", "--ops", 400, "--depth", 8, "--threads", 8, "--share",
                           "--cache", "64M", "--inject", f"client.cache_hold={HOLD}",
                           "--lock-stats", "on", "--quiet").totals
        lock, injected = totals["locks"]["client.cache"], totals["inject"]["client.cache_hold"]
        self.assertEqual(injected["count"], 400)
        self.assertGreaterEqual(lock["hold_ns"], injected["total_ns"])
        self.assertGreater(lock["wait_ns"], 4 * injected["total_ns"], "seven wait for the eighth")

    def test_an_allocator_storm(self):
        daemon = self.daemon("--store", "memstore", "--allocator-storm", 5, *WIDE)
        self.load(daemon, "write", "--ops", 200, "--depth", 8, "--quiet")
        stats = daemon.stop()[1]
        self.assertEqual(stats["storm_ops"], 200)
        self.assertGreater(stats["storm_ns"], 0)

    def test_wrong_use(self):
        for options in (("--inject", "journal.write=1ms"), ("--inject", "client.cache_hold=x"),
                        ("--hot-pg", "101")):
            with self.subTest(options):
                done = subprocess.run([os.path.join(ministore.PROGRAMS, "ministore-load"), "write",
                                       "--ops", "1", "--port", "1", *options], capture_output=True)
                self.assertEqual(done.returncode, 2)


class Trace(ministore.Case):
    """The points of a run under LTTng, against the daemon's own account of the same run."""

    def record(self, *options):
        """Events, and the daemon's counters."""
        trace = os.path.join(self.directory, "trace")
        done = subprocess.run([WITH_SESSION, "--output", trace, "--", sys.executable, __file__,
                               "--run", self.directory, *map(str, options)], text=True,
                              capture_output=True)
        if "not installed" in done.stderr:
            self.skipTest(done.stderr.strip())
        self.assertEqual(done.returncode, 0, done.stderr)
        read = subprocess.run(["babeltrace2", "--clock-cycles", "--no-delta", trace], text=True,
                              capture_output=True)
        self.assertEqual(read.returncode, 0, read.stderr)
        self.assertNotIn("discarded", read.stderr)
        events = [EVENT.match(line).groups() for line in read.stdout.splitlines()]
        with open(os.path.join(self.directory, "stats.json"), encoding="utf-8") as file:
            return events, json.load(file)["locks"]

    def test_waits_and_holds(self):
        events, stats = self.record("--store", "memstore", "--memstore-lock", "global",
                                    "--account-lock", "spin", "--inject",
                                    f"memstore.lock_hold={HOLD}", "--lock-stats", "on", *WIDE)
        names = {}
        waits, wait_ns, holds, hold_ns = (collections.Counter() for _ in range(4))
        asked, had = {}, {}
        for time, point, _, tid, key, arg0, _ in events:
            if point == "lock_named":
                names[int(key, 16)] = arg0.strip('"')
        for time, point, _, tid, key, arg0, _ in events:
            component, _, step = point.partition("_")
            if step.startswith("lock_") and component in ("memstore", "pg"):
                step, name, lock = step[5:], component + ".lock", None
            elif component == "lock" and step in ("request", "acquired", "released"):
                name = names.get(int(key, 16))
                lock = key
            else:
                continue
            who, time = (tid, name, lock), int(time)
            if step == "request":
                asked[who] = time
            elif step == "acquired":
                if who in asked:
                    waits[name] += 1
                    wait_ns[name] += time - asked.pop(who)
                had[who] = time
            elif who in had:
                holds[name] += 1
                hold_ns[name] += time - had.pop(who)
        self.assertNotIn(None, holds, "every lock has a name")
        self.assertGreater(len(holds), 6, holds)
        # points of the stages ask also for locks that are free; the others do not
        self.assertEqual(waits["osd.account"], stats["osd.account"]["waits"])
        self.assertGreaterEqual(waits["memstore.lock"], stats["memstore.lock"]["waits"])
        self.assertEqual(holds["memstore.lock"], stats["memstore.lock"]["holds"])
        self.assertEqual(holds["osd.account"], stats["osd.account"]["holds"])
        for counted, told in ((wait_ns, "wait_ns"), (hold_ns, "hold_ns")):
            truth = stats["memstore.lock"][told]
            self.assertLess(abs(counted["memstore.lock"] - truth), 0.05 * truth, told)


def run_daemon(directory, *options):
    """Within the session: a daemon, some load, its end."""
    with open(os.path.join(directory, "log"), "ab") as log:
        daemon = subprocess.Popen(
            [os.path.join(ministore.PROGRAMS, "ministore"), "--port", "0", "--stats",
             os.path.join(directory, "stats.json"), *options], stdout=subprocess.PIPE, stderr=log,
            text=True)
    port = daemon.stdout.readline().rpartition(":")[2].strip()
    subprocess.run([os.path.join(ministore.PROGRAMS, "ministore-load"), "write", "--ops", "300",
                    "--depth", "8", "--objects", "300", "--port", port, "--quiet"], check=True,
                   stdout=subprocess.DEVNULL, env={**os.environ, "OPTRAIL_PROVIDER": "off"})
    daemon.send_signal(signal.SIGTERM)
    return daemon.wait()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        sys.exit(run_daemon(*sys.argv[2:]))
    if not WITH_SESSION:
        del Trace
    ministore.main()
