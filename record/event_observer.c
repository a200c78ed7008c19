/* SPDX-License-Identifier: MIT */
#include "event_observer.h"

#include <errno.h>

static int observed_next(void *context, struct optrail_event *events, size_t capacity)
{
    struct observed_feed *observed = context;
    const struct event_observer *observer = observed->observer;
    int got = observed->failure;

    if (got == 0)
        got = observed->from->next(observed->from->context, events, capacity);
    for (int i = 0; i < got && observer && observer->event; i++) {
        int result = observer->event(observer->context, &events[i]);
        if (result < 0)
            return result;
    }
    return got;
}

static uint64_t observed_lost(void *context, uint64_t *begin_ns, uint64_t *end_ns)
{
    struct observed_feed *observed = context;
    const struct event_observer *observer = observed->observer;
    uint64_t count = observed->from->lost(observed->from->context, begin_ns, end_ns);

    if (count > 0 && observer && observer->lost)
        observed->failure = observer->lost(observer->context, count, *begin_ns, *end_ns);
    return count;
}

void observed_feed_init(struct observed_feed *observed, struct event_feed *from,
                        const struct event_observer *observer)
{
    *observed = (struct observed_feed){.from = from, .observer = observer};
    observed->feed = (struct event_feed){.context = observed,
                                         .next = observed_next,
                                         .lost = from->lost ? observed_lost : NULL,
                                         .facts = from->facts};
}
