/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_EVENT_RING_H
#define OPTRAIL_EVENT_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event_source.h"

/* So many losses are remembered one by one; those before them become one. */
#define EVENT_RING_LOSSES 64

struct event_loss {
    uint64_t count, begin_ns, end_ns;
};

/* The newest events in memory of a fixed size, and the losses among them. Not thread-safe. */
struct event_ring {
    struct optrail_event *events; /* owned */
    size_t capacity;
    size_t text_bytes, text_limit; /* what copies of texts take, and may take */
    uint64_t added;                /* events, ever */
    uint64_t taken;                /* those before it were handed out, and are not again */
    size_t loss_count;
    struct event_loss losses[EVENT_RING_LOSSES];
};

/* Room for `bytes` of events, at least for one. */
int event_ring_init(struct event_ring *ring, size_t bytes);
void event_ring_free(struct event_ring *ring);

/* Adds one; the oldest makes room for it. A text is copied; it becomes empty when there is no room
 * for it: texts may take an eighth of the ring's bytes beside it. */
void event_ring_add(struct event_ring *ring, const struct optrail_event *event);
void event_ring_add_loss(struct event_ring *ring, const struct event_loss *loss);

/* What is in the ring as a feed: events that are no older than `window_ns` before the newest one,
 * each once over all cursors. */
struct event_ring_cursor {
    struct event_feed feed;
    struct event_ring *ring; /* weak */
    uint64_t next;           /* of `added` */
    uint64_t count;          /* events that it began with */
    bool shortened;          /* the ring was too small for the window */
};

/* `cursor` must stay where it is; nothing is added to the ring while it is read. */
void event_ring_read(struct event_ring *ring, uint64_t window_ns, struct event_ring_cursor *cursor);

#endif
