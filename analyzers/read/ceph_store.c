/* SPDX-License-Identifier: MIT */
#include "ceph_making.h"

static void end_step(struct making *making, struct ceph_thread *thread)
{
    if (thread->step && thread->step_point == POINT_store_step_end)
        make_keyed(making, POINT_store_step_end, thread->id, thread->step_in, thread->step_out);
    else if (thread->step)
        make_keyed(making, (enum point)thread->step_point, 0, 0, 0);
    thread->step = 0;
}

static void begin_step(struct making *making, struct ceph_thread *thread, enum point begin,
                       enum point end)
{
    make_keyed(making, begin, 0, 0, 0);
    thread->step_point = (uint16_t)end;
}

void ceph_make_step(struct making *making)
{
    const struct ceph_event *from = making->from;
    struct ceph_thread *thread = thread_of(making);
    struct ceph_open *open;

    if (!thread)
        return;
    end_step(making, thread); /* some ways out of a step tell nothing */
    open = thread->request ? known_of(making, thread->request) : NULL;
    if (open && open->phase == CEPH_BEHIND)
        return;
    thread->step = from->call;
    thread->step_in = from->type == CEPH_TYPE_STEP_WRITE ? from->numbers[0] : 0;
    thread->step_out = from->type == CEPH_TYPE_STEP_READ ? from->numbers[0] : 0;
    if (open && open->phase == CEPH_CHECKING) {
        begin_step(making, thread, POINT_store_lookup_begin, POINT_store_lookup_end);
    } else if (open) {
        begin_step(making, thread, POINT_store_read_begin, POINT_store_read_end);
    } else {
        make_keyed(making, POINT_store_step_begin, thread->id, from->type, 0);
        thread->step_point = POINT_store_step_end;
    }
}

void ceph_make_step_end(struct making *making)
{
    struct ceph_thread *thread = thread_of(making);

    if (thread && thread->step == making->from->call)
        end_step(making, thread);
}

/* BlueStore */

/* BlueStore's states, from the first one. Each is told when it ends. */
enum txc_state { TXC_PREPARE = 0, TXC_IO_DONE = 2, TXC_KV_QUEUED = 3 };

static uint64_t txc_key(const struct ceph_event *event)
{
    return ceph_key('T', event->numbers[0], event->numbers[1], 0, 0);
}

/* The OSD has a time of more than a day from a clock that was set, or from a trace that lies. */
static uint64_t throttle_ns(double seconds)
{
    return seconds > 0 && seconds < 86400 ? (uint64_t)(seconds * 1e9) : 0;
}

void ceph_make_txc(struct making *making)
{
    struct ceph_thread *thread = thread_of(making);
    uint64_t waited = throttle_ns(making->from->seconds);
    struct ceph_open *open = open_of(making, txc_key(making->from));

    ceph_open_reset(open);
    open->passing = true;
    open->fresh = true;
    open->linked = thread && thread->request;
    if (!open->linked)
        return;
    make_keyed(making, POINT_bluestore_transaction, 0, open->key, KEY_STORE_OP);
    make_keyed(making, POINT_bluestore_throttle_asked, open->key,
               making->from->time_ns > waited ? making->from->time_ns - waited : 0, 0);
}

void ceph_make_txc_state(struct making *making)
{
    struct ceph_requests *requests = making->requests;
    struct ceph_open *open = known_of(making, txc_key(making->from));
    uint8_t state = (uint8_t)making->from->numbers[2];

    if (!open)
        return;
    if (open->fresh) { /* the first one that a transaction leaves */
        requests->base = state;
        requests->base_known = true;
        open->fresh = false;
    }
    if (!open->linked || !requests->base_known)
        return;
    switch ((uint8_t)(state - requests->base)) {
    case TXC_PREPARE:
        make_keyed(making, POINT_bluestore_aio_submit, open->key, 0, 0);
        break;
    case TXC_IO_DONE:
        make_keyed(making, POINT_bluestore_kv_queued, open->key, 0, 0);
        break;
    case TXC_KV_QUEUED:
        make_keyed(making, POINT_bluestore_kv_taken, open->key, 0, 0);
        break;
    default: /* kv_committing is told after the callbacks run: CEPH_TXC_COMMIT is not */
        break;
    }
}

void ceph_make_txc_commit(struct making *making)
{
    struct ceph_open *open = known_of(making, txc_key(making->from));

    if (open && open->linked)
        make_keyed(making, POINT_bluestore_committed, open->key, 0, 0);
}

void ceph_make_txc_end(struct making *making)
{
    struct ceph_open *open = known_of(making, txc_key(making->from));

    if (open)
        ceph_open_forget(open);
}
