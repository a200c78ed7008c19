# SPDX-License-Identifier: MIT
"""The events of one op as the shipped rules tell them in a woven Ceph, with the times put in here.

An event is (us after the header was read, thread, point, key, arg0, arg1). A Stamp is a time as well:
what is told only later. Keys are letters; each op has numbers of its own for them.
"""
SEQUENCE, CONTEXT, STORE_OP, MESSAGE, SUBOP = 2, 5, 6, 7, 8  # enum optrail_key_kind
READER, DISPATCHER, WORKER, JOURNAL, FINISHER, APPLIER, COMMITTER, WRITER = range(1, 9)


class Stamp(int):
    """Us after the header was read."""


def arrival(dispatched, created, enqueued, asked, locked, message=42, thread=DISPATCHER):
    """From the message to the worker that has the placement group's lock, and has checked the op."""
    return [
        (created, thread, "op.created", "o", message, 7),
        (created, thread, "op.header_read", "o", Stamp(0)),
        (created, thread, "op.throttled", "o", Stamp(20)),
        (created, thread, "op.all_read", "o", Stamp(60)),
        (created, thread, "dispatch.queued", "o", Stamp(60)),
        (created, thread, "dispatch.begun", "o", Stamp(dispatched)),
        (created, thread, "op.identify", "o", 7, 3),
        (created, thread, "op.made", "o"),
        (enqueued, thread, "osd.enqueue", "o"),
        (asked, WORKER, "thread.turn", "-"),
        (locked, WORKER, "pg.lock_asked", "o", Stamp(asked)),
        (locked, WORKER, "osd.dequeue", "o"),
        (locked, WORKER, "osd.taken", "o"),
        (locked + 30, WORKER, "op.checked", "o"),
    ]


def answer(time, thread, sent, bytes_in, bytes_out, writer=WRITER):
    """The answer is made, given to its connection, and written."""
    return [
        (time, thread, "osd.answer", "o", bytes_in, bytes_out),
        (time + 5, thread, "reply.queued", "-", "m", MESSAGE),
        (sent, writer, "reply.sent", "m", 0, bytes_out),
        (sent + 20, writer, "op.released", "o"),
    ]


def commit(asked, locked, thread=COMMITTER):
    """The commit callback takes the placement group's lock."""
    return [
        (asked, thread, "thread.turn", "-"),
        (locked, thread, "commit.known", "o", "o", CONTEXT),
        (locked, thread, "commit.lock_asked", "o", Stamp(asked)),
        (locked, thread, "commit.locked", "o"),
    ]


def journal(submitted, sequence, taken, written):
    """FileStore's submission and its journal."""
    return [
        (submitted, WORKER, "store.submit", "o"),
        (submitted + 5, WORKER, "filestore.admission", "-", "f", STORE_OP),
        (sequence, WORKER, "filestore.sequence", "o", "s", SEQUENCE),
        (taken, JOURNAL, "journal.write_begin", "s"),
        (written, FINISHER, "filestore.known", "s", "f", STORE_OP),
        (written, FINISHER, "filestore.journaled", "f", 1),
    ]


def apply(taken, begun, index, opened, written, released=False):
    """FileStore's apply thread: the file is opened at once, and the index asked for."""
    events = [
        (begun, APPLIER, "filestore.apply_taken", "s", Stamp(taken)),
        (begun, APPLIER, "filestore.apply_begin", "s"),
        (begun, APPLIER, "filestore.lfn_open_begin", "-"),
        (begun, APPLIER, "filestore.index_request", "-", 0x77),
        (index, APPLIER, "filestore.index_acquired", "-", 0x77),
        (opened, APPLIER, "filestore.lfn_open_end", "-"),
        (opened, APPLIER, "filestore.write_begin", "-", 4096),
        (written, APPLIER, "filestore.write_end", "-", 4096),
        (written + 5, APPLIER, "filestore.applied", "s", 1),
    ]
    if released:
        events.append((opened, APPLIER, "filestore.index_released", "-", 0x77))
    return events


def replica(sent, answered):
    """One replica, asked by the worker; its answer is handled by another of its threads."""
    return [
        (sent, WORKER, "replica.number", "-", "r", SUBOP),
        (sent, WORKER, "replica.send", "-", 1),
        (answered, WORKER, "replica.answered", "r", 1),
    ]


# What is put in, and the stages it makes: us on the critical path, or (us,) beside it.
ERAS = {
    # Pipe, one dispatch thread, OpWQ; lfn_open under the fd cache's one lock
    "dumpling": {
        "version": "v0.67.11", "type": "write", "path": "ceph-filestore",
        "events": arrival(dispatched=160, created=200, enqueued=210, asked=500, locked=520)
        + replica(560, 1500) + journal(560, 580, 700, 900)
        + apply(taken=930, begun=1000, index=1150, opened=1200, written=1260)
        + commit(asked=950, locked=970) + answer(1510, WORKER, sent=1560, bytes_in=4096, bytes_out=0),
        "stages": {"messenger.throttle": 20, "messenger.recv": 40, "messenger.dispatch": 40,
                   "messenger.queue": 100, "opqueue.wait": 290, "osd.register": 10, "pg.lock": 20,
                   "osd.prepare": 30, "filestore.submit": 5, "filestore.throttle": 15,
                   "journal.queue": 120, "journal.write": 200, "commit.queue": 50,
                   "commit.pg_lock": 20, "replica.wait": 540, "osd.reply": 5, "reply.queue": 45,
                   "filestore.index": (150,), "filestore.lfn_open": (50,), "filestore.write": (60,),
                   "wbthrottle.wait": (70,), "replica.answer": (940,)},
    },
    # fast dispatch, sharded queue; the writeback throttle holds the apply thread up; nobody else's copy
    "giant": {
        "version": "v0.87", "type": "write", "path": "ceph-filestore",
        "events": arrival(dispatched=60, created=70, enqueued=80, asked=130, locked=135, thread=READER)
        + journal(170, 190, 240, 400)
        + apply(taken=410, begun=900, index=910, opened=940, written=980, released=True)
        + commit(asked=1000, locked=1040)
        + answer(1050, COMMITTER, sent=1100, bytes_in=4096, bytes_out=0),
        "stages": {"opqueue.wait": 50, "pg.lock": 5, "journal.queue": 50, "journal.write": 160,
                   "commit.queue": 600, "commit.pg_lock": 40, "wbthrottle.wait": (490,),
                   "filestore.index": (10,), "filestore.lfn_open": (30,), "filestore.write": (40,)},
    },
    # a read waits for the index of its collection
    "infernalis": {
        "version": "v9.1.0", "type": "read", "path": "ceph-filestore-read",
        "events": arrival(dispatched=60, created=70, enqueued=80, asked=130, locked=135, thread=READER)
        + [(180, WORKER, "store.read_begin", "-"),
           (185, WORKER, "filestore.lfn_open_begin", "-"),
           (185, WORKER, "filestore.index_request", "-", 0x77),
           (585, WORKER, "filestore.index_acquired", "-", 0x77),
           (635, WORKER, "filestore.index_released", "-", 0x77),
           (635, WORKER, "filestore.lfn_open_end", "-"),
           (640, WORKER, "filestore.read_begin", "-", 4096),
           (740, WORKER, "filestore.read_end", "-", 4096)]
        + answer(760, WORKER, sent=800, bytes_in=0, bytes_out=4096, writer=READER),
        "stages": {"store.read": 30, "filestore.lfn_open": 50, "filestore.index": 400,
                   "filestore.read": 100, "osd.reply": 5, "reply.queue": 35},
    },
    # MemStore's one lock
    "hammer": {
        "version": "v0.94", "type": "write", "path": "ceph-memstore",
        "events": arrival(dispatched=60, created=70, enqueued=80, asked=130, locked=135, thread=READER)
        + [(180, WORKER, "store.submit", "o"),
           (180, WORKER, "memstore.lock_request", "-", 0x88),
           (480, WORKER, "memstore.lock_acquired", "-", 0x88),
           (485, WORKER, "memstore.apply_begin", "-"),
           (505, WORKER, "memstore.apply_end", "-"),
           (510, WORKER, "memstore.lock_released", "-", 0x88)]
        + commit(asked=560, locked=600)
        + answer(620, COMMITTER, sent=650, bytes_in=4096, bytes_out=0),
        "stages": {"memstore.lock": 300, "memstore.apply": 20, "commit.queue": 55, "store.commit": 5,
                   "commit.pg_lock": 40},
    },
    "pacific": {
        "version": "v16.2.5", "type": "write", "path": "ceph-bluestore",
        "events": arrival(dispatched=60, created=70, enqueued=80, asked=130, locked=135, thread=READER)
        + [(180, WORKER, "store.submit", "o"),
           (190, WORKER, "bluestore.transaction", "-", "f", STORE_OP),
           (220, WORKER, "bluestore.throttle", "f"),
           (260, WORKER, "bluestore.aio_submit", "f"),
           (560, JOURNAL, "bluestore.kv_queued", "f"),
           (660, JOURNAL, "bluestore.kv_taken", "f"),
           (860, FINISHER, "bluestore.committed", "f")]
        + commit(asked=900, locked=905)
        + answer(910, COMMITTER, sent=950, bytes_in=4096, bytes_out=0, writer=READER),
        "stages": {"bluestore.prepare": 40, "bluestore.throttle": 40, "bluestore.aio": 300,
                   "bluestore.kv_queue": 100, "bluestore.kv_commit": 200, "commit.queue": 40,
                   "commit.pg_lock": 5},
    },
    "librbd": {
        "version": "v0.67.11", "type": "client read", "path": "ceph-librbd",
        "events": [(0, READER, "client.submit", "o", 1), (10, READER, "client.cache_begin", "o"),
                   (60, READER, "client.cache_end", "o"), (460, WORKER, "client.finish", "o", 0, 4096)],
        "stages": {"client.cache": 50, "client.wait": 400},
    },
}
