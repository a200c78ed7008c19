#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What makes some ops slow is put into a story, and the report must say it; of a story without
anything it must say nothing."""
import json
import os
import pathlib
import random
import re
import subprocess
import tempfile
import unittest

OPTRAIL, MAKE_TRACE = os.environ["OPTRAIL"], os.environ["MAKE_TRACE"]
MANUAL = pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "report-json.md"
STORE = pathlib.Path(__file__).resolve().parent.parent / "report" / "store.yaml"
MS = 1000000


class Story:
    """Writes of several clients; each op's stages come from `stages(op)`, a dict of ns."""

    def __init__(self, seed, count=2000, every=MS // 2):
        self.draw = random.Random(seed)
        self.events = []
        self.count, self.every = count, every
        self.ops = [{"number": i, "start": 1000 * MS + i * every, "group": self.draw.randrange(16),
                     "worker": 200 + self.draw.randrange(8), "object": self.draw.randrange(40),
                     "size": 4096 << self.draw.randrange(3), "peers": [1, 2, 3]}
                    for i in range(count)]

    def lognormal(self, middle, sigma):
        return int(middle * self.draw.lognormvariate(0, sigma))

    def write(self, op, queue, lock, journal, peers=None):
        """One op; all times in ns. `peers`: the time of each peer's answer after the copy."""
        key, pid, worker = f"k{op['number']}", 100, op["worker"]
        time = op["start"]

        def at(point, thread, *words):
            self.events.append((time, len(self.events), f"{point} {pid}/{thread} {key} "
                                + " ".join(map(str, words))))
        at("op.start", 101, 2, 1)
        time += 5000
        at("messenger.recv_end", 101, op["size"])
        at("opqueue.enqueue", 101, op["group"] % 4)
        time += queue
        at("opqueue.dequeue", worker, op["group"] % 4)
        at("pg.lock_request", worker, op["group"])
        time += lock
        at("pg.lock_acquired", worker, op["group"])
        time += 10000
        at("osd.prepared", worker)
        begun = time
        for peer in peers or {}:
            at("replica.fork", worker, peer)
        at("filestore.sequence", worker, op["number"] + 1, "sequence")
        at("osd.leave", worker)
        joins = sorted((begun + ns, peer) for peer, ns in (peers or {}).items())
        self.events.append((begun, len(self.events),
                            f"journal.submit {pid}/{worker} {op['number'] + 1} {op['size']}"))
        self.events.append((begun + 5000, len(self.events),
                            f"journal.write_begin {pid}/301 {op['number'] + 1}"))
        self.events.append((begun + 5000 + journal, len(self.events),
                            f"journal.write_end {pid}/301 {op['number'] + 1}"))
        for time, peer in joins:
            at("replica.join", 302, peer)
        time = max([begun + 5000 + journal] + [when for when, _ in joins])
        at("reply.enqueue", 301)
        time += 10000
        at("op.finish", 101, op["size"], 0)
        at("op.end", 101)

    def plain(self, op):
        """An op without anything special."""
        return {"queue": self.lognormal(100000, 0.4), "lock": self.lognormal(2000, 0.3),
                "journal": self.lognormal(400000, 0.3)}

    def text(self):
        """The story as make-trace reads it."""
        self.events.sort()
        return "".join(f"{time // 10**9}.{time % 10**9:09d} {line}\n"
                       for time, _, line in self.events)

    def report(self, *options):
        text = self.text()
        with tempfile.TemporaryDirectory() as directory:
            place = pathlib.Path(directory)
            (place / "story.txt").write_text(text)
            subprocess.run([MAKE_TRACE, place / "story.txt", place / "trace"], check=True)
            done = subprocess.run([OPTRAIL, "report", "--path", STORE, "--json",
                                   place / "report.json", "--save", place / "p", *options,
                                   place / "trace"],
                                  capture_output=True, text=True)
            assert (done.returncode, done.stderr) == (0, ""), done
            text = (place / "report.json").read_text()
            report = json.loads(text)
            # and the profile of the run says the same, to the byte
            saved = subprocess.run([OPTRAIL, "report", "--format", "json", place / "p"],
                                   capture_output=True, text=True)
            assert (saved.returncode, saved.stdout) == (0, text), saved.stderr
            for key, present in Truth.present.items():
                present.update(keys(report[key], key))
            return report, done.stdout


def keys(value, prefix):
    """Every key below, as the manual writes it."""
    for entry in value if isinstance(value, list) else []:
        for key, inner in entry.items():
            yield f"{prefix}[].{key}"
            yield from keys(inner, f"{prefix}[].{key}")


class Truth(unittest.TestCase):
    present = {"tails": set(), "populations": set(), "stalls": set(), "rhythms": set()}

    @classmethod
    def tearDownClass(cls):
        documented = set(re.findall(r"^\| `([^`]+)` \|", MANUAL.read_text(), re.M))
        for key, present in cls.present.items():
            wanted = {name for name in documented if name.startswith(key + "[]")}
            # a single test alone makes only some of them
            assert not present or present == wanted, present ^ wanted

    def common(self, report):
        return [(row["kind"], row["value"]) for row in report["tails"][0]["common"]]

    def assert_nothing_else(self, report, *but):
        for key in {"populations", "stalls", "rhythms"} - set(but):
            self.assertEqual(report[key], [], key)

    def slow(self, seed, is_slow, stage, extra, part=0.3, **keywords):
        """A story in which such ops are slow for a part of the time, in that stage."""
        story = Story(seed, **keywords)
        for op in story.ops:
            stages = story.plain(op)
            if is_slow(op) and story.draw.random() < part:
                stages[stage] += story.lognormal(extra, 0.5)
            story.write(op, **stages)
        return story.report()

    def test_a_healthy_run_has_no_tails(self):
        for seed in (0, 2, 4):
            story = Story(seed)
            sigma = 0.2 + 0.2 * seed  # up to a heavy tail that has no cause
            drift = 0
            for op in story.ops:
                stages = story.plain(op)
                drift = 0.95 * drift + story.draw.gauss(0, 0.05)  # neighbours are alike
                stages["journal"] = story.lognormal(400000 * 2 ** drift, sigma)
                story.write(op, **stages)
            report, text = story.report()
            self.assertNotIn("\ntails\n", text)
            self.assert_nothing_else(report)
            self.assertEqual([row for tail in report["tails"] for row in tail["common"]], [])

    def test_a_slow_thread(self):
        report, text = self.slow(1, lambda op: op["worker"] == 203, "queue", 3 * MS)
        self.assertEqual(self.common(report), [("thread", "203 (opqueue.dequeue)")])
        tail = report["tails"][0]
        self.assertEqual(tail["stages"][0]["name"], "opqueue.wait")
        self.assertGreater(tail["stages"][0]["share"], 0.8)
        self.assertGreater(tail["common"][0]["slow_share"], 0.95)
        self.assertIn("thread 203", text)
        self.assertLessEqual(max(map(len, text.splitlines())), 100)

    def test_a_slow_placement_group(self):
        report, _ = self.slow(2, lambda op: op["group"] == 5, "lock", 4 * MS)
        self.assertEqual(self.common(report)[0], ("group", "5"))
        self.assertLessEqual(set(self.common(report)), {("group", "5"), ("shard", "1")})
        self.assertEqual(report["tails"][0]["stages"][0]["name"], "pg.lock")
        self.assert_nothing_else(report)

    def test_large_ops(self):
        report, _ = self.slow(3, lambda op: op["size"] == 16384, "journal", 6 * MS, part=0.06)
        self.assertEqual(self.common(report), [("size", "16 KiB to 32 KiB")])

    def test_a_slow_peer(self):
        story = Story(4)
        for op in story.ops:
            peers = {peer: story.lognormal(500000, 0.3) for peer in op["peers"]}
            if story.draw.random() < 0.03:
                peers[2] += 5 * MS
            story.write(op, **story.plain(op), peers=peers)
        report, _ = story.report()
        self.assertEqual(self.common(report), [("peer", "2")])
        self.assertEqual(report["tails"][0]["stages"][0]["name"], "replica.wait")

    def test_a_bad_time(self):
        story = Story(5)
        for op in story.ops:
            stages = story.plain(op)
            if 700 <= op["number"] < 760:
                stages["journal"] += 4 * MS
            story.write(op, **stages)
        report, _ = story.report()
        self.assertEqual([row["kind"] for row in report["tails"][0]["common"]], ["time"])
        self.assertEqual(report["stalls"], [])

    def test_two_populations(self):
        report, text = self.slow(6, lambda op: True, "journal", 3 * MS)
        self.assertEqual(len(report["populations"]), 1)
        two = report["populations"][0]
        self.assertAlmostEqual(two["slow_ops"] / (two["fast_ops"] + two["slow_ops"]), 0.3, 1)
        self.assertEqual(two["stage"], "journal.write")
        self.assertTrue(450000 < two["fast_ns"] < 650000, two)
        self.assertTrue(2.8 * MS < two["slow_ns"] < 4.2 * MS, two)
        self.assertIn("two populations", text)

    def test_stalls_with_their_stage(self):
        story = Story(7, count=3000)
        stalls = [1000 * MS + 300 * MS, 1000 * MS + 900 * MS]
        for op in story.ops:
            stages = story.plain(op)
            begun = op["start"] + 15000 + stages["queue"] + stages["lock"]
            for stall in stalls:  # the journal's disk does not answer for 150 ms
                if stall <= begun + stages["journal"] and begun < stall + 150 * MS:
                    stages["journal"] += stall + 150 * MS - begun
            story.write(op, **stages)
        report, text = story.report()
        stall = report["stalls"][0]
        self.assertEqual(stall["count"], 2)
        self.assertAlmostEqual(stall["total_ns"], 300 * MS, delta=4 * MS)
        self.assertAlmostEqual(stall["longest_ns"], 150 * MS, delta=3 * MS)
        self.assertGreaterEqual(stall["open"], 290)
        self.assertEqual(stall["stages"][0]["name"], "journal.write")
        self.assertGreater(stall["stages"][0]["share"], 0.95)
        self.assertIn("2 times nothing was answered", text)

    def test_ops_that_are_never_answered_are_a_stall(self):
        story = Story(8, count=400)
        for op in story.ops[:300]:
            story.write(op, **story.plain(op))
        for op in story.ops[300:]:
            story.events.append((op["start"], len(story.events),
                                 f"op.start 100/101 k{op['number']} 2 1"))
        story.events.append((1500 * MS, len(story.events), "op.start 100/101 last 2 1"))
        report, _ = story.report()
        self.assertEqual(report["stalls"][0]["count"], 1)
        self.assertAlmostEqual(report["stalls"][0]["longest_ns"], 350 * MS, delta=3 * MS)
        self.assertEqual(report["stalls"][0]["open"], 101)

    def test_an_idle_daemon_is_no_stall(self):
        story = Story(9, count=1000)
        for op in story.ops:
            if op["number"] >= 500:
                op["start"] += 2000 * MS
            story.write(op, **story.plain(op))
        report, _ = story.report()
        self.assertEqual(report["stalls"], [])

    def test_a_rhythm_with_its_period(self):
        story = Story(10, count=3000)
        for op in story.ops:
            stages = story.plain(op)
            if (op["start"] - 1000 * MS) % (200 * MS) < 25 * MS:
                stages["journal"] += story.lognormal(2 * MS, 0.3)
            story.write(op, **stages)
        report, text = story.report()
        self.assertEqual(len(report["rhythms"]), 1)
        rhythm = report["rhythms"][0]
        self.assertAlmostEqual(rhythm["period_ns"], 200 * MS, delta=4 * MS)
        self.assertIn("Latency rises every", text)

    def test_all_about_slow_ops_when_it_is_asked_for(self):
        story = Story(11, count=1000)
        for op in story.ops:
            story.write(op, **story.plain(op))
        report, text = story.report("--tails")
        self.assertIn("\ntails\n", text)
        one = report["exemplars"][0]
        self.assertEqual(sum(span["ns"] for span in one["spans"]), one["latency_ns"])
        waterfall = text[text.index("\ntails\n"):].split("\n\n")[1]
        for span in one["spans"]:
            self.assertIn(f"    {span['stage']} ", waterfall)
        self.assertLessEqual(max(map(len, text.splitlines())), 100)


if __name__ == "__main__":
    unittest.main()
