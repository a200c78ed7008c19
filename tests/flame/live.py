#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""live.py OPTRAIL KNOWN_TIMES all|short: where a running program's threads spend their time, sampled from
outside, is where they say that they spent it.
"""
import collections
import os
import signal
import subprocess
import sys
import time

OPTRAIL, PROGRAM, WHAT = sys.argv[1:4]
RATE = 997  # not in step with the scheduler's own tick
LONGEST_NS = 50e6  # that a thread is away for, as a rule
SCHEDULER = 3  # places of it that are looked at; on the CPU, a clock on each


def attached(process, links_wanted):
    """Whether all that the capture attaches is there."""
    if process.poll() is not None:
        text = process.stderr.read()
        if "was built without eBPF" in text or "needs the capabilit" in text:
            print("skipped:", text)
            sys.exit(77)
        sys.exit(f"the capture ended by itself: {text}")
    links = 0
    for fd in os.listdir(f"/proc/{process.pid}/fd"):
        try:
            target = os.readlink(f"/proc/{process.pid}/fd/{fd}")
        except FileNotFoundError:
            continue
        links += "bpf_link" in target or "bpf-link" in target
    return links >= links_wanted


def wait_for(condition, what):
    end = time.monotonic() + 60
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"{what}: not within a minute")
        time.sleep(0.02)


class Program:
    def __enter__(self):
        self.process = subprocess.Popen([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        assert self.process.stdout.readline() == "ready\n"
        return self

    def work(self):
        """Lets it work; returns what it says of itself, by thread."""
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        threads = {}
        for line in iter(self.process.stdout.readline, "done\n"):
            _, name, *numbers = line.split()
            threads[name] = dict(zip(("depth", "cpu", "asked", "nap", "wall", "delay"), map(int, numbers)))
        return threads

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


def capture(program, links, *options):
    """Samples it while it works, by so many links: (what it says, the stacks, the messages)."""
    process = subprocess.Popen([OPTRAIL, "flame", "-p", str(program.process.pid), "--format",
                                "collapsed", *options], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    wait_for(lambda: attached(process, links), "the capture is attached")
    said = program.work()
    process.send_signal(signal.SIGINT)
    out, messages = process.communicate(timeout=60)
    assert process.returncode == 0, messages
    return said, out, messages


def near(measured, truth, share, what, slack=0):
    print(f"  {what}: {measured / 1e6:.1f} ms, of its own clocks {truth / 1e6:.1f} ms")
    assert abs(measured - truth) <= share * truth + slack, f"{what}: {measured} is not {truth}"


def check_frames(name, depth, frames):
    assert frames.count("descend") == depth, f"{name}: {frames}"
    start = frames.index("descend")
    assert any(frame.startswith(("clone", "start_thread")) or frame.startswith("libc.so")
               for frame in frames[:start]), f"{name}: does not go to the thread's start: {frames}"


def story_wall():
    """A thread's wall clock is its time on a CPU, asleep, and in want of a CPU."""
    with Program() as program:
        said, out, messages = capture(program, SCHEDULER + os.cpu_count(), "--kind", "wall", "--by",
                                      "kind,thread", "--rate", str(RATE))
    print(messages)
    unseen = [int(line.split()[1]) for line in messages.splitlines() if "it was not seen" in line]
    slack = sum(unseen) * LONGEST_NS
    times = collections.Counter()
    cpu = collections.Counter()
    for line in out.splitlines():
        stack, value = line.rsplit(" ", 1)
        kind, name, *frames = stack.split(";")
        if name not in said:
            continue
        where = "nap" if "nap" in frames else "burn" if "burn" in frames else "other"
        if where != "other":
            check_frames(name, said[name]["depth"], frames)
        times[name, kind] += int(value)
        times[name, kind, where] += int(value)
        if kind == "cpu":
            cpu[name, where] += int(value)
    all_cpu, all_truth = sum(cpu.values()), sum(truth["cpu"] for truth in said.values())
    for name, truth in said.items():
        share, true_share = (100 * cpu[name, "burn"] / all_cpu, 100 * truth["cpu"] / all_truth)
        print(f"{name}: {share:.1f} % of the CPU time, of its own clocks {true_share:.1f} %")
        assert abs(share - true_share) <= 3, name
        away = times[name, "offcpu", "nap"] + times[name, "runnable", "nap"]
        # a timer may be late: not less than it asked for, nor more than it then found by its clock
        asleep = times[name, "offcpu", "nap"]
        print(f"  asleep: {asleep / 1e6:.1f} ms of {truth['asked'] / 1e6:.1f} ms asked for")
        # on a machine where others come and go at the same tracepoints, single events are not seen;
        # the capture says how many
        assert 0.98 * truth["asked"] - slack <= asleep <= 1.001 * truth["nap"], name
        # with what it then waited for a CPU, of which the capture may miss a little, and says so
        near(away, truth["nap"], 0.02, "its naps", slack)
        # the kernel counts a sleeper as queued for a while (6.12 and later: dequeued late)
        near(times[name, "runnable"], truth["delay"], 0.06 + 5e6 / (truth["delay"] + 1),
             "wanted a CPU and had none", slack)
        # what the program slept, wanted, and burnt by its own clock is all of its time, but for
        # what interrupts and the hypervisor took
        whole = times[name, "offcpu"] + times[name, "runnable"] + truth["cpu"]
        near(whole, truth["wall"], 0.03, "off the CPU, and on it by its own clock", slack)
    near(all_cpu, all_truth, 0.15, "on the CPU, all threads")
    whole = sum(times[name, kind] for name in said for kind in ("cpu", "offcpu", "runnable"))
    near(whole, sum(truth["wall"] for truth in said.values()), 0.03, "cpu + offcpu + runnable",
         slack)
    complete = next(line for line in messages.splitlines() if "go to the thread's start" in line)
    good, every = [int(word) for word in complete.split() if word.isdigit()][:2]
    assert good >= 0.98 * every, complete


def story_reasons():
    """Sleep is told from waits for work, and those are left out unless asked for."""
    with Program() as program:
        _, out, messages = capture(program, SCHEDULER, "--kind", "offcpu", "--by", "reason")
    reasons = collections.Counter()
    for line in out.splitlines():
        stack, value = line.rsplit(" ", 1)
        reasons[stack.split(";")[0]] += int(value)
    print(dict(reasons))
    assert reasons["sleep"] > 0.9 * sum(reasons.values()), reasons
    assert "join" not in reasons and "threads that had nothing to do" in messages, messages


def story_wrong_use():
    """What samples do not know is not asked of them."""
    for options, says in ((["-p", "1", "--op", "write", "--event", "cycles"], "--event is for files"),
                          (["-p", "1", "--path", "x"], "--path is for traces"),
                          (["--op", "write"], "say which daemons"),
                          (["-p", "1", "x.txt"], "not both"),
                          # what cannot change the picture
                          (["-p", "1", "--kind", "cpu", "--wakers"], "--wakers is for samples of threads that sleep"),
                          (["-p", "1", "--idle"], "--idle is for samples of threads that sleep"),
                          (["-p", "1", "--by", "reason"], "--by reason is for waits"),
                          (["-p", "1", "--kind", "stage", "--wakers"], "not for --kind stage"),
                          (["-p", "1", "--format", "perfetto", "--kind", "cpu"], "--kind: --format perfetto shows single ops"),
                          (["-p", "1", "--ops", "3"], "--ops: --format svg shows no single ops"),
                          (["-p", "1", "--diff", "x", "y"], "not both"),
                          (["-d", "1", "-"], "-d is for running daemons"),
                          (["--idle", "-"], "--idle is for samples of threads"),
                          (["--rate", "50", "-"], "--rate is for running daemons"),
                          ([], "say which daemons")):
        run = subprocess.run([OPTRAIL, "flame", *options], capture_output=True, text=True,
                             stdin=subprocess.DEVNULL)
        assert run.returncode == 2 and says in run.stderr, (options, run.stderr)


def story_ended():
    """Whoever looks for so long is told that the program did not live as long."""
    with Program() as program:
        pid = program.process.pid
        process = subprocess.Popen([OPTRAIL, "flame", "-p", str(pid), "--format", "collapsed", "--kind",
                                    "wall", "-d", "600"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        wait_for(lambda: attached(process, SCHEDULER), "the capture is attached")
        program.work()
        program.process.kill()
        out, messages = process.communicate(timeout=60)
    assert process.returncode == 0 and out, messages
    assert f"process {pid} has ended before the sampling did: what it shows is the time until then" in \
        messages, messages


def main():
    if os.geteuid() != 0:
        print("skipped: sampling other processes needs root")
        return 77
    stories = [story_wrong_use, story_reasons, story_ended] + [story_wall] * (WHAT == "all")
    for story in stories:
        print(story.__name__)
        story()
    return 0


if __name__ == "__main__":
    sys.exit(main())
