/* SPDX-License-Identifier: MIT */
#include "lock_feed.h"

#include "lock_events.h"

static int define_stack(struct lock_feed *feed, const struct lock_wait *wait, uint32_t stack)
{
    const char *text = lock_capture_stack(feed->capture, stack, NULL);
    if (!text || !told_texts_due(&feed->defined, stack, wait->end_ns))
        return 0;
    struct optrail_event event = lock_stack_event(wait, stack, text);
    return merged_feed_add(feed->merged, &event);
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
        error = merged_feed_add(feed->merged, &events[i]);
    return error;
}

static int poll(void *context, struct merged_feed *merged)
{
    struct lock_feed *feed = context;
    (void)merged;
    return lock_capture_poll(feed->capture, take_wait, feed);
}

static int finish(void *context, struct merged_feed *merged)
{
    struct lock_feed *feed = context;
    (void)merged;
    return lock_capture_finish(feed->capture, take_wait, feed);
}

void lock_feed_join(struct lock_feed *feed, struct merged_feed *merged,
                    struct lock_capture *capture)
{
    const struct merged_source source = {.context = feed, .poll = poll, .finish = finish};
    *feed = (struct lock_feed){.merged = merged, .capture = capture};
    merged_feed_source(merged, &source);
}

void lock_feed_free(struct lock_feed *feed)
{
    told_texts_free(&feed->defined);
    *feed = (struct lock_feed){0};
}
