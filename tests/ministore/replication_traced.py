# SPDX-License-Identifier: MIT
"""A primary and its peers in one trace: what the report says of the wait for peers, against the
peers' own accounts of what was injected, and against the events themselves.

Runs itself inside a recording session: `replication_traced.py --load SPEC`."""

import collections
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import ministore
from ministore import PROGRAMS, until

HERE = os.path.abspath(__file__)
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
# sanitizers make all stages longer, and not by the same each time
TOLERANCE = 0.2 if os.environ.get("SANITIZED") else 0.05
TRIES = 5  # a busy machine moves medians, too


def start(directory, name, options):
    """A daemon whose files lie in directory/name."""
    place = os.path.join(directory, name)
    os.mkdir(place)
    return ministore.Daemon(place, "--data", os.path.join(place, "data"), *options)


def load(spec):
    """Inside the session: the peers, the primary, the load, the end."""
    spec = json.loads(spec)
    directory = spec["directory"]
    if spec["depth"] == 1:  # before whatever else runs here: the other programs' work is not injected
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    daemons = [start(directory, f"peer{number}", options)
               for number, options in enumerate(spec["peers"], 1)]
    named = [word for daemon in daemons for word in ("--peer", f"127.0.0.1:{daemon.port}")]
    primary = start(directory, "primary", [*named, *spec["primary"]])
    os.environ["OPTRAIL_PROVIDER"] = "off"  # the client is not what we look at
    run = ministore.Load(primary.port, "write", "--ops", spec["ops"], "--depth", spec["depth"],
                         "--objects", 16, "--quiet", directory=directory)
    if spec["kill"]:
        until(lambda: daemons[0].stats()["ops"]["replicate"]["count"] > spec["ops"] // 4,
              "the first peer is at work")
        daemons[0].kill()
    run.finish()
    status = run.status
    for daemon in (primary, *daemons):
        if daemon.alive():
            status = daemon.stop()[0] or status
        daemon.close()
    return status


class Run:
    """One recorded run: its report, the daemons' accounts, its events."""

    def __init__(self, case, primary=(), peers=((),), depth=1, ops=150, kill=False):
        self.directory = tempfile.mkdtemp(prefix="ministore-traced-", dir=MEMORY)
        case.addCleanup(shutil.rmtree, self.directory)
        spec = {"directory": self.directory, "primary": primary, "peers": peers, "depth": depth,
                "ops": ops, "kill": kill}
        self.trace = os.path.join(self.directory, "trace")
        subprocess.run([f"{PROGRAMS}/with-lttng-session", "--output", self.trace, "--",
                        sys.executable, HERE, "--load", json.dumps(spec)], check=True)
        self.report = json.loads(subprocess.run(
            [f"{PROGRAMS}/optrail", "report", "--format", "json", self.trace], check=True,
            capture_output=True).stdout)
        self.ops = {row["type"]: row for row in self.report["ops"]}

    def stats(self, name):
        with open(os.path.join(self.directory, name, "stats.json"), encoding="utf-8") as file:
            return json.load(file)

    def stage(self, name, kind="write"):
        return next(stage for stage in self.ops[kind]["stages"] if stage["name"] == name)

    def first(self, kind="write"):
        return max(self.ops[kind]["stages"], key=lambda stage: stage["share"])["name"]

    def events(self):
        """(ns, point, fields) of every event, as another reader tells them."""
        text = subprocess.run(["babeltrace2", self.trace, "-c", "sink.text.pretty", "-p",
                               "clock-seconds=yes"], check=True, capture_output=True,
                              text=True).stdout
        for line in text.splitlines():
            seconds, nanos, point = re.match(r"\[(\d+)\.(\d{9})\].* optrail:(\w+):", line).groups()
            yield (int(seconds) * 10**9 + int(nanos), point,
                   {key: int(value, 0) for key, value in re.findall(r"(\w+) = (\w+)", line)})


class Traced(ministore.Case):
    def run_group(self, **keywords):
        run = Run(self, **keywords)
        for row in run.report["ops"]:
            parts = sum(stage["total_ns"] for stage in row["stages"]) + row["unattributed_ns"]
            self.assertEqual(parts, row["total_ns"], row["type"])
        self.assertEqual(run.report["counts"]["lost_events"], 0)
        return run

    def check_whole(self, run, ops, peers):
        """Every event is joined; each op of the primary and of the peers is counted once."""
        counts = run.report["counts"]
        self.assertEqual(counts["unmatched_events"], 0, counts)
        self.assertFalse(any(counts["incomplete"].values()), counts)
        done = collections.Counter()
        for row in run.report["ops"]:  # replica writes of two stores are two rows
            done[row["type"]] += row["count"]
        self.assertEqual(done, {"write": ops, "replica write": ops * peers})
        self.assertEqual([(row["peer"], row["asked"], row["latency_ns"]["count"])
                          for row in run.report["peers"]],
                         [(number, ops, ops) for number in range(1, peers + 1)])

    def check_growth(self, stage, point, where, size, **keywords):
        """The stage holds all that was injected, comes first, and its median grows by that. The
        healthy primary pauses as long elsewhere, since an idle machine wakes up slowly: that is no
        growth. What is stolen from the CPU is none either, and shows within a run: a run whose slow
        ops are slower than the tolerance is judged by what the stage holds, and tried again."""
        quiet = []
        for _ in range(TRIES):
            healthy = self.run_group(**keywords, primary=["--inject", f"osd.prepare={size}"])
            sick = {"peers": ((),), **keywords}
            if where == "primary":
                sick["primary"] = ["--inject", f"{point}={size}"]
            else:
                sick["peers"] = [["--inject", f"{point}={size}"], *sick["peers"][1:]]
            run = self.run_group(**sick)
            account = run.stats(where)["inject"][point]
            self.assertEqual(account["count"], 150)
            waits = run.stage(stage)
            self.assertGreaterEqual(waits["total_ns"] + waits["beside_ns"], account["total_ns"],
                                    "all of it lies between the fork and the join")
            injected = account["total_ns"] / account["count"]
            latencies = waits["latency_ns"], healthy.stage(stage)["latency_ns"]
            grown = latencies[0]["p50"] - latencies[1]["p50"]
            if run.first() == stage and abs(grown / injected - 1) <= TOLERANCE:
                return run
            if all(row["p90"] - row["p50"] <= TOLERANCE * injected for row in latencies):
                quiet.append((run.first(), grown))
        self.assertEqual(quiet, [], f"{point}={size} in {where}: what grew is not {injected} ns")
        print(f"{point}={size} in {where}: {TRIES} disturbed runs; {grown} ns for {injected}")
        return run

    def test_a_slow_peer_is_on_the_path(self):
        for size in ("1ms", "5ms"):
            with self.subTest(size):
                run = self.check_growth("replica.wait", "journal.write", "peer1", size)
                self.check_whole(run, 150, 1)
                self.assertGreater(run.report["peers"][0]["last_share"], 0.9)
                # the local chain has ended before, and is shown beside it
                self.assertGreater(run.stage("journal.write")["beside_ns"],
                                   run.stage("journal.write")["total_ns"])
                self.assertEqual(run.first("replica write"), "journal.write")

    def test_a_slow_way_to_a_peer_is_on_the_path(self):
        for size in ("1ms", "2ms"):
            with self.subTest(size):
                run = self.check_growth("replica.wait", "replica.send", "primary", size)
                self.check_whole(run, 150, 1)

    def test_one_slow_peer_of_two(self):
        run = self.check_growth("replica.wait", "journal.write", "peer1", "5ms", peers=[[], []])
        self.check_whole(run, 150, 2)
        slow, fast = run.report["peers"]
        self.assertGreater(slow["last_share"], 0.5)
        self.assertEqual(slow["last"] + fast["last"], run.stage("replica.wait")["count"])
        self.assertGreater(slow["latency_ns"]["p50"], fast["latency_ns"]["p50"])

    def test_a_slow_journal_beside_a_healthy_peer(self):
        for acknowledge in ("applied", "journaled"):
            with self.subTest(acknowledge):
                run = self.run_group(primary=["--ack", acknowledge, "--inject",
                                              "journal.write=3ms"])
                self.check_whole(run, 150, 1)
                self.assertEqual(run.first(), "journal.write")
                journal = run.stage("journal.write")
                injected = run.stats("primary")["inject"]["journal.write"]["total_ns"]
                self.assertGreaterEqual(journal["total_ns"] + journal["beside_ns"], injected)
                self.assertGreater(run.stage("replica.wait")["beside_ns"], 0)
                self.assertLess(run.report["peers"][0]["last_share"], 0.1)
                self.assertLess(run.ops["write"]["unattributed_share"], 0.02)

    def check_against_events(self, run, local_end):
        """What the report says of the wait for peers follows from the events, to the ns. Returns
        the time that peers took on the path, and beside it."""
        on_path = beside = 0
        peers_last = collections.Counter()
        names, current, ops = {}, {}, {}
        for time, point, fields in run.events():
            thread = fields["pid"], fields["tid"]
            key = fields["pid"], fields.get("key")
            if point == "op_start":
                ops[key] = {"local": 0}
            elif point == "filestore_sequence":
                names[fields["pid"], fields["key2"]] = key
            elif point == "opqueue_dequeue":
                current[thread] = key
            elif point == "replica_fork":
                ops[key].setdefault("asked", time)
            elif point == "replica_join":
                ops[key]["answered"], ops[key]["peer"] = time, fields["branch"]
            elif point == local_end:
                name = current[thread] if point.startswith("memstore") else names[key]
                ops[name]["local"] = time
            elif point == "op_finish" and "asked" in ops[key]:
                op = ops.pop(key)
                wait = op["answered"] - op["asked"]
                if op["answered"] > op["local"]:
                    on_path += wait
                    peers_last[op["peer"]] += 1
                else:
                    beside += wait
        stage = run.stage("replica.wait")
        self.assertEqual((stage["total_ns"], stage["beside_ns"]), (on_path, beside))
        self.assertEqual({row["peer"]: row["last"] for row in run.report["peers"] if row["last"]},
                         dict(peers_last))
        return on_path, beside

    def test_the_branch_that_ended_last_is_on_the_path(self):
        """Under load either may be last: op by op the report agrees with the events. Which of them
        it is depends on the machine, so a short and a long pause here make sure of both."""
        for options, point, local_end in (([], "filestore.write", "apply_end"),
                                          (["--ack", "journaled"], "journal.write",
                                           "journal_write_end"),
                                          (["--store", "memstore"], "memstore.apply",
                                           "memstore_apply_end")):
            with self.subTest(local_end):
                on_path = beside = 0
                for pause in ("100us", "2ms"):
                    run = self.run_group(primary=[*options, "--inject", f"{point}={pause}"],
                                         peers=[[], ["--store", "memstore"]], depth=8, ops=300)
                    self.check_whole(run, 300, 2)
                    sums = self.check_against_events(run, local_end)
                    on_path, beside = on_path + sums[0], beside + sums[1]
                self.assertGreater(on_path, 0, "ops for which a peer was last")
                self.assertGreater(beside, 0, "ops for which no peer was last")

    def test_a_peer_that_is_killed(self):
        run = self.run_group(peers=[[], []], depth=8, ops=1200, kill=True)
        self.assertEqual(run.ops["write"]["count"], 1200)
        self.assertEqual(run.ops["write"]["failed"], 0)
        killed, other = run.report["peers"]
        self.assertEqual((other["asked"], other["latency_ns"]["count"]), (1200, 1200))
        self.assertLess(killed["asked"], 1200)
        self.assertEqual(killed["latency_ns"]["count"], killed["asked"],
                         "what it owed was given up: the branch has ended")
        missed = run.stats("primary")["replicas_missed"]
        self.assertGreaterEqual(missed, 1200 - killed["asked"])
        # what the killed peer was working on is the only thing that has no end
        open_ops = run.report["counts"]["incomplete"]
        self.assertLessEqual(sum(open_ops.values()), 8)
        self.assertEqual(sum(open_ops.values()), open_ops["open"])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--load"]:
        sys.exit(load(sys.argv[2]))
    if not os.path.exists(f"{PROGRAMS}/with-lttng-session"):
        ministore.skip("built without LTTng")
    if not shutil.which("babeltrace2"):
        ministore.skip("there is no babeltrace2 here")
    ministore.main()
