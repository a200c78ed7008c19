/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_CEPH_TABLES_H
#define OPTRAIL_CEPH_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What is remembered while Ceph's own tracepoints are read: of what is open, and of threads. Two
 * tables of a fixed size, in which a key has a few places; when all are taken, what was looked for
 * the longest ago goes.
 */

/* How far a worker has come with a request. */
enum ceph_phase { CEPH_CHECKING, CEPH_PREPARING, CEPH_BEHIND };

/* A request, a BlueStore transaction or an asynchronous call of a client. */
struct ceph_open {
    uint64_t key; /* 0: the place is free */
    uint64_t used;
    uint64_t bytes_in, bytes_out;
    uint64_t sent_ns; /* when its replicas were asked */
    uint32_t pid;
    uint32_t worker; /* the thread that has taken it */
    uint16_t rmw;    /* what it does, as far as it is known */
    uint8_t peers;   /* replicas that were asked, as far as the text tells */
    uint8_t answers; /* how many of them have been handled */
    enum ceph_phase phase;
    bool taken;   /* by a worker */
    bool delayed; /* parked since then */
    bool sent;    /* to its replicas */
    bool reads;
    bool passing; /* a transaction: losing it is no loss of an op */
    bool fresh;   /* none of its states was told */
    bool linked;  /* to a request */
};

struct ceph_thread {
    uint64_t id; /* a key of its own, of process and thread; 0: the place is free */
    uint64_t used;
    uint64_t request; /* it works for; 0: none that is known */
    uint64_t step_in, step_out, call_in;
    uint64_t call_key;
    uint32_t step;       /* of the object store, which it is in (ceph_event.call); 0: none */
    uint32_t call;       /* of a client library, likewise */
    uint16_t step_point; /* that tells its end */
    bool call_reads;
};

struct ceph_tables {
    struct ceph_open *open;      /* owned */
    struct ceph_thread *threads; /* owned */
    uint64_t now;                /* counts the looks */
};

/* 0, or -ENOMEM without a message. */
int ceph_tables_init(struct ceph_tables *tables);
void ceph_tables_free(struct ceph_tables *tables);

/* A key of up to four numbers, in a room of its own for each letter; never 0. */
uint64_t ceph_key(char room, uint64_t one, uint64_t two, uint64_t three, uint64_t four);

/* What is remembered of the key; NULL: nothing. The pointer lives until the next look for one. */
struct ceph_open *ceph_tables_find(struct ceph_tables *tables, uint32_t pid, uint64_t key);

/* Likewise, but makes it; adds to *forgotten when another one had to go for it. */
struct ceph_open *ceph_tables_open(struct ceph_tables *tables, uint32_t pid, uint64_t key,
                                   uint64_t *forgotten);

/* Forgets all of it but its key; or forgets it. */
void ceph_open_reset(struct ceph_open *open);
void ceph_open_forget(struct ceph_open *open);

/* What is remembered of the thread; made if there is nothing. */
struct ceph_thread *ceph_tables_thread(struct ceph_tables *tables, uint32_t pid, uint32_t tid);

/* The thread with nothing remembered of what it does. */
struct ceph_thread ceph_thread_of(const struct ceph_thread *thread);

#endif
