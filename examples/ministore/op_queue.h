/* SPDX-License-Identifier: MIT */
#ifndef MINISTORE_OP_QUEUE_H
#define MINISTORE_OP_QUEUE_H

#include <pthread.h>

#include "request.h"
#include "wait_queue.h"

/* The sharded op queue: a placement group belongs to one shard, a shard has its own queue and its
 * own workers. With one worker a shard, ops of a group run in the order of their arrival. */
struct op_queue {
    unsigned shard_count;
    unsigned threads_per_shard;
    struct op_shard *shards; /* owned */
    void (*process)(struct request *request);
};

/* 0, or -1 after a message. */
int op_queue_start(struct op_queue *queue, unsigned shards, unsigned threads_per_shard,
                   void (*process)(struct request *));
void op_queue_stop(struct op_queue *queue); /* works off what is queued, then ends */

/* Queues a request whose group is set. Emits opqueue.enqueue; the worker that takes it emits
 * opqueue.dequeue and calls process. */
void op_queue_push(struct op_queue *queue, struct request *request);

#endif
