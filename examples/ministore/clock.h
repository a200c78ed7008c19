/* SPDX-License-Identifier: MIT */
#ifndef MINISTORE_CLOCK_H
#define MINISTORE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_SECOND 1000000000ull

/* Now, in ns of CLOCK_MONOTONIC. */
static inline uint64_t clock_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

/* A point in time (ns of CLOCK_MONOTONIC) as the wait functions want it. */
static inline struct timespec clock_timespec(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_SECOND),
                             .tv_nsec = (long)(ns % NS_PER_SECOND)};
}

#endif
