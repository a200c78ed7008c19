/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_EVENT_OBSERVER_H
#define OPTRAIL_EVENT_OBSERVER_H

#include "event_source.h"

/* Who sees the events while they are recorded. Any callback may be NULL. A negative errno ends the
 * recording with the message that was set. */
struct event_observer {
    void *context; /* weak */
    int (*event)(void *context, const struct optrail_event *event);
    int (*lost)(void *context, uint64_t count, uint64_t begin_ns, uint64_t end_ns);
};

/* A feed that shows its events to an observer on their way. */
struct observed_feed {
    struct event_feed feed;                /* what is read in the place of `from` */
    struct event_feed *from;               /* weak */
    const struct event_observer *observer; /* weak */
    int failure;                           /* of the observer, told by the next call of next */
};

/* Fills it in; `observed` must stay where it is. `observer` may be NULL. */
void observed_feed_init(struct observed_feed *observed, struct event_feed *from,
                        const struct event_observer *observer);

#endif
