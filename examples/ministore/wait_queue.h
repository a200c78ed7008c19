/* SPDX-License-Identifier: MIT */
#ifndef MINISTORE_WAIT_QUEUE_H
#define MINISTORE_WAIT_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "named_lock.h"

/* A first-in first-out list of things that carry a queue_node; and one that threads wait on. */

struct queue_node {
    struct queue_node *next;
};

/* The thing that carries the node. */
#define queue_entry(node, type, member) ((type *)((char *)(node)-offsetof(type, member)))

struct node_list {
    struct queue_node *first;
    struct queue_node **last; /* where the next one is hung */
};

static inline void node_list_init(struct node_list *list)
{
    list->first = NULL;
    list->last = &list->first;
}

static inline void node_list_push(struct node_list *list, struct queue_node *node)
{
    node->next = NULL;
    *list->last = node;
    list->last = &node->next;
}

static inline struct queue_node *node_list_pop(struct node_list *list)
{
    struct queue_node *node = list->first;
    if (node) {
        list->first = node->next;
        if (!list->first)
            list->last = &list->first;
    }
    return node;
}

struct wait_queue {
    struct named_lock lock;
    pthread_cond_t filled;
    struct node_list list;
    bool stopped;
};

/* `name`, `instance`: of the lock inside. */
void wait_queue_init(struct wait_queue *queue, enum lock_name name, uint64_t instance);
void wait_queue_destroy(struct wait_queue *queue);

/* Appends and wakes one waiting thread. */
void wait_queue_push(struct wait_queue *queue, struct queue_node *node);

/* The oldest node; waits while there is none; NULL when the queue is empty and stopped. */
struct queue_node *wait_queue_pop(struct wait_queue *queue);

/* Wakes all who wait: what is queued can still be popped, then pop returns NULL. */
void wait_queue_stop(struct wait_queue *queue);

#endif
