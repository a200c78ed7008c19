/* SPDX-License-Identifier: MIT */
#include "wait_queue.h"

void wait_queue_init(struct wait_queue *queue)
{
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->filled, NULL);
    node_list_init(&queue->list);
    queue->stopped = false;
}

void wait_queue_destroy(struct wait_queue *queue)
{
    pthread_cond_destroy(&queue->filled);
    pthread_mutex_destroy(&queue->lock);
}

void wait_queue_push(struct wait_queue *queue, struct queue_node *node)
{
    pthread_mutex_lock(&queue->lock);
    node_list_push(&queue->list, node);
    pthread_cond_signal(&queue->filled);
    pthread_mutex_unlock(&queue->lock);
}

struct queue_node *wait_queue_pop(struct wait_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    while (!queue->list.first && !queue->stopped)
        pthread_cond_wait(&queue->filled, &queue->lock);
    struct queue_node *node = node_list_pop(&queue->list);
    pthread_mutex_unlock(&queue->lock);
    return node;
}

void wait_queue_stop(struct wait_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->stopped = true;
    pthread_cond_broadcast(&queue->filled);
    pthread_mutex_unlock(&queue->lock);
}
