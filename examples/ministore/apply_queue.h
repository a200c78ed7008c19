/* SPDX-License-Identifier: MIT */
#ifndef MINISTORE_APPLY_QUEUE_H
#define MINISTORE_APPLY_QUEUE_H

#include <pthread.h>

#include "placement_group.h"
#include "request.h"
#include "wait_queue.h"

/* The apply threads: they apply journaled writes, several groups at once, but those of one group
 * one after the other in journal order (as FileStore's op sequencers do). */
struct apply_queue {
    struct wait_queue groups; /* that have something to apply and are at no thread */
    unsigned thread_count;
    pthread_t *threads; /* owned */
    void (*apply)(void *context, struct request *request);
    void *context;
};

/* 0, or -1 after a message; stop cleans up in both cases. */
int apply_queue_start(struct apply_queue *queue, unsigned threads,
                      void (*apply)(void *, struct request *), void *context);
void apply_queue_stop(struct apply_queue *queue); /* applies what is queued, then ends */

/* Queues a journaled write in two steps. mark emits apply.enqueue; the thread that takes it emits
 * apply.dequeue and calls apply. */
void apply_queue_mark(const struct request *request);
void apply_queue_push(struct apply_queue *queue, struct request *request);

#endif
