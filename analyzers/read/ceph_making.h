/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_CEPH_MAKING_H
#define OPTRAIL_CEPH_MAKING_H

#include <stdbool.h>
#include <stddef.h>

#include "ceph_requests.h"
#include "ceph_tables.h"

/*
 * The inside of ceph_requests: of what the events of one kind are made.
 */

/* More than that many daemons in one session are not looked at for their being told twice. */
enum { PROCESSES = 64 };

struct ceph_requests {
    struct ceph_tables tables;
    struct read_ceph *counts; /* weak */
    bool base_known;
    uint8_t base; /* the number of BlueStore's first state, which differs over the versions */
    size_t process_count;
    uint32_t processes[PROCESSES]; /* that told a request */
};

/* One of Ceph's events, and what is made of it. */
struct making {
    struct ceph_requests *requests;
    const struct ceph_event *from;
    struct optrail_event *made;
    int count;
    uint64_t key; /* of the request */
    uint32_t tid;
};

static inline void make_keyed(struct making *making, enum point point, uint64_t key, uint64_t arg0,
                              uint64_t arg1)
{
    making->made[making->count++] = (struct optrail_event){
        .time_ns = making->from->time_ns,
        .key = key,
        .arg0 = arg0,
        .arg1 = arg1,
        .pid = making->from->pid,
        .tid = making->tid,
        .point = (uint16_t)point,
        .cpu = making->from->cpu,
    };
}

static inline void make(struct making *making, enum point point, uint64_t arg0, uint64_t arg1)
{
    make_keyed(making, point, making->key, arg0, arg1);
}

/* What is remembered of the request; made if there is nothing. */
static inline struct ceph_open *open_of(struct making *making, uint64_t key)
{
    return ceph_tables_open(&making->requests->tables, making->from->pid, key,
                            &making->requests->counts->forgotten);
}

static inline struct ceph_open *known_of(struct making *making, uint64_t key)
{
    return ceph_tables_find(&making->requests->tables, making->from->pid, key);
}

/* NULL: the trace does not tell threads. */
static inline struct ceph_thread *thread_of(struct making *making)
{
    return making->from->has_thread
               ? ceph_tables_thread(&making->requests->tables, making->from->pid, making->from->tid)
               : NULL;
}

/* What the object store tells: FileStore's steps, BlueStore's transactions. */
void ceph_make_step(struct making *making);
void ceph_make_step_end(struct making *making);
void ceph_make_txc(struct making *making);
void ceph_make_txc_state(struct making *making);
void ceph_make_txc_commit(struct making *making);
void ceph_make_txc_end(struct making *making);

/* What a client's library tells. */
void ceph_make_call(struct making *making);
void ceph_make_call_end(struct making *making);
void ceph_make_aio(struct making *making);
void ceph_make_aio_end(struct making *making);
void ceph_make_aio_complete(struct making *making);

#endif
