/* SPDX-License-Identifier: MIT */
#include "event_ring.h"

#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "points.h"

#define TEXT_SHARE 8

int event_ring_init(struct event_ring *ring, size_t bytes)
{
    *ring = (struct event_ring){.capacity = bytes / sizeof(*ring->events),
                                .text_limit = bytes / TEXT_SHARE};
    if (ring->capacity == 0)
        ring->capacity = 1;
    /* large: it comes from mmap, and its pages are taken only when events need them */
    ring->events = calloc(ring->capacity, sizeof(*ring->events));
    return ring->events ? 0 : err_no_memory();
}

static bool has_text(const struct optrail_event *event)
{
    return point_rows[event->point].role == ROLE_TEXT && event->arg0;
}

static void drop_text(struct event_ring *ring, struct optrail_event *event)
{
    char *text = (char *)(uintptr_t)event->arg0;

    if (!has_text(event))
        return;
    ring->text_bytes -= strlen(text) + 1;
    free(text);
    event->arg0 = 0;
}

static void keep_text(struct event_ring *ring, struct optrail_event *event)
{
    const char *text = (const char *)(uintptr_t)event->arg0;
    char *copy = NULL;

    if (!has_text(event))
        return;
    if (strlen(text) < ring->text_limit - ring->text_bytes)
        copy = strdup(text);
    event->arg0 = (uintptr_t)copy;
    if (copy)
        ring->text_bytes += strlen(copy) + 1;
}

void event_ring_free(struct event_ring *ring)
{
    for (size_t i = 0; ring->events && i < ring->capacity && i < ring->added; i++)
        drop_text(ring, &ring->events[i]);
    free(ring->events);
    ring->events = NULL;
}

void event_ring_add(struct event_ring *ring, const struct optrail_event *event)
{
    struct optrail_event *place = &ring->events[ring->added++ % ring->capacity];

    drop_text(ring, place);
    *place = *event;
    keep_text(ring, place);
}

void event_ring_add_loss(struct event_ring *ring, const struct event_loss *loss)
{
    if (ring->loss_count == EVENT_RING_LOSSES) {
        /* the two oldest become one */
        struct event_loss *losses = ring->losses;
        losses[1].count += losses[0].count;
        if (losses[0].begin_ns < losses[1].begin_ns)
            losses[1].begin_ns = losses[0].begin_ns;
        if (losses[0].end_ns > losses[1].end_ns)
            losses[1].end_ns = losses[0].end_ns;
        for (size_t i = 1; i < ring->loss_count; i++)
            losses[i - 1] = losses[i];
        ring->loss_count--;
    }
    ring->losses[ring->loss_count++] = *loss;
}

static int cursor_next(void *context, struct optrail_event *events, size_t capacity)
{
    struct event_ring_cursor *cursor = context;
    const struct event_ring *ring = cursor->ring;
    size_t count = 0;

    for (; count < capacity && cursor->next < ring->added; count++)
        events[count] = ring->events[cursor->next++ % ring->capacity];
    return (int)count;
}

/* One loss a call, when its time has come; at the end all that are left as one. */
static uint64_t cursor_lost(void *context, uint64_t *begin_ns, uint64_t *end_ns)
{
    struct event_ring_cursor *cursor = context;
    struct event_ring *ring = cursor->ring;
    bool ended = cursor->next == ring->added;
    uint64_t count = 0;
    size_t used = 0;

    for (; used < ring->loss_count; used++) {
        const struct event_loss *loss = &ring->losses[used];
        uint64_t now =
            cursor->next == 0 ? 0 : ring->events[(cursor->next - 1) % ring->capacity].time_ns;
        if (!ended && (count > 0 || loss->begin_ns > now))
            break;
        if (count == 0 || loss->begin_ns < *begin_ns)
            *begin_ns = loss->begin_ns;
        if (count == 0 || loss->end_ns > *end_ns)
            *end_ns = loss->end_ns;
        count += loss->count;
    }
    ring->loss_count -= used;
    for (size_t i = 0; i < ring->loss_count; i++)
        ring->losses[i] = ring->losses[i + used];
    return count;
}

/* The losses that lie before the first event are none of this reading. */
static void drop_old_losses(struct event_ring *ring, uint64_t before_ns)
{
    size_t kept = 0;

    for (size_t i = 0; i < ring->loss_count; i++)
        if (ring->losses[i].end_ns >= before_ns)
            ring->losses[kept++] = ring->losses[i];
    ring->loss_count = kept;
}

void event_ring_read(struct event_ring *ring, uint64_t window_ns, struct event_ring_cursor *cursor)
{
    uint64_t oldest = ring->added > ring->capacity ? ring->added - ring->capacity : 0;
    uint64_t first = oldest > ring->taken ? oldest : ring->taken;
    uint64_t since = 0;

    *cursor = (struct event_ring_cursor){.ring = ring};
    if (ring->added > first) {
        uint64_t newest = ring->events[(ring->added - 1) % ring->capacity].time_ns;
        since = newest > window_ns ? newest - window_ns : 0;
        cursor->shortened =
            oldest > ring->taken && ring->events[first % ring->capacity].time_ns > since;
    }
    while (first < ring->added && ring->events[first % ring->capacity].time_ns < since)
        first++;
    drop_old_losses(ring, since);
    cursor->next = first;
    cursor->count = ring->added - first;
    cursor->feed = (struct event_feed){.context = cursor, .next = cursor_next, .lost = cursor_lost};
    ring->taken = ring->added;
}
