#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recorded traces as flame graphs: stages as the report has them, waits with their ops, the slowest
ops thread by thread."""
import collections
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

OPTRAIL, MAKE_TRACE = os.environ["OPTRAIL"], os.environ["MAKE_TRACE"]
REPORT = pathlib.Path(__file__).resolve().parent.parent / "report"

# A hundred writes of 1,000 us, of which one takes 5,000 us longer; each waits 200 us (the slow one
# 4,000 us) for a lock that thread 73 holds; a thread of no op waits as well. (A wait is told when it
# has ended: as ns, and kind << 32 | stack.)
WRITE = """\
  +1ms   op.start            70/71 write 2 4123
  +50us  messenger.recv_end  70/71 write 4096
  +0us   opqueue.enqueue     70/71 write 3
  +100us opqueue.dequeue     70/72 write 3
  +20us  pg.lock_request     70/72 write 9
  +{lock}us lock.waited         70/72 0x9000 {ns} 0x100000007
  +0us   lock.holder         70/72 0x9000 0x4900000049 0
  +0us   pg.lock_acquired    70/72 write 9
  +30us  osd.prepared        70/72 write
  +{rest}us op.finish           70/74 write 4096 0
  +0us   op.end              70/74 write
"""
STORY = ("1.0 stack.define 70/72 7 __lll_lock_wait;pthread_mutex_lock;PG::lock;work;start_thread 5\n"
         "repeat 99\n" + WRITE.format(lock=200, ns=200000, rest=600) + "end\n" +
         WRITE.format(lock=4000, ns=4000000, rest=1800) +
         "+1ms lock.waited 70/75 0x9000 300000 0x100000007\n"
         "+1ms op.start 70/71 open 2 4123\n")

# Samples of threads: kind << 48 | reason << 32 | how many each stands for.
CPU, OFFCPU, RUNNABLE = 0, 1, 2
WOKEN, CONDVAR, DISK, POLL = 2, 8, 14, 18


def what(kind, reason=0, weight=1):
    return kind << 48 | reason << 32 | weight


# Ten writes of 1 ms, of which thread 72 works for from 200 us on: it is seen on a CPU at 300 us while
# the transaction is built, sleeps 400 us for the disk, woken by thread 73, which had slept itself
# until 74 of another process woke it, and was woken by an interrupt before; then it wants a CPU. The
# last write takes 2 ms, with twice the samples' weights. Thread 75 works for no op. Another waits in
# poll. Stack 8 is never told.
SAMPLED = """\
  +1ms   op.start            70/71 write 2 4123
  +50us  messenger.recv_end  70/71 write 4096
  +0us   opqueue.enqueue     70/71 write 3
  +150us opqueue.dequeue     70/72 write 3
  +20us  pg.lock_request     70/72 write 9
  +0us   pg.lock_acquired    70/72 write 9
  +80us  sample.taken        70/72 1 10101010 {cpu}
  +20us  osd.prepared        70/72 write
  +0us   filestore.sequence  70/72 write 500 sequence
  +0us   journal.submit      70/72 500 4096
  +80us  sample.taken        70/74 3 300000 {nap}
  +0us   sample.woken        70/74 5 0 0
  +20us  sample.taken        70/73 2 200000 {nap}
  +0us   sample.woken        70/73 3 70 74
  +300us sample.taken        70/72 2 400000 {sleep}
  +0us   sample.woken        70/72 4 70 73
  +100us sample.taken        70/72 2 100000 {wants}
  +{rest}us op.finish           70/74 write 4096 0
  +0us   op.end              70/74 write
"""


def sampled(weight, rest):
    return SAMPLED.format(cpu=what(CPU, 0, weight), sleep=what(OFFCPU, DISK, weight), rest=rest,
                          wants=what(RUNNABLE, WOKEN, weight), nap=what(OFFCPU, DISK))


SAMPLES = ("1.0 thread.named 70/72 - \"tp_osd_tp-3\"\n+0us thread.named 70/73 - journal\n"
           "+0us stack.define 70/72 1 prepare;process;work;start 4\n"
           "+0us stack.define 70/72 2 io_schedule_[k];fsync;work;start 4\n"
           "+0us stack.define 70/72 3 end_io;loop;start 3\n"
           "+0us stack.define 70/72 4 wake_[k];unlock;write_out;start 4\n"
           "+0us stack.define 70/72 5 irq_[k];idle_[k] 2\n"
           "repeat 9\n" + sampled(1, 180) + "end\n" + sampled(2, 1180) +
           f"+1ms sample.taken 70/75 1 10101010 {what(CPU)}\n"
           f"+1ms sample.taken 70/76 1 500000 {what(OFFCPU, POLL)}\n"
           f"+0us sample.woken 70/76 3 70 74\n")
# A write waits at a condition variable for 300 us, in the worker that serves it; before that, the same
# worker waited 600 us for work, and a thread that many writes share for 200 us.
SERVED = f"""\
1.0 thread.named 70/72 - tp_osd_tp-3
+0us thread.named 70/73 - journal_write
+0us stack.define 70/72 1 futex_[k];pthread_cond_wait;process;start 4
+1ms sample.taken 70/72 1 600000 {what(OFFCPU, CONDVAR)}
+0us sample.taken 70/73 1 200000 {what(OFFCPU, DISK)}
+50us op.start 70/71 write 2 4123
+20us messenger.recv_end 70/71 write 4096
+10us opqueue.enqueue 70/71 write 3
+50us opqueue.dequeue 70/72 write 3
+300us sample.taken 70/72 1 300000 {what(OFFCPU, CONDVAR)}
+50us osd.prepared 70/72 write
+0us filestore.sequence 70/72 write 500 sequence
+0us journal.submit 70/72 500 4096
+50us op.finish 70/74 write 4096 0
+0us op.end 70/74 write
"""
# Ten writes: their worker, thread 72, waits 200 us for a condition while it prepares them, and 700 us
# for more work when it has handed them on, while they are under way elsewhere; that this was not for
# the write is known by its turning away from it, or by its taking it up anew. A last write is never
# answered. Thread 73 of the pool `syncer` serves all of them at once: 100 us on a CPU, then idle.
IDLE_WRITE = """\
  +1ms   op.start            70/71 write 2 4123
  +0us   opqueue.enqueue     70/71 write 3
  +20us  opqueue.dequeue     70/72 write 3
  +0us   pg.lock_request     70/72 write 9
  +210us sample.taken        70/72 1 200000 {condition}
  +10us  pg.lock_acquired    70/72 write 9
  +10us  osd.prepared        70/72 write
  +0us   filestore.sequence  70/72 write 500 sequence
  +0us   journal.submit      70/72 500 4096
  +100us sample.taken        70/73 1 100000 {busy}
  +200us sample.taken        70/73 1 200000 {condition}
  +410us sample.taken        70/72 1 700000 {condition}
  +1us   {next}
  +100us {finish}
"""


def idle_write(turn, finish="op.finish           70/74 write 4096 0\n  +0us op.end 70/74 write"):
    return IDLE_WRITE.format(condition=what(OFFCPU, CONDVAR), busy=what(CPU), next=turn, finish=finish)


WAITING = ("1.0 thread.named 70/72 - \"tp_osd_tp-3\"\n+0us thread.named 70/73 - syncer-7\n"
           "+0us stack.define 70/72 1 pthread_cond_wait;work;start 3\n"
           "repeat 4\n" + idle_write("thread.turn 70/72 -") + "end\nrepeat 5\n" +
           idle_write("opqueue.dequeue 70/72 write 3") + "end\n" +
           idle_write("thread.turn 70/72 -", "op.start 70/71 write 2 4123"))
# What no sample can hold: a kind and a reason that there is none of, no weight, more time than there
# was, a sum that does not fit; more of a sample that was not told; a stack that never was.
HOSTILE = ("10.0 stack.define 70/72 1 work 1\n" +
           "".join(f"+1us sample.taken 70/72 {stack} {ns} {arg}\n" for stack, ns, arg in (
               (1, 5, 7 << 48 | 1), (1, 5, 999 << 32 | 1), (1, 5, 0), (1, 1 << 63, 1),
               (1, 9 * 10 ** 9, 1 << 48 | 0xffffffff), (8, 1000, 1), (1, 2000, 1), (1 << 40, 3000, 1))) +
           "+1us sample.woken 70/79 1 0 0\n+1us sample.taken 70/0 1 10 281474976710657\n"
           "+0us sample.woken 70/0 99 4294967295 4294967295\n+0us thread.named 70/0 - zero\n"
           "+0us thread.named 70/72 -\n")


class Traces(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.home = pathlib.Path(directory.name)
        for name, text in (("story", STORY), ("samples", SAMPLES), ("served", SERVED),
                           ("waiting", WAITING), ("hostile", HOSTILE),
                           ("normal", (REPORT / "stories/normal.txt").read_text())):
            (cls.home / f"{name}.txt").write_text(text)
            subprocess.run([MAKE_TRACE, cls.home / f"{name}.txt", cls.home / name], check=True)

    def flame(self, *arguments, trace="story", status=0):
        done = subprocess.run([OPTRAIL, "flame", "--path", REPORT / "store.yaml", *arguments,
                               self.home / trace], capture_output=True, text=True)
        self.assertEqual(done.returncode, status, done.stderr)
        self.said = done.stderr
        return done.stdout

    def collapsed(self, *arguments, **options):
        out = self.flame("--format", "collapsed", *arguments, **options)
        return {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in out.splitlines()}

    def test_stages_are_those_of_the_report(self):
        for trace in ("story", "normal"):
            report = json.loads(subprocess.run(
                [OPTRAIL, "report", "--path", REPORT / "store.yaml", "--format", "json",
                 self.home / trace], capture_output=True, text=True, check=True).stdout)
            got = collections.Counter()
            for stack, ns in self.collapsed(trace=trace).items():
                frames = stack.split(";")
                got[frames[0], frames[-1]] += ns
            expected = collections.Counter()
            for op in report["ops"]:
                for stage in op["stages"]:
                    expected[op["type"], stage["name"]] += stage["total_ns"]
                expected[op["type"], "unattributed"] += op["unattributed_ns"]
            self.assertEqual(got, +expected)

    def test_an_inner_stage_stands_on_its_outer_one(self):
        self.assertIn("write;osd.prepare;pg.lock", self.collapsed(trace="normal"))

    def test_waits_know_stack_lock_op_and_stage(self):
        got = self.collapsed("--kind", "lock", "--by", "op,stage")
        stack = "start_thread;work;PG::lock;pthread_mutex_lock;__lll_lock_wait;waits for "
        self.assertEqual(sorted(got.values()), [300_000, 99 * 200_000 + 4_000_000])
        for key, ns in got.items():
            known = "[not known];[not known];" if ns == 300_000 else "other;[not known];"
            self.assertTrue(key.startswith(known + stack), key)
        self.assertIn("1 are of threads that worked for no op", self.said)
        self.assertIn("1 op did not come to the end", self.said)

    def test_filters(self):
        self.assertEqual(sum(self.collapsed("--kind", "lock", "--op", "other").values()),
                         99 * 200_000 + 4_000_000)
        self.assertEqual(sum(self.collapsed("--kind", "lock", "--thread", "70/75").values()), 300_000)
        self.flame("--format", "collapsed", "--kind", "lock", "--op", "reed", status=1)
        self.assertIn("none of the 101 samples", self.said)
        early = self.collapsed("--from", "0", "--to", "0.01", trace="normal")
        self.assertLess(sum(early.values()), sum(self.collapsed(trace="normal").values()) / 4)

    def test_the_slowest_ops_alone(self):
        got = self.collapsed("--kind", "lock", "--tail", "1%")
        self.assertEqual(list(got.values()), [4_000_000])
        self.assertIn("the slowest ops: 1 of 100", self.said)
        self.assertEqual(sum(self.collapsed("--tail", "1%").values()), 6_000_000)

    def test_told_locks_stand_in_for_captured_waits(self):
        got = self.collapsed("--kind", "lock", trace="normal")
        self.assertEqual(got, {"write;pg.lock;waits for pg.lock": 60 * 600_000})
        self.assertIn("no waits were captured", self.said)

    def test_two_traces_are_compared(self):
        done = subprocess.run([OPTRAIL, "flame", "--path", REPORT / "store.yaml", "--diff",
                               "--format", "collapsed", self.home / "story", self.home / "normal"],
                              capture_output=True, text=True, check=True)
        columns = [line.rsplit(" ", 2)[1:] for line in done.stdout.splitlines()]
        self.assertEqual(sum(int(one[0]) for one in columns), sum(self.collapsed().values()))
        self.assertEqual(sum(int(one[1]) for one in columns),
                         sum(self.collapsed(trace="normal").values()))

    def test_what_cannot_change_the_picture_is_wrong_use(self):
        for options, words in (
                (["--kind", "stage", "--wakers"], "--wakers is for samples of threads that sleep"),
                (["--idle"], "not for --kind stage"),
                (["--kind", "lock", "--idle"], "not for --kind lock"),
                (["--by", "reason"], "--by reason is for waits"),
                (["--reason", "x"], "--reason is for waits"),
                (["--by", "op,thread"], "--by thread is for what threads do"),
                (["--by", "waker"], "--by waker is for samples of threads that sleep"),
                (["--kind", "cpu", "--by", "reason"], "not for --kind cpu"),
                (["--event", "cycles"], "--event is for files of stacks"),
                (["--rate", "50"], "--rate is for running daemons"),
                (["--ops", "3"], "--ops: --format svg shows no single ops: --format perfetto does"),
                *(([*option, "--format", "perfetto"], f"{option[0]}: --format perfetto shows single ops")
                  for option in (["--kind", "stage"], ["--stage", "x"], ["--tail", "1%"], ["--inverted"],
                                 ["--by", "op"], ["--weight", "time"], ["--thread", "x"]))):
            done = subprocess.run([OPTRAIL, "flame", "--path", REPORT / "store.yaml", *options,
                                   self.home / "story"], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (2, ""), (options, done.stderr))
            self.assertIn(words, done.stderr, options)

    def test_the_timeline_keeps_the_rules_of_its_format(self):
        trace = json.loads(self.flame("--format", "perfetto", "--ops", "3"))
        events = trace["traceEvents"]
        tracks = collections.defaultdict(list)
        for event in events:
            self.assertIn(event["ph"], "MXsf")
            self.assertIsInstance(event["cat"], str)
            self.assertIsInstance(event["pid"], int)
            self.assertIsInstance(event["tid"], int)
            if event["ph"] == "X":
                self.assertGreaterEqual(event["ts"], 0)
                self.assertGreater(event["dur"], 0)
                begin = round(event["ts"] * 1000)
                tracks[event["pid"], event["tid"]].append(
                    (begin, begin + round(event["dur"] * 1000), event["name"]))
        named = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
        self.assertEqual(named, named | set(tracks))
        for slices in tracks.values():  # within or beside each other, never across
            for a in slices:
                for b in slices:
                    self.assertFalse(a[0] < b[0] < a[1] < b[1], (a, b))
        flows = collections.defaultdict(dict)
        for event in events:
            if event["ph"] in "sf":
                at = round(event["ts"] * 1000)
                self.assertTrue(any(begin <= at < end for begin, end, _ in
                                    tracks[event["pid"], event["tid"]]), event)
                flows[event["id"]][event["ph"]] = event
        self.assertTrue(all(set(flow) == {"s", "f"} for flow in flows.values()))
        self.assertTrue(all(flow["f"]["bp"] == "e" for flow in flows.values()))
        # the wait of the slowest op, and an arrow from it to the thread that held the lock
        waits = [one for one in tracks[70, 72] if one[1] - one[0] == 4_000_000]
        self.assertTrue(any(one[2].startswith("waits for ") for one in waits))
        self.assertTrue(any(one[2].startswith("holds ") for one in tracks[70, 73]))
        self.assertTrue(any(flow["s"]["tid"] == 72 and flow["f"]["tid"] == 73
                            for flow in flows.values() if flow["s"]["name"] == "waits for"))
        ops = [e for e in events if e["ph"] == "X" and e["cat"] == "op" and e["pid"] == 2147483647]
        self.assertEqual(len(ops), 3)
        self.assertEqual(round(max(e["dur"] for e in ops)), 6000)

    def samples(self, *arguments, **options):
        return self.collapsed(*arguments, trace="samples", **options)

    def test_samples_know_their_op_and_stage(self):
        stack = "start;work;process;prepare"
        self.assertEqual(self.samples("--kind", "cpu"), {stack: 12})
        self.assertEqual(self.samples("--kind", "cpu", "--by", "op,stage,thread,pool"),
                         {f"write;osd.prepare;tp_osd_tp-3;tp_osd_tp;{stack}": 11,
                          f"[not known];[not known];70/75;[not known];{stack}": 1})
        self.assertEqual(self.samples("--kind", "cpu", "--op", "write", "--stage", "osd.prepare",
                                      "--tail", "1%", "--weight", "time"), {stack: 2 * 10101010})
        self.assertIn("the slowest ops: 1 of 10", self.said)
        # one of twelve, as two of the last write's count double
        self.assertIn("1 sample of threads that worked for no op, or for many at once, 8.3 % of the "
                      "time; of their time: others 100 %", self.said)
        self.assertEqual(self.samples("--kind", "cpu", "--thread", "tp_*"), {stack: 11})
        self.samples("--kind", "cpu", "--stage", "pg.lock", status=1)
        self.assertIn("none of the 12 samples", self.said)

    def test_kinds_of_samples_add_up(self):
        by_kind = self.samples("--kind", "wall", "--op", "write", "--by", "kind,reason")
        kinds = collections.Counter()
        for stack, ns in by_kind.items():
            kinds[tuple(stack.split(";")[:2])] += ns
        self.assertEqual(kinds, {("cpu", "[not known]"): 11 * 10101010,
                                 ("offcpu", "disk"): 11 * 400_000,
                                 ("runnable", "woken"): 11 * 100_000})
        self.assertIn("1 waits of threads that had nothing to do", self.said)
        idle = self.samples("--kind", "offcpu", "--idle", "--reason", "poll")
        self.assertEqual(idle, {"start;work;process;prepare": 500_000})

    def test_who_serves_an_op_is_not_idle(self):
        drawn = self.collapsed("--kind", "offcpu", "--by", "op,reason,pool", trace="served")
        stack = "start;process;pthread_cond_wait;futex_[k]"
        self.assertEqual(drawn, {f"write;condvar;tp_osd_tp;{stack}": 300_000,
                                 f"[not known];disk;journal_write;{stack}": 200_000})
        self.assertIn("1 waits of threads that had nothing to do", self.said)
        drawn = self.collapsed("--kind", "offcpu", "--op", "write", trace="served")
        self.assertEqual(drawn, {stack: 300_000})
        self.assertIn("1 sample of threads that worked for no op, or for many at once, "
                      "40.0 % of the time; of their time: journal_write 100 %", self.said)
        drawn = self.collapsed("--kind", "offcpu", "--idle", "--reason", "condvar", trace="served")
        self.assertEqual(drawn, {stack: 900_000})

    def test_a_wait_for_an_op_is_never_idle(self):
        def got(*arguments):
            return sum(self.collapsed(*arguments, trace="waiting").values())
        self.assertEqual(got("--kind", "offcpu", "--op", "write"), 9 * 200_000)
        # of each write the worker's and the syncer's; of the one without an end all three
        self.assertIn(f"{9 * 2 + 3} waits of threads that had nothing to do", self.said)
        self.assertIn(f"{(9 * 900 + 1100) / 1e6:.1f} s", self.said)
        self.assertEqual(got("--kind", "offcpu"), 9 * 200_000)
        self.assertEqual(got("--kind", "offcpu", "--idle"), 10 * 1_100_000)
        self.assertEqual(got("--kind", "offcpu", "--idle", "--op", "write"), 9 * 900_000)

    def test_what_serves_many_ops_is_told(self):
        self.collapsed("--kind", "wall", "--op", "write", trace="waiting")
        share = 100 * 10 * 100 / (10 * 100 + 9 * 200)
        self.assertIn(f"10 samples of threads that worked for no op, or for many at once, "
                      f"{share:.1f} % of the time; of their time: syncer 100 %", self.said)

    def test_wakers_stand_on_the_sleep(self):
        got = self.samples("--kind", "offcpu", "--op", "write", "--wakers")
        self.assertEqual(got, {
            "start;work;fsync;io_schedule_[k];-- woken by;wake_[k];unlock;write_out;start;journal;"
            "-- woken by;end_io;loop;start;70/74;-- woken by;irq_[k];idle_[k];[interrupt]":
            11 * 400_000})
        self.assertEqual(self.samples("--kind", "offcpu", "--op", "write", "--by", "waker"),
                         {"journal;start;work;fsync;io_schedule_[k]": 11 * 400_000})

    def test_samples_that_cannot_be(self):
        got = self.collapsed("--kind", "wall", trace="hostile")
        self.assertEqual(got, {"[stack not known]": 4000, "work": 2010})
        self.assertIn("5 events with what no sample can hold", self.said)
        self.assertIn("2 samples without a known stack", self.said)
        self.collapsed("--kind", "wall", "--wakers", "--by", "waker,thread", trace="hostile")

    def test_failures(self):
        self.flame("--kind", "cpu", status=1)
        self.assertIn("no samples of this kind", self.said)
        self.flame("--event", "cycles", status=2)
        (self.home / "none").mkdir(exist_ok=True)
        self.flame(trace="none", status=1)


if __name__ == "__main__":
    unittest.main()
