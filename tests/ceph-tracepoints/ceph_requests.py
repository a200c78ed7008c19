# SPDX-License-Identifier: MIT
"""What the call sites of Ceph's tracepoints emit for a request, in its two eras."""
READ, WRITE, CLASS_WRITE, CACHE = 2, 4, 16, 64
QUEUED, REACHED, DELAYED, STARTED, SENT, COMMITTED = 1, 2, 4, 8, 16, 32
CLIENT, OSD_PID, MESSENGER, WORKER, KV_SYNC, KV_FINAL, APPLY = 8, 1000, 1001, 1002, 1003, 1004, 1005

# the number of BlueStore's first state in 16.2.5, as it comes out of eight bits; and of the others
PREPARE, AIO_WAIT, IO_DONE, KV_QUEUED, KV_COMMITTING, KV_DONE, FINISHING, DONE = \
    19, 20, 21, 22, 23, 24, 28, 29


class Request:
    """A request with an id, in one daemon. The clock `now` goes on by what each method is told."""

    def __init__(self, trace, now, tid, pid=OSD_PID, num=4123, worker=WORKER):
        self.trace, self.now, self.pid, self.worker = trace, now, pid, worker
        self.identity = {"type": CLIENT, "num": num, "tid": tid, "inc": 0}
        self.rmw = 0

    def emit(self, name, thread=None, /, **values):
        self.trace.emit(self.now, self.pid, thread or self.worker, name, **values)

    def of_request(self, name, thread=None, /, **values):
        self.emit(name, thread, **self.identity, **values)

    def mark(self, flag, message="", thread=None, rmw=None):
        self.of_request("oprequest:mark_flag_point", thread, flag=flag, msg=message,
                        rmw_flags=self.rmw if rmw is None else rmw)

    def flags(self, flags, thread=None):
        self.rmw = flags
        self.of_request("oprequest:set_rmw_flags", thread, flag=flags, new_rmw_flags=flags)

    def wait(self, microseconds):
        self.now += microseconds
        return self

    # 0.94 to 9.1: put into the queue by the PG, which tells it afterwards
    def hammer_arrives(self, flags, enqueue, queued, thread=MESSENGER):
        self.of_request("osd:ms_fast_dispatch", thread)
        if flags:
            self.flags(flags, thread)
        self.wait(enqueue).of_request("pg:queue_op", thread, rmw_flags=self.rmw)
        self.wait(queued).of_request("osd:opwq_process_start")
        self.mark(REACHED, "reached_pg")

    def pacific_arrives(self, enqueue, queued, thread=MESSENGER, rmw=0):
        self.of_request("osd:ms_fast_dispatch", thread)
        self.wait(enqueue).mark(QUEUED, "queued_for_pg", thread, rmw)
        self.wait(queued).of_request("osd:opwq_process_start")
        self.mark(REACHED, "reached_pg", rmw=rmw)

    def starts(self, lookup, begin):
        """A FileStore looks the object up meanwhile, half of the time."""
        self.wait(lookup)
        self.mark(STARTED, "started")
        self.wait(begin).of_request("osd:prepare_tx_enter")

    def prepares(self, microseconds):
        self.wait(microseconds).of_request("osd:prepare_tx_exit")

    def leaves(self, microseconds, thread=None):
        self.wait(microseconds).of_request("osd:opwq_process_finish", thread)

    def commit_sent(self, thread=KV_FINAL):
        self.mark(COMMITTED, "commit_sent", thread)

    def answer_comes(self, net, queued, handled, thread=1006):
        """A replica's answer, in pacific: a request of its own with the same id."""
        self.wait(net).of_request("osd:ms_fast_dispatch", MESSENGER)
        self.mark(QUEUED, "queued_for_pg", MESSENGER, 0)
        self.wait(queued).of_request("osd:opwq_process_start", thread)
        self.mark(REACHED, "reached_pg", thread, 0)
        self.mark(STARTED, "started", thread, 0)
        self.wait(handled)

    def txc(self, name, sequence, thread=None, /, **values):
        self.emit(f"bluestore:transaction_{name}", thread, sequencer_id=7, tid=sequence, **values)
