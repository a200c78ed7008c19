/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_LOCK_WAITS_H
#define OPTRAIL_LOCK_WAITS_H

#include "event.h"
#include "lock_wait.h"

/* Puts what an event tells of a captured wait (lock.waited, lock.holder, lock.meanwhile,
 * lock.chain: events.def says how it is packed) into the record. lock.waited comes first. */
void lock_wait_take(struct lock_wait *wait, const struct optrail_event *event);

#endif
