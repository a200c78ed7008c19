/* SPDX-License-Identifier: MIT */
#ifndef MINISTORE_WRITEBACK_THROTTLE_H
#define MINISTORE_WRITEBACK_THROTTLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon_options.h"
#include "fd_cache.h"
#include "named_lock.h"

/* Keeps the dirty writes in the page cache few: from `start` on a flusher thread syncs the files
 * that are dirty for the longest time, at `limit` apply threads wait for it. */
struct writeback_throttle {
    bool enabled;
    uint64_t start, limit; /* writes */
    enum sync_choice sync;
    struct named_lock lock; /* of what follows */
    pthread_cond_t dirtied, cleaned;
    _Atomic uint64_t dirty; /* writes not yet synced, with those being synced; read by marks */
    struct dirty_file *oldest, **newest_link; /* owned, in the order of their first write */
    struct dirty_file **buckets;              /* owned: the same by object */
    bool stopped;
    bool running;
    pthread_t flusher;
};

/* 0, or -1 after a message; stop cleans up in both cases. */
int writeback_throttle_start(struct writeback_throttle *throttle,
                             const struct daemon_options *options);
void writeback_throttle_stop(struct writeback_throttle *throttle); /* what is dirty stays dirty */

/* Waits while there are too many dirty writes. Emits wbthrottle.wait_begin and wait_end for the
 * thread's current op. */
void writeback_throttle_wait(struct writeback_throttle *throttle);

/* The file has been written once more; takes a reference of its own if it keeps it. */
void writeback_throttle_add(struct writeback_throttle *throttle, struct file *file);

#endif
