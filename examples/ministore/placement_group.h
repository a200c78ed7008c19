/* SPDX-License-Identifier: MIT */
#ifndef MINISTORE_PLACEMENT_GROUP_H
#define MINISTORE_PLACEMENT_GROUP_H

#include <pthread.h>
#include <stdint.h>

#include "named_lock.h"
#include "object_hash.h"
#include "request.h"
#include "wait_queue.h"

/*
 * Objects are spread over placement groups by a hash of their number. One op of a group is worked
 * on at a time, under the group's lock; the commit callback takes it too.
 */
struct placement_group {
    uint32_t number;
    struct named_lock lock;
    uint64_t committed; /* writes answered, under the lock */

    /* Journaled writes of this group, applied one after the other in journal order. */
    struct named_lock order_lock;
    pthread_cond_t applied;
    struct request *unapplied;   /* submitted and not yet applied, by next_unapplied */
    struct node_list apply_list; /* those that an apply thread can take */
    bool apply_queued;           /* the group is in the apply queue, or at an apply thread */
    struct queue_node apply_node;
};

struct placement_groups {
    uint32_t count;
    struct placement_group *group; /* owned */
};

/* 0, or -1 after a message. */
int placement_groups_init(struct placement_groups *groups, uint32_t count);
void placement_groups_destroy(struct placement_groups *groups);

struct placement_group *placement_group_of(const struct placement_groups *groups, uint64_t object);

#endif
