#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""slices.py WATCH_LOCKS KNOWN_LOCKS OPTRAIL: waits of a part of the time stand for those of all of it, and
the ones that are as long as a slice are not missing among them."""
import bisect
import re
import subprocess
import sys

import captured

captured.need_root()


def within(known, told):
    """Those told that lie in an acquisition of their thread: none goes on over several of them."""
    by_thread = {}
    for one in known:
        by_thread.setdefault(one["tid"], []).append((one["begin"], one["end"]))
    for turns in by_thread.values():
        turns.sort()
    found = []
    for wait in told:
        turns = by_thread[wait["tid"]]
        at = bisect.bisect(turns, (wait["begin"], 1 << 63)) - 1
        if at >= 0 and wait["end"] <= turns[at][1]:
            found.append(wait)
    return found


def watch(hold_us, seconds, one_in):
    """The waits that the program knows of, ns, and what was captured of them."""
    said, got = captured.run(sys.argv[1], sys.argv[2], ["mutex", hold_us, seconds, 3],
                             ["-o", str(one_in)])
    known = [dict(zip(line.split()[1::2], map(int, line.split()[2::2]))) for line in said[1:]]
    known = [one for one in known if one["begin"]]
    waits = [one["end"] - one["begin"] for one in known]
    lock = int(said[0].split()[1], 16)
    told = [wait for wait in got.waits if wait["lock"] == lock]
    print(f"holds of {hold_us} us: {len(waits)} waits of {sum(waits) / len(waits) / 1e6:.2f} ms; told "
          f"{len(told)}, for {sum(wait['weight'] for wait in told)}, of "
          f"{sum(wait['ns'] for wait in told) / len(told) / 1e6:.2f} ms, in {got.counts['slices']} "
          f"slices, {got.counts['observed_ns'] / 1e9:.2f} s; {got.counts['cut']} cut")
    ended = [wait for wait in told if not wait["flags"] & 8]
    strange = len(ended) - len(within(known, ended))
    assert strange <= 1, f"{strange} waits that were none"
    return waits, told, got


waits, told, got = watch(200, 6, 3)
assert all(wait["weight"] == 3 for wait in told)
assert 0.1 < got.counts["observed_ns"] / 6e9 < 0.6 and got.counts["slices"] > 2
assert len(told) < 0.7 * len(waits), "they are all told"
# a busy machine puts slices off, and hands the lock on otherwise from one to the next
assert 0.5 < sum(wait["weight"] for wait in told) / len(waits) < 2

# The shortest slice is shorter than such a wait: the ones that it cuts tell how long it must be.
waits, told, got = watch(300000, 14, 2)
assert got.counts["cut"] > 0 and len(told) > 5, "no wait is as long as a slice"
mean = sum(wait["ns"] for wait in told if not wait["flags"] & 8) / len(told)
assert 0.6 < mean / (sum(waits) / len(waits)) < 1.5, "the long ones are missing"


def report():
    """What `optrail locks --duty` prints of the program while it works for three seconds."""
    program = subprocess.Popen([sys.argv[2], "mutex", "200", "3", "3"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    pid = program.stdout.readline().split()[1]
    locks = subprocess.Popen([sys.argv[3], "locks", "-p", pid, "--duty", "25%", "-d", "3"], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    program.stdin.write("\n")
    program.stdin.flush()
    text, said = locks.communicate(timeout=60)
    assert locks.returncode == 0, said
    program.communicate(timeout=60)
    return text


text = report()
print(text[:200])
part = re.search(r"waits\s+for\s+locks\s+observed\s+(\d+)\s+%\s+of\s+the\s+time", text)
assert part and 18 <= int(part[1]) <= 40, text
assert re.search(r"Each\s+stands\s+for\s+4", text), text
for wrong in ("0", "60%", "much", "-1%"):
    done = subprocess.run([sys.argv[3], "locks", "-p", "1", "--duty", wrong], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 2 and "--duty" in done.stderr, done.stderr
