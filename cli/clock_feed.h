/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_CLOCK_FEED_H
#define OPTRAIL_CLOCK_FEED_H

#include <stdbool.h>

#include "event_source.h"

/*
 * A feed without events, that ends when the time is over: for captures of a process that is not
 * probed.
 */
struct clock_feed {
    struct event_feed feed;
    const volatile int *stop;     /* weak; NULL: none */
    volatile int stopped;         /* set by whoever wants it to end */
    uint64_t end_ns;              /* 0: none */
    bool (*ended)(void *context); /* whether there is nothing left to look at */
    void *context;                /* weak */
};

/* `feed` must stay where it is. It ends `seconds` from now, 0: never; when *stop is set; or when
 * `ended` says so. */
void clock_feed_init(struct clock_feed *clock, double seconds, const volatile int *stop,
                     bool (*ended)(void *context), void *context);

#endif
