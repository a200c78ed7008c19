/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_FLAME_WAITS_H
#define OPTRAIL_FLAME_WAITS_H

#include <stddef.h>
#include <stdint.h>

#include "event.h"
#include "lock_wait.h"

/*
 * Contended waits that are kept until it is known what op they were of: an op's type and how slow
 * it was are known at its end. Bounded; not thread-safe.
 */
#define FLAME_WAITS 65536u

struct flame_waits;

/* Takes a wait that is no part of an op, or for which there was no room to wait for its op's end
 * (`early`). */
typedef int flame_wait_callback(void *context, const struct lock_wait *wait, int early);

/* Owned by the caller. Negative errno with the message. */
int flame_waits_new(flame_wait_callback *callback, void *context, struct flame_waits **waits);
void flame_waits_free(struct flame_waits *waits); /* NULL is fine */

/* Takes lock.waited: `op` is that of its thread at that time, 0: none. */
int flame_waits_begin(struct flame_waits *waits, const struct optrail_event *event, uint64_t op);

/* lock.waited of a kind that is not wanted: nor is what else is told of it. */
int flame_waits_skip(struct flame_waits *waits, const struct optrail_event *event);

/* Takes a wait that is known whole, with its op (0: none). */
int flame_waits_add(struct flame_waits *waits, const struct lock_wait *wait);

/* Takes what else is told of the wait that the thread told last: lock.holder and so on. */
void flame_waits_more(struct flame_waits *waits, const struct optrail_event *event);

/* The waits of the op, which has ended: takes them out, in no order, one a call. 1; 0: no more. */
int flame_waits_of_op(struct flame_waits *waits, uint32_t pid, uint64_t op, struct lock_wait *wait);

/* Hands over what is left. */
int flame_waits_flush(struct flame_waits *waits);

/* How many events told more of a wait that was not there any more. */
uint64_t flame_waits_unpaired(const struct flame_waits *waits);

#endif
