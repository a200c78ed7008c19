/* SPDX-License-Identifier: MIT */
#include "op_queue.h"

#include <optrail/probe.h>
#include <stdlib.h>

#include "daemon_log.h"
#include "inject.h"
#include "placement_group.h"

struct op_shard {
    struct op_queue *queue;
    unsigned number;
    struct wait_queue requests;
    pthread_t *threads; /* owned */
    unsigned started;
};

static void *work(void *argument)
{
    struct op_shard *shard = argument;
    for (struct queue_node *node; (node = wait_queue_pop(&shard->requests));) {
        struct request *request = request_of(node);
        inject_delay(INJECT_OPQUEUE_WAIT, 1);
        OPTRAIL(opqueue_dequeue, request, shard->number, 0);
        shard->queue->process(request);
    }
    return NULL;
}

int op_queue_start(struct op_queue *queue, unsigned shards, unsigned threads_per_shard,
                   void (*process)(struct request *))
{
    *queue = (struct op_queue){.threads_per_shard = threads_per_shard, .process = process};
    queue->shards = calloc(shards, sizeof(*queue->shards));
    if (!queue->shards)
        return log_error("no memory for %u shards", shards);
    for (; queue->shard_count < shards; queue->shard_count++) {
        struct op_shard *shard = &queue->shards[queue->shard_count];
        shard->queue = queue;
        shard->number = queue->shard_count;
        shard->threads = calloc(threads_per_shard, sizeof(*shard->threads));
        if (!shard->threads)
            return log_error("no memory for the op queue");
        wait_queue_init(&shard->requests, LOCK_OPQUEUE, shard->number);
        for (; shard->started < threads_per_shard; shard->started++) {
            if (pthread_create(&shard->threads[shard->started], NULL, work, shard) != 0)
                return log_error("no thread for a worker of the op queue");
        }
    }
    return 0;
}

void op_queue_stop(struct op_queue *queue)
{
    for (unsigned i = 0; i < queue->shard_count; i++) {
        struct op_shard *shard = &queue->shards[i];
        wait_queue_stop(&shard->requests);
        for (unsigned j = 0; j < shard->started; j++)
            pthread_join(shard->threads[j], NULL);
        wait_queue_destroy(&shard->requests);
        free(shard->threads);
    }
    free(queue->shards);
}

void op_queue_push(struct op_queue *queue, struct request *request)
{
    struct op_shard *shard = &queue->shards[request->group->number % queue->shard_count];
    OPTRAIL(opqueue_enqueue, request, shard->number, 0);
    wait_queue_push(&shard->requests, &request->node);
}
