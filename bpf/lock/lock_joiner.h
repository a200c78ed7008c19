/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_LOCK_JOINER_H
#define OPTRAIL_LOCK_JOINER_H

#include "lock_capture.h"
#include "lock_process.h"
#include "lock_stacks.h"

/*
 * Records of futex calls into waits: several calls of one acquisition are joined, kinds told apart
 * by stacks where the call alone does not tell, owners named as user space does. A thread's last
 * wait is held back until its next one, or for a while, since it may go on.
 */
struct lock_joiner;

/* `stacks` and `counts` are weak: as long as it. NULL with the message for want of memory. */
struct lock_joiner *lock_joiner_create(const struct lock_stacks *stacks,
                                       struct lock_capture_counts *counts);
void lock_joiner_free(struct lock_joiner *waits); /* NULL is fine */

/* A record of the process. Negative errno with the message, or what the callback returned. */
int lock_joiner_add(struct lock_joiner *waits, struct watched_process *process,
                    const struct lock_record *record, uint64_t now, lock_wait_callback *callback,
                    void *context);

/* Hands on what has been held back for longer than `held_ns`. */
int lock_joiner_flush(struct lock_joiner *waits, uint64_t now, uint64_t held_ns,
                      lock_wait_callback *callback, void *context);

#endif
