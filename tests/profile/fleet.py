# SPDX-License-Identifier: MIT
"""Traces of daemons that serve at the same time: writes with a queue, a lock, a journal and peers, and
reads; waits that were captured, with their stacks; ops that take equally long. Each daemon is a
process of its own."""
import pathlib
import random
import subprocess

STORE = pathlib.Path(__file__).resolve().parent.parent / "report" / "store.yaml"
MS, US = 1_000_000, 1_000


def write_op(rng, pid, key, sequence, start, scale, late_us):
    """The events of a write, and when its answer is there."""
    step = lambda most: rng.randrange(1, most) * 10 * US
    worker = pid + 2 + sequence % 3
    lock = sequence % 4
    t = start
    events = [(t, f"op.start {pid}/{pid + 1} {key} 2 {4000 + sequence % 7}")]
    add = lambda line: events.append((t, line))
    t += step(6)
    add(f"messenger.recv_end {pid}/{pid + 1} {key} 4096")
    add(f"opqueue.enqueue {pid}/{pid + 1} {key} 3")
    t += step(30)
    add(f"opqueue.dequeue {pid}/{worker} {key} 3")
    add(f"pg.lock_request {pid}/{worker} {key} {lock}")
    t += step(12)
    add(f"pg.lock_acquired {pid}/{worker} {key} {lock}")
    t += step(20)
    add(f"osd.prepared {pid}/{worker} {key}")
    add(f"filestore.sequence {pid}/{worker} {key} {sequence} sequence")
    add(f"journal.submit {pid}/{worker} {sequence} 4096")
    add(f"pg.lock_released {pid}/{worker} {key} {lock}")
    add(f"osd.leave {pid}/{worker} {key}")
    peers = rng.sample(range(1, 5), 2)
    for peer in peers:
        add(f"replica.fork {pid}/{worker} {key} {peer}")
    t += step(10)
    add(f"journal.write_begin {pid}/{pid + 6} {sequence}")
    t += int(step(30) * scale)
    add(f"journal.write_end {pid}/{pid + 6} {sequence}")
    for peer in peers:
        t += step(20)
        add(f"replica.join {pid}/{pid + 7} {key} {peer}")
    add(f"reply.enqueue {pid}/{pid + 7} {key}")
    t += step(5) + late_us * US
    add(f"op.finish {pid}/{pid + 1} {key} 4096 0")
    add(f"op.end {pid}/{pid + 1} {key}")
    return events, t


def read_op(rng, pid, key, number, start):
    t = start
    events = [(t, f"op.start {pid}/{pid + 1} {key} 1 {4000 + number % 3}")]
    t += 20 * US
    events.append((t, f"opqueue.enqueue {pid}/{pid + 1} {key} 3"))
    t += rng.choice((50, 100)) * US
    events.append((t, f"opqueue.dequeue {pid}/{pid + 2} {key} 3"))
    events.append((t, f"filestore.read_begin {pid}/{pid + 2} {key}"))
    t += rng.choice((200, 200, 5000)) * US
    events.append((t, f"filestore.read_end {pid}/{pid + 2} {key}"))
    events.append((t, f"op.finish {pid}/{pid + 2} {key} 0 4096"))
    events.append((t, f"op.end {pid}/{pid + 2} {key}"))
    return events, t


def daemon(rng, number, ops, scale=1.0, pid=None, late_us=0):
    """The text of a daemon's fixture. `scale`: of the time that a journal write takes; `late_us`: that
    each answer takes longer."""
    pid = pid or 1000 + 100 * number
    now = 1000 * MS + rng.randrange(40) * MS
    events = [(now, f'stack.define {pid}/{pid + 2} 7 "__lll_lock_wait_private;malloc;fill;main" 4')]
    for i in range(ops):
        now += rng.randrange(1, 40) * 25 * US
        key = f"op{i}"
        if rng.random() < 0.7:
            more, end = write_op(rng, pid, key, 500 + i, now, scale, late_us)
        else:
            more, end = read_op(rng, pid, key, i, now)
        events += more
        if rng.random() < 0.2:
            wait = rng.choice((15_000, 80_000_000))
            events.append((end, f"lock.waited {pid}/{pid + 3} 0x9000 {wait} 0x700000007"))
            events.append((end, f"lock.holder {pid}/{pid + 3} 0x9000 0x4800000048 0"))
    events.sort(key=lambda event: event[0])  # stable: what stands before stays before
    return "".join(f"{t // 10**9}.{t % 10**9:09} {line}\n" for t, line in events)


def make(make_trace, directory, name, text):
    """Makes the trace of a fixture's text; its name."""
    (directory / f"{name}.txt").write_text(text)
    subprocess.run([make_trace, f"{name}.txt", name], cwd=directory, check=True)
    return name
