/* SPDX-License-Identifier: MIT */
#include <assert.h>

#include "merged_feed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock_ns.h"
#include "err.h"
#include "event_order.h"

#define POLL_EVERY_NS 50000000ull
/* What captures tell comes this long after its end at the latest. */
#define BEHIND_NS 500000000ull
/* A text is repeated no more often. */
#define TELL_EVERY_NS 2000000000ull
#define CHUNK         1024

bool told_texts_due(struct told_texts *texts, uint32_t number, uint64_t time_ns)
{
    if (number >= texts->count) {
        size_t count = 2 * (size_t)number + 1024;
        uint64_t *told = realloc(texts->told_ns, count * sizeof(*told));
        if (!told)
            return false; /* its text is missing then, no more */
        memset(told + texts->count, 0, (count - texts->count) * sizeof(*told));
        texts->told_ns = told;
        texts->count = count;
    }
    uint64_t *told_ns = &texts->told_ns[number];
    if (*told_ns && time_ns < *told_ns + TELL_EVERY_NS)
        return false;
    *told_ns = time_ns;
    return true;
}

void told_texts_free(struct told_texts *texts)
{
    free(texts->told_ns);
    *texts = (struct told_texts){0};
}

int merged_feed_add(struct merged_feed *feed, const struct optrail_event *event)
{
    return event_order_add(feed->added, event);
}

void merged_feed_source(struct merged_feed *feed, const struct merged_source *source)
{
    assert(feed->source_count < MERGED_SOURCES);
    feed->sources[feed->source_count++] = *source;
}

/* Room for another chunk of the inner feed's events. */
static int make_room(struct merged_feed *feed)
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

/* Asks the captures, every so often and at the end. */
static int ask_sources(struct merged_feed *feed, uint64_t now)
{
    int error = 0;
    if (!feed->ended && now - feed->polled_ns < POLL_EVERY_NS)
        return 0;
    for (size_t i = 0; error >= 0 && i < feed->source_count; i++) {
        const struct merged_source *source = &feed->sources[i];
        error = feed->ended ? source->finish(source->context, feed)
                            : source->poll(source->context, feed);
    }
    feed->polled_ns = now;
    feed->polled_until_ns = feed->ended ? UINT64_MAX : now - BEHIND_NS;
    return error;
}

/* Asks the inner feed and the captures. While the inner feed has something it may be far behind: it
 * is asked for so many events at once. When it has nothing it has told all but the last
 * milliseconds. */
static int fill(struct merged_feed *feed)
{
    uint64_t now = monotonic_ns();
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
    uint64_t told_ns = feed->ended ? UINT64_MAX
                       : got > 0   ? feed->events[feed->first + feed->count - 1].time_ns
                                   : now - BEHIND_NS;
    error = ask_sources(feed, monotonic_ns());
    feed->ready_ns = told_ns < feed->polled_until_ns ? told_ns : feed->polled_until_ns;
    event_order_release(feed->added, feed->ready_ns);
    return error;
}

static const struct optrail_event *peek_added(struct merged_feed *feed)
{
    if (feed->taken_first == feed->taken_count) {
        feed->taken_first = 0;
        feed->taken_count = event_order_take(feed->added, feed->taken, CHUNK);
    }
    return feed->taken_first < feed->taken_count ? &feed->taken[feed->taken_first] : NULL;
}

/* What comes behind something later is moved up, and counted. */
static void keep_order(struct merged_feed *feed, struct optrail_event *event)
{
    if (event->time_ns < feed->last_ns) {
        event->time_ns = feed->last_ns;
        event->flags |= EVENT_FLAG_LATE;
        feed->moved++;
    }
    feed->last_ns = event->time_ns;
}

/* What is ready, both in one order. */
static size_t merge(struct merged_feed *feed, struct optrail_event *events, size_t capacity)
{
    size_t count = 0;
    while (count < capacity) {
        const struct optrail_event *event =
            feed->count && feed->events[feed->first].time_ns <= feed->ready_ns
                ? &feed->events[feed->first]
                : NULL;
        const struct optrail_event *added = peek_added(feed);
        if (!event && !added)
            break;
        if (added && (!event || added->time_ns < event->time_ns)) {
            events[count++] = *added;
            feed->taken_first++;
        } else {
            events[count++] = *event;
            feed->first++;
            feed->count--;
        }
        keep_order(feed, &events[count - 1]);
    }
    return count;
}

uint64_t merged_feed_moved(const struct merged_feed *feed)
{
    return feed->moved + (feed->added ? feed->added->late : 0);
}

static int next(void *context, struct optrail_event *events, size_t capacity)
{
    struct merged_feed *feed = context;
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

/* Events that the inner feed lost: what a capture lost is its own to tell, and no op is the worse
 * for it. */
static uint64_t lost(void *context, uint64_t *begin_ns, uint64_t *end_ns)
{
    struct merged_feed *feed = context;
    return feed->inner->lost ? feed->inner->lost(feed->inner->context, begin_ns, end_ns) : 0;
}

int merged_feed_init(struct merged_feed *feed, struct event_feed *inner)
{
    *feed = (struct merged_feed){.inner = inner};
    feed->feed =
        (struct event_feed){.context = feed, .next = next, .lost = lost, .facts = inner->facts};
    feed->added = calloc(1, sizeof(*feed->added));
    feed->taken = calloc(CHUNK, sizeof(*feed->taken));
    return feed->added && feed->taken ? 0 : err_no_memory();
}

void merged_feed_free(struct merged_feed *feed)
{
    if (feed->added)
        event_order_free(feed->added);
    free(feed->added);
    free(feed->taken);
    free(feed->events);
    *feed = (struct merged_feed){0};
}
