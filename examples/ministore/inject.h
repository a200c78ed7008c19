/* SPDX-License-Identifier: MIT */
#ifndef MINISTORE_INJECT_H
#define MINISTORE_INJECT_H

#include <stdint.h>
#include <stdio.h>

/*
 * Diseases of a known size: each row is a place where a delay can be put, INJECT(enum, name, text).
 * A delay named after a stage lies between the stage's two marks, on the op's own path and outside
 * any lock that the stage is about. Those named *_hold keep a lock that much longer: the ops that
 * come after wait for it. A delay on a batch or a shared thread is spent once and counts for
 * every op that it delays.
 */
#define INJECT_ROWS(INJECT)                                                                        \
    INJECT(MESSENGER_RECV, "messenger.recv", "receiving the message")                              \
    INJECT(MESSENGER_THROTTLE, "messenger.throttle", "waiting for the message throttle")           \
    INJECT(MESSENGER_DISPATCH, "messenger.dispatch", "handing the message to the daemon")          \
    INJECT(OPQUEUE_WAIT, "opqueue.wait", "waiting in the op queue")                                \
    INJECT(PG_LOCK, "pg.lock", "waiting for the placement group's lock")                           \
    INJECT(PG_LOCK_HOLD, "pg.lock_hold", "holding the placement group's lock (in osd.prepare)")    \
    INJECT(OSD_PREPARE, "osd.prepare", "checking the request, building the transaction")           \
    INJECT(FILESTORE_THROTTLE, "filestore.throttle", "waiting for the store's op throttle")        \
    INJECT(JOURNAL_QUEUE, "journal.queue", "waiting for the journal's writer (once a batch)")      \
    INJECT(JOURNAL_WRITE, "journal.write", "writing the journal (once a batch)")                   \
    INJECT(SLOW_JOURNAL, "slow_journal", "a slow journal device (once a batch)")                   \
    INJECT(APPLY_QUEUE, "apply.queue", "waiting for an apply thread")                              \
    INJECT(WBTHROTTLE_WAIT, "wbthrottle.wait", "waiting for the writeback throttle")               \
    INJECT(FILESTORE_INDEX, "filestore.index", "waiting for the directory index lock")             \
    INJECT(FILESTORE_INDEX_HOLD, "filestore.index_hold", "holding the index lock, each open")      \
    INJECT(FILESTORE_COLD_OPEN, "filestore.cold_open", "holding the index lock, fd cache misses")  \
    INJECT(FILESTORE_LFN_OPEN, "filestore.lfn_open",                                               \
           "opening the object's file, without the lock")                                          \
    INJECT(FILESTORE_WRITE, "filestore.write", "writing the object's file")                        \
    INJECT(FILESTORE_READ, "filestore.read", "reading the object's file")                          \
    INJECT(SLOW_DISK, "slow_disk", "a slow data device: each read, write and sync of a file")      \
    INJECT(MEMSTORE_LOCK, "memstore.lock", "waiting for the store's lock")                         \
    INJECT(MEMSTORE_LOCK_HOLD, "memstore.lock_hold", "holding the store's lock")                   \
    INJECT(MEMSTORE_APPLY, "memstore.apply", "changing objects in memory")                         \
    INJECT(MEMSTORE_READ, "memstore.read", "copying the object's bytes")                           \
    INJECT(ACCOUNT_HOLD, "osd.account_hold", "holding the lock of the account (--account-lock)")   \
    INJECT(CACHE_HOLD, "client.cache_hold", "holding the client's cache lock (of ministore-load)") \
    INJECT(COMMIT_CALLBACK, "commit.callback", "running the commit callback")                      \
    INJECT(REPLY_QUEUE, "reply.queue", "waiting for the messenger to take the reply")              \
    INJECT(REPLY_SEND, "reply.send", "writing the reply to the socket")                            \
    INJECT(REPLICA_SEND, "replica.send", "sending a write to a peer (in replica.wait)")

enum inject_point {
#define INJECT_ENUM(point, name, text) INJECT_##point,
    INJECT_ROWS(INJECT_ENUM)
#undef INJECT_ENUM
        INJECT_COUNT
};

/* Sets the delay of a point from "POINT=TIME"; 0, or -1 after a message. Before threads start. */
int inject_parse(const char *text);

/* The same by number, in ns. */
void inject_set(enum inject_point point, uint64_t delay_ns);

/* A time like 200us, 1ms, 2s, 150ns in ns; 0, or -1 for what is none. */
int inject_parse_time(const char *text, uint64_t *ns);

/* Spends the point's delay, if it has one, precisely: sleeps to shortly before its end, then
 * spins. Adds what it really took, times `ops` (how many ops it delays), to the point's account.
 * Needs a timer slack of 1 ns (inject_start_process). */
void inject_delay(enum inject_point point, unsigned ops);

/* Sets the timer slack, which threads inherit: call it first in main. */
void inject_start_process(void);

/* The accounts as a JSON object, one key a point that has a delay. */
void inject_write_json(FILE *file);

/* The rows as lines for --help. */
void inject_write_help(FILE *file);

#endif
