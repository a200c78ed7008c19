/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_CLOCK_NS_H
#define OPTRAIL_CLOCK_NS_H

#include <stdint.h>
#include <time.h>

/* What a clock shows, in ns. Any thread, also in a signal handler. */
static inline uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The clock of all events. */
static inline uint64_t monotonic_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

#endif
