#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""hold_waits.py OPTRAIL MAKE-TRACE: what was waited for under a lock is what began and ended under it.

A worker waits for work, then has pg.lock for 10 ms, of which it waits 3 ms for another mutex. Each
wait is told just when it ended, by lock.waited alone; what its thread does next completes it.
"""
import sys

from locks_story import told

ROUNDS = 50
CONDVAR, MUTEX = 10 << 32, 1 << 32
PATH = """path: turns
daemon: story
store: none
points: [op.start, opqueue.dequeue, pg.lock_request, pg.lock_acquired, osd.prepared,
         pg.lock_released, op.finish]
types:
  - {name: write, start_type: 2, passes: [pg.lock_request]}
stages:
  - {name: osd.prepare, kind: work, from: opqueue.dequeue, to: osd.prepared}
"""


def story():
    lines = []
    for number in range(ROUNDS):
        op, ms = f"op{number}", 100 * number
        lines += [(ms, f"op.start 70/71 {op} 2 5"),
                  (ms + 20, f"lock.waited 70/72 0x5000 20000000 {CONDVAR}"),
                  (ms + 21, f"opqueue.dequeue 70/72 {op}"),
                  (ms + 21, f"pg.lock_request 70/72 {op} 9"),
                  (ms + 21, f"pg.lock_acquired 70/72 {op} 9"),
                  (ms + 25, f"lock.waited 70/72 0x6000 3000000 {MUTEX}"),
                  (ms + 30, f"osd.prepared 70/72 {op}"),
                  (ms + 31, f"pg.lock_released 70/72 {op} 9"),
                  (ms + 32, f"op.finish 70/72 {op} 4096 0")]
        # someone else asks, so that the lock is one that was waited for
        lines += [(ms + 22, f"op.start 70/71 other{number} 2 5"),
                  (ms + 23, f"opqueue.dequeue 70/73 other{number}"),
                  (ms + 23, f"pg.lock_request 70/73 other{number} 9"),
                  (ms + 31, f"pg.lock_acquired 70/73 other{number} 9"),
                  (ms + 31, f"pg.lock_released 70/73 other{number} 9"),
                  (ms + 33, f"op.finish 70/73 other{number} 4096 0")]
    lines.sort(key=lambda line: line[0])
    return "".join(f"{1 + at / 1e3:.3f} {text}\n" for at, text in lines)


def main():
    report, text = told(story(), path=PATH)
    locks = {lock["name"]: lock for lock in report["locks"]}
    under = {part["name"]: part["ns"] for part in locks["pg.lock"]["holders"]}
    waits = {name: ns for name, ns in under.items() if name.startswith("lock:")}
    assert waits == {"lock:mutex at 0x6000": ROUNDS * 3_000_000}, under
    assert sum(under.values()) == ROUNDS * 10_000_000, under
    # waiting for work is not contention: said, but not a lock
    assert sorted(locks) == ["mutex at 0x6000", "pg.lock"], locks.keys()
    assert any(f"waited {ROUNDS} times" in note and "1.00 s" in note for note in report["notes"])
    print(text)


if __name__ == "__main__":
    sys.exit(main())
