/* SPDX-License-Identifier: MIT */
#ifndef MINISTORE_FINISHER_H
#define MINISTORE_FINISHER_H

#include <pthread.h>

#include "request.h"
#include "wait_queue.h"

/* One thread that runs the commit callbacks of writes, in order. */
struct finisher {
    struct wait_queue queue;
    pthread_t thread;
    void (*callback)(struct request *request);
};

/* 0, or -1 after a message. */
int finisher_start(struct finisher *finisher, void (*callback)(struct request *));
void finisher_stop(struct finisher *finisher); /* runs what is queued, then ends */

/* One part of what the op's answer waits for is done, or has failed: the local one or a peer's.
 * With the last part the write is committed and its callback queued. Emits commit.queue then. */
void finisher_queue(struct finisher *finisher, struct request *request);

/* The same in two steps, so that a lock can be released between mark and push. Push only if mark
 * says that it was the last part; else the request is no longer the caller's. */
bool finisher_mark(struct request *request);
void finisher_push(struct finisher *finisher, struct request *request);

#endif
