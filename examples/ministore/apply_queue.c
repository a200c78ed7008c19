/* SPDX-License-Identifier: MIT */
#include "apply_queue.h"

#include <optrail/probe.h>
#include <stdlib.h>

#include "daemon_log.h"
#include "inject.h"

void apply_queue_mark(const struct request *request)
{
    OPTRAIL(apply_enqueue, request->sequence, 0, 0);
}

void apply_queue_push(struct apply_queue *queue, struct request *request)
{
    struct placement_group *group = request->group;
    lock_take(&group->order_lock);
    node_list_push(&group->apply_list, &request->apply_node);
    bool idle = !group->apply_queued;
    group->apply_queued = true;
    lock_give(&group->order_lock);
    if (idle)
        wait_queue_push(&queue->groups, &group->apply_node);
}

static void *apply_writes(void *argument)
{
    struct apply_queue *queue = argument;
    for (struct queue_node *node; (node = wait_queue_pop(&queue->groups));) {
        struct placement_group *group = queue_entry(node, struct placement_group, apply_node);
        lock_take(&group->order_lock);
        struct request *request =
            queue_entry(node_list_pop(&group->apply_list), struct request, apply_node);
        lock_give(&group->order_lock);
        inject_delay(INJECT_APPLY_QUEUE, 1);
        OPTRAIL(apply_dequeue, request->sequence, 0, 0);
        queue->apply(queue->context, request);
        lock_take(&group->order_lock);
        bool more = group->apply_queued = group->apply_list.first != NULL;
        lock_give(&group->order_lock);
        if (more)
            wait_queue_push(&queue->groups, &group->apply_node);
    }
    return NULL;
}

int apply_queue_start(struct apply_queue *queue, unsigned threads,
                      void (*apply)(void *, struct request *), void *context)
{
    *queue = (struct apply_queue){.apply = apply, .context = context};
    wait_queue_init(&queue->groups, LOCK_APPLY, 0);
    queue->threads = calloc(threads, sizeof(*queue->threads));
    if (!queue->threads)
        return log_error("no memory for the apply threads");
    for (; queue->thread_count < threads; queue->thread_count++) {
        if (pthread_create(&queue->threads[queue->thread_count], NULL, apply_writes, queue) != 0)
            return log_error("no thread for applying writes");
    }
    return 0;
}

void apply_queue_stop(struct apply_queue *queue)
{
    wait_queue_stop(&queue->groups);
    for (unsigned i = 0; i < queue->thread_count; i++)
        pthread_join(queue->threads[i], NULL);
    free(queue->threads);
    wait_queue_destroy(&queue->groups);
}
