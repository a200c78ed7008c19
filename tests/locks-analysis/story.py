#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""story.py OPTRAIL MAKE-TRACE: a trace whose truth is known, and what `optrail locks` makes of it.

Four workers take turns at a placement group's lock: one has it, three wait. So it is held all the
time, each op waits three times as long as it works, and without the lock four would work at once.
"""
import sys

from locks_story import told

OPS = 200
WORKERS = 4
HOLD_US = 500


def story():
    """Op n has the lock from n * HOLD_US on; it asks when the op before its worker's is done."""
    events = []
    for number in range(OPS):
        worker, op = f"70/{72 + number % WORKERS}", f"op{number}"
        asked = max(number - WORKERS + 1, 0) * HOLD_US + 2
        got, done = number * HOLD_US + 3, (number + 1) * HOLD_US + 1
        events += [(asked, f"op.start 70/71 {op} 2 5"), (asked, f"opqueue.enqueue 70/71 {op}"),
                   (asked, f"opqueue.dequeue {worker} {op}"),
                   (asked, f"pg.lock_request {worker} {op} 9"),
                   (got, f"pg.lock_acquired {worker} {op} 9"),
                   (done, f"osd.prepared {worker} {op}"),
                   (done, f"pg.lock_released {worker} {op} 9"), (done, f"osd.leave {worker} {op}"),
                   (done, f"op.finish {worker} {op} 4096 0")]
    events.sort(key=lambda event: event[0])
    return "".join(f"{1 + at / 1e6:.6f} {text}\n" for at, text in events)


PATH = """path: turns
daemon: story
store: none
points: [op.start, opqueue.enqueue, opqueue.dequeue, pg.lock_request,
         pg.lock_acquired, osd.prepared, pg.lock_released, osd.leave, op.finish]
types:
  - {name: write, start_type: 2, passes: [pg.lock_request]}
stages:
  - {name: opqueue.wait, kind: wait, from: opqueue.enqueue, to: opqueue.dequeue}
  - {name: osd.prepare, kind: work, from: opqueue.dequeue, to: osd.prepared}
  - {name: pg.lock, kind: lock, within: osd.prepare, from: pg.lock_request, to: pg.lock_acquired}
"""


def main():
    report, text = told(story(), path=PATH)
    lock = report["locks"][0]
    waited = sum(min(number, WORKERS - 1) * HOLD_US for number in range(OPS)) * 1000
    assert (lock["name"], lock["instance"], lock["waits"]) == ("pg.lock", "9", OPS - 1), lock
    assert abs(lock["wait_total_ns"] - waited) < 2000 * OPS, lock
    assert abs(lock["hold_ns"]["mean"] - HOLD_US * 1000) < 3000, lock
    assert lock["busy"] > 0.97 and lock["busy_low"] <= lock["busy"] <= lock["busy_high"], lock
    assert lock["contended"] > 0.97 and lock["fairness"] > 0.99, lock
    assert abs(lock["ceiling_ops_per_s"] * lock["busy"] - report["load"]["rate"]) < 5, lock
    assert lock["holders"][0]["name"] == "osd.prepare", lock["holders"]
    assert sum(row["blocked"] for row in lock["threads"]) == OPS - 1, lock
    verdict = report["verdict"][0]
    assert verdict["cause"] == "lock:pg.lock", verdict
    gain = verdict["predicted_ops_per_s"] / report["load"]["rate"]
    assert 0.85 * WORKERS < gain < 1.15 * WORKERS, verdict
    assert "pg.lock" in text and "busy" in text, text
    print(text)


if __name__ == "__main__":
    sys.exit(main())
