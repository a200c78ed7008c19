/* SPDX-License-Identifier: MIT */
#include "finisher.h"

#include <optrail/probe.h>

#include "daemon_log.h"

static void *run_callbacks(void *argument)
{
    struct finisher *finisher = argument;
    for (struct queue_node *node; (node = wait_queue_pop(&finisher->queue));)
        finisher->callback(request_of(node));
    return NULL;
}

int finisher_start(struct finisher *finisher, void (*callback)(struct request *))
{
    wait_queue_init(&finisher->queue, LOCK_FINISHER, 0);
    finisher->callback = callback;
    if (pthread_create(&finisher->thread, NULL, run_callbacks, finisher) != 0)
        return log_error("no thread for the finisher");
    return 0;
}

void finisher_stop(struct finisher *finisher)
{
    wait_queue_stop(&finisher->queue);
    pthread_join(finisher->thread, NULL);
    wait_queue_destroy(&finisher->queue);
}

bool finisher_mark(struct request *request)
{
    if (atomic_fetch_sub_explicit(&request->parts, 1, memory_order_acq_rel) != 1)
        return false;
    OPTRAIL(commit_queue, request, 0, 0);
    return true;
}

void finisher_push(struct finisher *finisher, struct request *request)
{
    wait_queue_push(&finisher->queue, &request->node);
}

void finisher_queue(struct finisher *finisher, struct request *request)
{
    if (finisher_mark(request))
        finisher_push(finisher, request);
}
