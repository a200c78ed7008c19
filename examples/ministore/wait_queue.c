/* SPDX-License-Identifier: MIT */
#include "wait_queue.h"

void wait_queue_init(struct wait_queue *queue, enum lock_name name, uint64_t instance)
{
    lock_init(&queue->lock, LOCK_KIND_MUTEX, name, instance);
    pthread_cond_init(&queue->filled, NULL);
    node_list_init(&queue->list);
    queue->stopped = false;
}

void wait_queue_destroy(struct wait_queue *queue)
{
    pthread_cond_destroy(&queue->filled);
    lock_destroy(&queue->lock);
}

void wait_queue_push(struct wait_queue *queue, struct queue_node *node)
{
    lock_take(&queue->lock);
    node_list_push(&queue->list, node);
    pthread_cond_signal(&queue->filled);
    lock_give(&queue->lock);
}

struct queue_node *wait_queue_pop(struct wait_queue *queue)
{
    lock_take(&queue->lock);
    while (!queue->list.first && !queue->stopped)
        lock_wait(&queue->lock, &queue->filled);
    struct queue_node *node = node_list_pop(&queue->list);
    lock_give(&queue->lock);
    return node;
}

void wait_queue_stop(struct wait_queue *queue)
{
    lock_take(&queue->lock);
    queue->stopped = true;
    pthread_cond_broadcast(&queue->filled);
    lock_give(&queue->lock);
}
