/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_EVENT_RELAY_H
#define OPTRAIL_EVENT_RELAY_H

#include "reader.h"

/*
 * Stands between the reader and a consumer, and calls the consumer from a thread of its own, so
 * that reading and folding a trace overlap: babeltrace2 takes the larger part of the time. Events
 * go over in batches, through a ring of a few; when it is full the reader waits. The consumer sees
 * the same calls in the same order as without, only later.
 *
 * For recorded traces: what waits in a batch that is not full yet is handed over at the end only.
 * On a machine with one CPU, and for fewer events than a batch has, there is no thread.
 */
struct event_relay;

/* `to` is weak; its watch is kept. Owned by the caller. -ENOMEM with the message. */
int event_relay_new(const struct event_consumer *to, struct event_relay **relay);

/* For the reader. When the consumer has failed, the next event's callback does, with its message.
 * Weak. */
const struct event_consumer *event_relay_consumer(const struct event_relay *relay);

/* Once, after the reading, however it ended: hands over what is left, waits until the consumer has
 * it all, and ends the thread. From then on the consumer's state is the caller's. 0, or what the
 * consumer failed with, with its message. */
int event_relay_end(struct event_relay *relay);

void event_relay_free(struct event_relay *relay); /* after event_relay_end(). NULL is fine */

#endif
