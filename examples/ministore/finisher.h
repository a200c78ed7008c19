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

/* The op's write is committed (or has failed): queues its callback. Emits commit.queue. */
void finisher_queue(struct finisher *finisher, struct request *request);

/* The same in two steps, so that a lock can be released between mark and push. */
void finisher_mark(struct request *request);
void finisher_push(struct finisher *finisher, struct request *request);

#endif
