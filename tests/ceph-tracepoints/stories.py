# SPDX-License-Identifier: MIT
"""Stories that Ceph's own tracepoints tell, with their truth: {op type: {stage: ns in all}}. A stage
that is none of an op's is not named; `latency` is its whole time."""
import ceph_requests as ceph
from ceph_requests import Request

OBJECT = {"oid": "rb.0.1", "snap": 0xfffffffffffffffe}


def totals(count, **stages):
    """Of `count` ops that take so many microseconds in each stage."""
    return {name.replace("__", "."): round(value * 1000) * count
            for name, value in stages.items()}


def hammer(trace):
    """0.94 on FileStore: 40 reads, 30 writes to a replica whose answers have no id, one of them told
    as queued only after a worker had it; a parked read; what the replica writes for another OSD; the
    steps of the threads that apply."""
    for i in range(40):
        read = Request(trace, 1000 + i * 5000, tid=100 + i)
        read.hammer_arrives(ceph.READ, 10, 190)
        read.emit("objectstore:getattr_enter", coll_name="0.1_head")
        read.wait(30).emit("objectstore:getattr_exit")
        read.starts(20, 5)
        read.emit("osd:do_osd_op_pre", **OBJECT, opname="read")
        read.emit("osd:do_osd_op_pre_read", **OBJECT, length=4096)
        read.emit("objectstore:read_enter", coll_name="0.1_head", len=4096)
        read.wait(700).emit("objectstore:read_exit", retval=4096)
        read.prepares(15)
        read.leaves(25)
    for i in range(30):
        write = Request(trace, 3000 + i * 5000, tid=500 + i)
        write.of_request("osd:ms_fast_dispatch", ceph.MESSENGER)
        write.flags(ceph.WRITE, ceph.MESSENGER)
        late = i == 7
        if not late:
            write.wait(12).of_request("pg:queue_op", ceph.MESSENGER, rmw_flags=ceph.WRITE)
        write.wait(100 if not late else 112).of_request("osd:opwq_process_start")
        if late:
            write.of_request("pg:queue_op", ceph.MESSENGER, rmw_flags=ceph.WRITE)
        write.mark(ceph.REACHED, "reached_pg")
        write.starts(40, 3)
        write.emit("osd:do_osd_op_pre_write", **OBJECT, length=8192)
        write.prepares(60)
        write.wait(10).mark(ceph.SENT, "waiting for subops from 2")
        write.leaves(20)
        # the answer has no id here
        answer = Request(trace, write.now + 100, 0)
        answer.identity = {"type": 0, "num": 0, "tid": 0, "inc": 0}
        answer.of_request("osd:ms_fast_dispatch", ceph.MESSENGER)
        answer.wait(50).of_request("osd:opwq_process_start")
        answer.wait(20).of_request("osd:opwq_process_finish")
        write.wait(900).commit_sent()
        step = Request(trace, write.now + 5, 0, worker=ceph.APPLY)
        step.emit("objectstore:write_enter", osr_name="0.1", length=8192)
        step.wait(300).emit("objectstore:write_exit")
        step.emit("objectstore:setattrs_enter", osr_name="0.1")
        step.wait(40).emit("objectstore:setattrs_exit")
    parked = Request(trace, 300000, tid=900)
    parked.hammer_arrives(ceph.READ, 10, 90)
    parked.wait(30).mark(ceph.DELAYED, "waiting for missing object")
    parked.leaves(5)
    parked.wait(20000).of_request("osd:opwq_process_start")
    parked.mark(ceph.REACHED, "reached_pg")
    parked.starts(50, 5)
    parked.prepares(200)
    parked.leaves(25)
    for i in range(5):
        part = Request(trace, 400000 + i * 5000, tid=1000 + i, num=777, worker=ceph.WORKER)
        part.hammer_arrives(0, 8, 92)
        part.wait(10).mark(ceph.STARTED, "started")
        part.leaves(70)
        part.wait(400).commit_sent()
    return {
        "read": totals(1, latency=40 * 995 + 20415, opqueue__wait=40 * 190 + 90, osd__enqueue=41 * 10,
                       osd__lookup=40 * 20 + 30 + 50, store__lookup=40 * 30,
                       osd__prepare=40 * 15 + 200, store__read=40 * 700, osd__answer=41 * 25,
                       parked__missing=20005, unattributed=41 * 5),
        # of the one that was told late nobody knows when it came into the queue
        "write": totals(1, latency=30 * 1145, opqueue__wait=29 * 100, osd__enqueue=29 * 12 + 112,
                        osd__lookup=30 * 40, osd__prepare=30 * 60, commit__wait=30 * 930,
                        unattributed=30 * 3),
        "replica write": totals(5, latency=580, opqueue__wait=92, osd__enqueue=8,
                                osd__lookup=10, replica__commit=470),
        "store write": totals(30, latency=300, store__step=300),
        "store attributes": totals(30, latency=40, store__step=40),
    }


def pacific(trace):
    """16.2.5 on BlueStore with two replicas, whose answers have the id of the request. Of every other
    write the transaction is told. In the last ten the replicas are the last, before that the own
    commit."""
    for i in range(20):
        slow_peers = i >= 10
        told = i % 2 == 0
        write = Request(trace, 1000 + i * 9000, tid=100 + i)
        write.pacific_arrives(6, 244)
        write.flags(ceph.WRITE)
        write.starts(30, 4)
        write.emit("osd:do_osd_op_pre_write", **OBJECT, length=4096)
        write.prepares(50)
        write.wait(10).mark(ceph.SENT, "waiting for subops from 1,2")
        write.wait(100)
        if told:  # of that, 80 in the throttle
            write.txc("initial_state", i, throttle_time=80e-6)
        write.wait(20)
        if told:
            write.txc("state_duration", i, state=ceph.PREPARE, elapsed=60e-6)
        write.leaves(15)
        start = write.now
        for state, microseconds in ((ceph.AIO_WAIT, 500), (ceph.IO_DONE, 0), (ceph.KV_QUEUED, 90)):
            write.wait(microseconds)
            if told:
                write.txc("state_duration", i, ceph.KV_SYNC, state=state, elapsed=1e-3)
        write.wait(600)
        if told:
            write.txc("kv_sync_latency", i, ceph.KV_SYNC, kv_batch_size=1)
            write.txc("commit_latency", i, ceph.KV_FINAL, elapsed=2e-3)
        committed = write.now
        for peer, answered in ((1, 200), (2, 3000 if slow_peers else 400)):
            write.now = start + answered
            write.answer_comes(0, 40, 0, thread=1005 + peer)
            last = write.now
            if answered == 3000:
                write.commit_sent(1005 + peer)
            write.leaves(10, 1005 + peer)
        if not slow_peers:
            write.now = committed + 30
            write.commit_sent()
        if told:
            write.now = max(last, committed) + 100
            write.txc("state_duration", i, ceph.KV_FINAL, state=ceph.KV_COMMITTING)
            write.txc("state_duration", i, ceph.KV_FINAL, state=ceph.KV_DONE)
            write.txc("state_duration", i, ceph.KV_FINAL, state=ceph.FINISHING)
            write.txc("state_duration", i, ceph.KV_FINAL, state=ceph.DONE)
            write.txc("total_duration", i, ceph.KV_FINAL)
    for i in range(8):
        call = Request(trace, 300000 + i * 3000, tid=900 + i)
        call.pacific_arrives(5, 95)
        call.flags(ceph.CLASS_WRITE | ceph.WRITE)
        call.starts(20, 5)
        call.emit("osd:do_osd_op_pre_call", **OBJECT, class_name="rbd", method_name="get_id")
        call.prepares(150)
        call.leaves(40)
        call.wait(700).commit_sent()
    # From the worker's leave to the answer 1220 with quick replicas, 3040 with slow ones; before it
    # 145 in which the write is handed on, of which the last 15 are BlueStore's already.
    return {
        "write": totals(
            1, latency=20 * (250 + 30 + 4 + 50 + 145) + 10 * 1220 + 10 * 3040,
            opqueue__wait=20 * 244, osd__enqueue=20 * 6, osd__lookup=20 * 30, osd__prepare=20 * 50,
            unattributed=20 * 4, bluestore__throttle=10 * 80, bluestore__aio=10 * (15 + 500),
            bluestore__kv_queue=10 * 90, bluestore__kv_commit=10 * 600,
            commit__wait=10 * 145 + 5 * 1220 + 5 * 3040  # those that are not told
            + 10 * (145 - 80 - 15) + 5 * (1220 - 1190) + 5 * (3040 - 1190)),
        "class method": totals(8, latency=1015, opqueue__wait=95, osd__enqueue=5, osd__lookup=20,
                               unattributed=5, osd__prepare=150, commit__wait=740),
    }


def client(trace):
    """A program with librbd: synchronous and asynchronous calls; one that fails, one that is complete
    before its call returns, one that never is."""
    now = 1000.0
    for i in range(20):
        trace.emit(now, 2000, 2001, "librbd:read_enter", imagectx=0x5000, length=16384)
        trace.emit(now + 800, 2000, 2001, "librbd:read_exit", retval=16384 if i else -5)
        trace.emit(now + 900, 2000, 2001, "librbd:write_enter", imagectx=0x5000, buf_len=512)
        trace.emit(now + 2900, 2000, 2001, "librbd:write_exit", retval=512)
        now += 3000
    for i in range(30):
        trace.emit(now, 2000, 2002, "librbd:aio_write_enter", imagectx=0x5000, len=4096,
                   completion=0x9000 + i % 4 * 64)
        quick = i == 3
        trace.emit(now + 25, 2000, 2002, "librbd:aio_write_exit")
        if i < 29:
            done = now + (20 if quick else 1500)
            trace.emit(done, 2000, 2002 if quick else 2003, "librbd:aio_complete_enter",
                       completion=0x9000 + i % 4 * 64, rval=0)
            trace.emit(done + 1, 2000, 2002 if quick else 2003, "librbd:aio_complete_exit")
        now += 500
    trace.emit(now, 2000, 2001, "librbd:open_image_exit")
    return {
        "client read": totals(20, latency=800, client__wait=800),
        "client write": totals(1, latency=20 * 2000 + 28 * 1500 + 20,
                               client__call=28 * 25 + 20, client__wait=20 * 2000 + 28 * 1475),
    }


def tiers(trace):
    """A cache pool: reads that wait for a promotion, writes that wait for room, each parked twice; and
    what needs several flags to be told what it is."""
    for i in range(4):
        read = Request(trace, 1000 + i * 50000, tid=10 + i)
        read.pacific_arrives(5, 45)
        read.flags(ceph.READ)
        for _ in range(2):
            read.wait(20).mark(ceph.DELAYED, "waiting for blocked object")
            read.leaves(5)
            read.wait(9995).of_request("osd:opwq_process_start")
            read.mark(ceph.REACHED, "reached_pg")
        read.starts(20, 5)
        read.emit("osd:do_osd_op_pre_read", **OBJECT, length=100)
        read.prepares(70)
        read.leaves(10)
    for i in range(3):
        write = Request(trace, 300000 + i * 50000, tid=30 + i)
        write.pacific_arrives(5, 45)
        write.flags(ceph.CACHE)
        write.wait(20).mark(ceph.DELAYED, "waiting for cache not full")
        write.leaves(5)
        write.wait(4995).of_request("osd:opwq_process_start")
        write.wait(10).mark(ceph.DELAYED, "waiting for scrub")
        write.leaves(5)
        write.wait(995).of_request("osd:opwq_process_start")
        write.starts(20, 5)
        write.prepares(70)
        write.leaves(10)
        write.wait(500).commit_sent()
    both = Request(trace, 500000, tid=50)
    both.pacific_arrives(5, 45)
    both.flags(ceph.READ | ceph.WRITE)
    both.starts(20, 5)
    both.prepares(70)
    both.leaves(10)
    both.wait(500).commit_sent()
    return {
        "read": totals(4, latency=20195, osd__enqueue=5, opqueue__wait=45, osd__lookup=60,
                       parked__blocked=20000, osd__prepare=70, osd__answer=10, unattributed=5),
        "write": totals(3, latency=6685, osd__enqueue=5, opqueue__wait=45, osd__lookup=50,
                        parked__cache_full=5000, parked=1000, osd__prepare=70, commit__wait=510,
                        unattributed=5),
        "read and write": totals(1, latency=655, osd__enqueue=5, opqueue__wait=45, osd__lookup=20,
                                 osd__prepare=70, commit__wait=510, unattributed=5),
    }


def librados(trace):
    """A program with librados; of what it asks for asynchronously no tracepoint tells the end."""
    for i in range(10):
        now = 1000 + i * 5000
        for name, length, microseconds in (("write_full", 4096, 2000), ("read", 4096, 700),
                                           ("stat", 0, 300)):
            size = {"write_full": {"buf_len": length}, "read": {"len": length}}.get(name, {})
            trace.emit(now, 3000, 3001, f"librados:rados_{name}_enter", **size)
            now += microseconds
            trace.emit(now, 3000, 3001, f"librados:rados_{name}_exit",
                       retval=length if name == "read" else 0)
        trace.emit(now, 3000, 3001, "librados:rados_aio_read_enter", len=4096, completion=0x70)
        trace.emit(now + 10, 3000, 3001, "librados:rados_aio_read_exit")
    return {
        "client write": totals(10, latency=2000, client__wait=2000),
        "client read": totals(10, latency=700, client__wait=700),
        "client stat": totals(10, latency=300, client__wait=300),
    }


STORIES = {"hammer": hammer, "pacific": pacific, "client": client, "tiers": tiers,
           "librados": librados}
