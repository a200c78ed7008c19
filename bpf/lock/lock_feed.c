/* SPDX-License-Identifier: MIT */
#include "lock_feed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock_ns.h"
#include "err.h"
#include "event_order.h"
#include "lock_events.h"

#define POLL_EVERY_NS 100000000ull
/* A wait comes this long after its end at the latest: it is held back, and looked for every so
 * often. */
#define BEHIND_NS 500000000ull
/* A stack's text is repeated no more often. */
#define DEFINE_EVERY_NS 2000000000ull
#define CHUNK           1024

/* True the first time, and again after a while: a flight recorder forgets. */
static bool is_to_define(struct lock_feed *feed, uint32_t stack, uint64_t time_ns)
{
    if (stack >= feed->defined_count) {
        size_t count = 2 * (size_t)stack + 1024;
        uint64_t *defined = realloc(feed->defined_ns, count * sizeof(*defined));
        if (!defined)
            return false; /* its text is missing then, no more */
        memset(defined + feed->defined_count, 0, (count - feed->defined_count) * sizeof(*defined));
        feed->defined_ns = defined;
        feed->defined_count = count;
    }
    uint64_t *defined_ns = &feed->defined_ns[stack];
    if (*defined_ns && time_ns < *defined_ns + DEFINE_EVERY_NS)
        return false;
    *defined_ns = time_ns;
    return true;
}

static int define_stack(struct lock_feed *feed, const struct lock_wait *wait, uint32_t stack)
{
    const char *text = lock_capture_stack(feed->capture, stack, NULL);
    if (!text || !is_to_define(feed, stack, wait->end_ns))
        return 0;
    struct optrail_event event = lock_stack_event(wait, stack, text);
    return event_order_add(feed->waits, &event);
}

static int take_wait(void *context, const struct lock_wait *wait)
{
    struct lock_feed *feed = context;
    struct optrail_event events[LOCK_WAIT_EVENTS];
    size_t count = lock_wait_events(wait, events);
    int error = define_stack(feed, wait, wait->stack);
    if (!error)
        error = define_stack(feed, wait, wait->holder_stack);
    for (size_t i = 0; i < count && !error; i++)
        error = event_order_add(feed->waits, &events[i]);
    return error;
}

/* Room for another chunk of the inner feed's events. */
static int make_room(struct lock_feed *feed)
{
    if (feed->first + feed->count + CHUNK <= feed->capacity)
        return 0;
    if (feed->first) {
        memmove(feed->events, feed->events + feed->first, feed->count * sizeof(*feed->events));
        feed->first = 0;
    }
    if (2 * (feed->count + CHUNK) <= feed->capacity)
        return 0;
    size_t capacity = 2 * feed->capacity + CHUNK;
    struct optrail_event *events = realloc(feed->events, capacity * sizeof(*events));
    if (!events)
        return err_no_memory();
    feed->events = events;
    feed->capacity = capacity;
    return 0;
}

/* Asks the inner feed and, every so often, the capture. */
static int fill(struct lock_feed *feed)
{
    int error = make_room(feed);
    if (error)
        return error;
    int got =
        feed->inner->next(feed->inner->context, feed->events + feed->first + feed->count, CHUNK);
    if (got < 0 && got != -EAGAIN)
        return got;
    if (got > 0)
        feed->count += (size_t)got;
    feed->ended = got == 0;
    uint64_t now = monotonic_ns();
    int waits = 0;
    if (feed->ended) {
        waits = lock_capture_finish(feed->capture, take_wait, feed);
        feed->ready_ns = UINT64_MAX;
    } else if (now - feed->polled_ns >= POLL_EVERY_NS) {
        feed->polled_ns = now;
        waits = lock_capture_poll(feed->capture, take_wait, feed);
        feed->ready_ns = now - BEHIND_NS;
    }
    if (waits < 0)
        return waits;
    event_order_release(feed->waits, feed->ready_ns);
    return 0;
}

static const struct optrail_event *peek_wait(struct lock_feed *feed)
{
    if (feed->next_wait == feed->next_wait_count) {
        feed->next_wait = 0;
        feed->next_wait_count = event_order_take(feed->waits, feed->next_waits, CHUNK);
    }
    return feed->next_wait < feed->next_wait_count ? &feed->next_waits[feed->next_wait] : NULL;
}

/* What is ready, both in one order. */
static size_t merge(struct lock_feed *feed, struct optrail_event *events, size_t capacity)
{
    size_t count = 0;
    while (count < capacity) {
        const struct optrail_event *event =
            feed->count && feed->events[feed->first].time_ns <= feed->ready_ns
                ? &feed->events[feed->first]
                : NULL;
        const struct optrail_event *wait = peek_wait(feed);
        if (!event && !wait)
            break;
        if (wait && (!event || wait->time_ns < event->time_ns)) {
            events[count++] = *wait;
            feed->next_wait++;
        } else {
            events[count++] = *event;
            feed->first++;
            feed->count--;
        }
    }
    return count;
}

static int next(void *context, struct optrail_event *events, size_t capacity)
{
    struct lock_feed *feed = context;
    size_t count = merge(feed, events, capacity);
    if (count == 0 && !feed->ended) {
        int error = fill(feed);
        if (error < 0)
            return error;
        count = merge(feed, events, capacity);
    }
    if (count)
        return (int)count;
    return feed->ended ? 0 : -EAGAIN;
}

/* Events that the inner feed lost: waits that were lost are the capture's to tell, and no op is the
 * worse for them. */
static uint64_t lost(void *context, uint64_t *begin_ns, uint64_t *end_ns)
{
    struct lock_feed *feed = context;
    return feed->inner->lost ? feed->inner->lost(feed->inner->context, begin_ns, end_ns) : 0;
}

int lock_feed_init(struct lock_feed *feed, struct event_feed *inner, struct lock_capture *capture)
{
    *feed = (struct lock_feed){.inner = inner, .capture = capture};
    feed->feed =
        (struct event_feed){.context = feed, .next = next, .lost = lost, .facts = inner->facts};
    feed->waits = calloc(1, sizeof(*feed->waits));
    feed->next_waits = calloc(CHUNK, sizeof(*feed->next_waits));
    return feed->waits && feed->next_waits ? 0 : err_no_memory();
}

void lock_feed_free(struct lock_feed *feed)
{
    if (feed->waits)
        event_order_free(feed->waits);
    free(feed->waits);
    free(feed->next_waits);
    free(feed->events);
    free(feed->defined_ns);
    *feed = (struct lock_feed){0};
}
