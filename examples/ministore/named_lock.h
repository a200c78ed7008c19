/* SPDX-License-Identifier: MIT */
#ifndef MINISTORE_NAMED_LOCK_H
#define MINISTORE_NAMED_LOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

/*
 * A lock that says who it is. To whoever listens it emits lock.named, lock.request (only when it
 * was not free), lock.acquired and lock.released; nobody listening, that costs the tests of four
 * probes. Waits are counted and timed always, holds only with --lock-stats, for they need two
 * readings of the clock: this is the truth that the tests compare with.
 */

/* The locks: a row a name, LOCK(enum, name, text). Several locks of a name are told apart by their
 * instance: a placement group's number, a shard's. */
#define LOCK_ROWS(LOCK)                                                                            \
    LOCK(PG, "pg.lock", "a placement group")                                                       \
    LOCK(PG_ORDER, "pg.order", "a placement group's writes that are not applied yet")              \
    LOCK(OPQUEUE, "opqueue.shard", "a shard of the op queue")                                      \
    LOCK(FINISHER, "finisher.queue", "the queue of commit callbacks")                              \
    LOCK(APPLY, "apply.queue", "the queue of groups that have something to apply")                 \
    LOCK(JOURNAL, "journal.lock", "the journal's queue and its sequence")                          \
    LOCK(JOURNAL_RING, "journal.ring", "the journal's file: what of it is used")                   \
    LOCK(INDEX, "filestore.index", "the directories of a group, or of the whole store")            \
    LOCK(FD_CACHE, "filestore.fd_cache", "a shard of the fd cache")                                \
    LOCK(STORE_THROTTLE, "filestore.throttle", "the store's op throttle")                          \
    LOCK(WBTHROTTLE, "wbthrottle", "the writeback throttle")                                       \
    LOCK(MEMSTORE, "memstore.lock", "the objects of a group, or of the whole store")               \
    LOCK(MESSAGE_THROTTLE, "messenger.throttle", "the message throttle")                           \
    LOCK(CONNECTION, "messenger.connection", "a connection's replies")                             \
    LOCK(WORKER, "messenger.worker", "an async worker's list of the awakened")                     \
    LOCK(CONNECTIONS, "messenger.connections", "the list of connections")                          \
    LOCK(PEER, "replica.peer", "what a peer is to get and owes")                                   \
    LOCK(ACCOUNT, "osd.account", "the daemon's account of its ops (--account-lock)")               \
    LOCK(CACHE, "client.cache", "the client's write-back cache: one lock an image")                \
    LOCK(CLIENT, "client.ops", "the client's ops in flight")                                       \
    LOCK(SEND, "client.send", "the sending side of the client's connection")

enum lock_name {
#define LOCK_ENUM(name, text_name, text) LOCK_##name,
    LOCK_ROWS(LOCK_ENUM)
#undef LOCK_ENUM
        LOCK_NAME_COUNT
};

enum lock_kind {
    LOCK_KIND_MUTEX,
    LOCK_KIND_WRITE, /* a rwlock, always taken for writing */
    LOCK_KIND_SPIN,  /* test-and-set, with short sleeps: no futex shows it */
};

struct named_lock {
    union { /* first: a waiter's futex lies at the lock's address */
        pthread_mutex_t mutex;
        pthread_rwlock_t rwlock;
        atomic_bool spin;
    };
    enum lock_kind kind;
    enum lock_name name;
    uint64_t instance;
    _Atomic uint64_t named_ns; /* when lock.named was emitted last; 0: never */
    uint64_t since_ns;         /* of whoever holds it, with --lock-stats */
};

void lock_init(struct named_lock *lock, enum lock_kind kind, enum lock_name name,
               uint64_t instance);
void lock_destroy(struct named_lock *lock);

void lock_take(struct named_lock *lock);
void lock_give(struct named_lock *lock);

/* The same for acquisitions that have points of their own in the catalogue (optrail/locks.def),
 * which the caller emits: only lock.named is. */
void lock_take_marked(struct named_lock *lock);
void lock_give_marked(struct named_lock *lock);

/* Waits on the condition, the lock (a mutex, taken) free meanwhile: idle, for something to do. */
void lock_wait(struct named_lock *lock, pthread_cond_t *condition);

/* 0 or ETIMEDOUT. */
int lock_wait_until(struct named_lock *lock, pthread_cond_t *condition,
                    const struct timespec *until);

/* The same for who waits for room that others give back: emits lock.request and lock.acquired of
 * the condition, named after the lock with ".room" behind it. Counted as the lock's room_waits. */
void lock_wait_room(struct named_lock *lock, pthread_cond_t *condition);

/* Measure holds from now on, before threads start. */
void lock_measure_holds(void);

/* The counters of every name that was used as one JSON object: {"pg.lock":{"taken":1,"waits":0,
 * "wait_ns":0,"room_waits":0,"room_wait_ns":0,"holds":0,"hold_ns":0}}. Taken and holds are counted
 * with lock_measure_holds only. */
void lock_write_json(FILE *file);

#endif
