/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_LOCK_FEED_H
#define OPTRAIL_LOCK_FEED_H

#include "event_source.h"
#include "lock_capture.h"

/*
 * A feed of events with contended waits among them, each at its end: what is recorded. Everything
 * is held back for as long as waits are.
 */
struct event_order;

struct lock_feed {
    struct event_feed feed;       /* what is asked; ends with `inner` */
    struct event_feed *inner;     /* weak */
    struct lock_capture *capture; /* weak */
    struct optrail_event *events; /* owned; of `inner`, in order */
    size_t first, count, capacity;
    struct event_order *waits;        /* owned */
    struct optrail_event *next_waits; /* owned; taken out of `waits` */
    size_t next_wait, next_wait_count;
    uint64_t *defined_ns; /* owned; when each stack was told last */
    size_t defined_count;
    uint64_t polled_ns, ready_ns;
    bool ended;
};

/* `feed` must stay where it is. Finishes the capture when `inner` ends; both must outlive it.
 * -ENOMEM with the message. Freed by lock_feed_free, also then. */
int lock_feed_init(struct lock_feed *feed, struct event_feed *inner, struct lock_capture *capture);
void lock_feed_free(struct lock_feed *feed);

#endif
