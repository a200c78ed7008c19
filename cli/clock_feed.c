/* SPDX-License-Identifier: MIT */
#include "clock_feed.h"

#include <errno.h>
#include <time.h>

#include "clock_ns.h"

#define ASK_EVERY_NS 50000000

static int pass_time(void *context, struct optrail_event *events, size_t capacity)
{
    struct clock_feed *clock = context;
    const struct timespec pause = {.tv_nsec = ASK_EVERY_NS};
    (void)events;
    (void)capacity;
    if ((clock->stop && *clock->stop) || clock->stopped ||
        (clock->end_ns && monotonic_ns() >= clock->end_ns) || clock->ended(clock->context))
        return 0;
    nanosleep(&pause, NULL);
    return -EAGAIN;
}

void clock_feed_init(struct clock_feed *clock, double seconds, const volatile int *stop,
                     bool (*ended)(void *context), void *context)
{
    *clock = (struct clock_feed){
        .feed = {.context = clock, .next = pass_time},
        .stop = stop,
        .end_ns = seconds > 0 ? monotonic_ns() + (uint64_t)(seconds * 1e9) : 0,
        .ended = ended,
        .context = context,
    };
}
