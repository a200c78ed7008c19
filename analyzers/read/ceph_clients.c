/* SPDX-License-Identifier: MIT */
#include "ceph_making.h"

static bool sends(uint32_t type)
{
    return type == CEPH_TYPE_CLIENT_WRITE || type == CEPH_TYPE_CLIENT_WRITESAME ||
           type == CEPH_TYPE_CLIENT_COMPARE;
}

void ceph_make_call(struct making *making)
{
    struct ceph_thread *thread = thread_of(making);

    if (!thread)
        return;
    thread->call = making->from->call;
    thread->call_key = thread->id;
    thread->call_in = sends(making->from->type) ? making->from->numbers[0] : 0;
    thread->call_reads = making->from->type == CEPH_TYPE_CLIENT_READ;
    make_keyed(making, POINT_client_submit, thread->call_key, making->from->type, 0);
}

void ceph_make_call_end(struct making *making)
{
    struct ceph_thread *thread = thread_of(making);
    int64_t result = (int64_t)making->from->numbers[0];

    if (!thread || thread->call != making->from->call)
        return;
    make_keyed(making, POINT_client_finish, thread->call_key, result >= 0 ? thread->call_in : 0,
               result > 0 && thread->call_reads ? (uint64_t)result : 0);
    thread->call = 0;
}

static uint64_t aio_key(const struct ceph_event *event)
{
    return ceph_key('A', event->numbers[1], 0, 0, 0);
}

void ceph_make_aio(struct making *making)
{
    struct ceph_thread *thread = thread_of(making);
    uint64_t key = aio_key(making->from);
    struct ceph_open *open = open_of(making, key);

    ceph_open_reset(open);
    open->bytes_in = sends(making->from->type) ? making->from->numbers[0] : 0;
    open->reads = making->from->type == CEPH_TYPE_CLIENT_READ;
    if (thread) {
        thread->call = making->from->call;
        thread->call_key = key;
    }
    make_keyed(making, POINT_client_submit, key, making->from->type, 0);
    make_keyed(making, POINT_client_asked, key, 0, 0);
}

void ceph_make_aio_end(struct making *making)
{
    struct ceph_thread *thread = thread_of(making);

    if (!thread || thread->call != making->from->call)
        return;
    thread->call = 0;
    if (known_of(making, thread->call_key)) /* else it was complete before the call returned */
        make_keyed(making, POINT_client_submitted, thread->call_key, 0, 0);
}

void ceph_make_aio_complete(struct making *making)
{
    uint64_t key = aio_key(making->from);
    struct ceph_open *open = known_of(making, key);
    int64_t result = (int64_t)making->from->numbers[0];

    if (!open) /* one of librbd's own */
        return;
    make_keyed(making, POINT_client_finish, key, result >= 0 ? open->bytes_in : 0,
               result > 0 && open->reads ? (uint64_t)result : 0);
    ceph_open_forget(open);
}
