/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_LOCK_EVENTS_H
#define OPTRAIL_LOCK_EVENTS_H

#include <stddef.h>

#include "event.h"
#include "lock_wait.h"

/* A wait as the events lock.waited, lock.holder, lock.counted, lock.meanwhile and lock.chain, those
 * that tell something: all at the wait's end, from its thread. events.def says how they are packed.
 * Its op and points are left out: who reads a trace finds them by the thread. Returns how many. */
#define LOCK_WAIT_EVENTS 5
size_t lock_wait_events(const struct lock_wait *wait, struct optrail_event *events);

/* The event that defines a stack; the text is weak. */
struct optrail_event lock_stack_event(const struct lock_wait *wait, uint32_t stack,
                                      const char *frames);

/* Puts what an event tells of a wait back into the record; lock.waited comes first, and begins a
 * new one. Events that tell nothing of a wait change nothing. */
void lock_wait_from_event(struct lock_wait *wait, const struct optrail_event *event);

#endif
