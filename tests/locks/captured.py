# SPDX-License-Identifier: MIT
"""What watch_locks prints, and programs that are watched by it."""
import os
import subprocess
import sys
import threading

SKIP = 77


def need_root():
    if os.geteuid() != 0:
        print("skipped: capturing locks needs root")
        sys.exit(SKIP)


class Captured:
    """The lines of watch_locks: waits (dictionaries), stacks by number (end, text), counts."""

    def __init__(self, text):
        self.waits, self.stacks, self.counts, self.ended = [], {}, {}, {}
        for line in text.splitlines():
            words = line.split()
            if words[0] == "wait":
                wait = dict(zip(words[2::2], words[3::2]))
                for name, value in wait.items():
                    wait[name] = int(value, 16 if name in ("lock", "chain_lock") else 10)
                wait["kind"] = words[1]
                wait["ns"] = wait["end"] - wait["begin"]
                self.waits.append(wait)
            elif words[0] == "stack":
                self.stacks[int(words[1])] = (words[2], line.split(" ", 3)[3])
            elif words[0] == "count":
                self.counts[words[1]] = int(words[2])
            elif words[0] == "ended":
                self.ended[words[1]] = int(words[2])

    def of(self, kind):
        return [wait for wait in self.waits if wait["kind"] == kind]

    def frames(self, wait, which="stack"):
        return self.stacks.get(wait[which], ("none", ""))[1].split(";")


def run(watcher, program, arguments, options=()):
    """Starts the program, watches it from before it works until it is done. Returns what it printed
    beside "pid", and what was captured."""
    target = subprocess.Popen([program, *map(str, arguments)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    pid = target.stdout.readline().split()[1]
    watch = subprocess.Popen([watcher, *options, pid], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    assert watch.stdout.readline() == "ready\n", "the programs could not be attached"
    text = []  # read all the time: a watcher that cannot write does not look
    reader = threading.Thread(target=lambda: text.append(watch.stdout.read()))
    reader.start()
    target.stdin.write("\n")
    target.stdin.flush()
    said = []
    for line in target.stdout:
        if line == "done\n":
            break
        said.append(line.rstrip("\n"))
    watch.stdin.close()
    reader.join()
    captured = Captured(text[0])
    assert watch.wait() == 0, "watch_locks failed"
    target.stdin.close()
    target.wait()
    return said, captured
