/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_FLAME_SLOWEST_H
#define OPTRAIL_FLAME_SLOWEST_H

#include <stdbool.h>

#include "flame_ops.h"
#include "flame_timeline.h"
#include "lock_wait.h"

/* The slowest ops, kept whole, and how they become a timeline. Not thread-safe. */
struct flame_slowest;

/* Keeps so many. Owned by the caller. Negative errno with the message, as all here. */
int flame_slowest_new(size_t count, struct flame_slowest **slowest);
void flame_slowest_free(struct flame_slowest *slowest); /* NULL is fine */

/* Copies the op if it is slow enough: *kept. */
int flame_slowest_take(struct flame_slowest *slowest, const struct flame_op *op, bool *kept);

/* A wait of the op that was kept last, and what its lock is called. Of many waits the first 256. */
int flame_slowest_wait(struct flame_slowest *slowest, const struct lock_wait *wait,
                       const char *lock);

/* Writes them into the timeline: each op's stages on a track of its own, and on the threads what
 * they did for it, with arrows from thread to thread, and from waits to who held the lock. */
int flame_slowest_tell(const struct flame_slowest *slowest, struct flame_timeline *timeline);

#endif
