/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TIME_SPAN_H
#define OPTRAIL_TIME_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A run's time in a fixed number of windows, however long the run is. All windows are of one
 * length, a power of two of ns, and begin at multiples of it; when the time grows too long for
 * them, each two become one. So those of several traces on one clock add up.
 *
 * What is gathered for a window is the owner's affair.
 */
struct time_span {
    bool any;       /* something was seen: what follows counts */
    uint32_t shift; /* a window is 1 << shift ns long */
    uint64_t first_ns, last_ns;
    uint64_t base; /* the number of the first window, from time 0 on */
};

/* Adds window `from` of the owner to window `to` and leaves it empty; they differ. */
typedef void time_span_join(void *owner, size_t to, size_t from);

/* Makes room for the time from `begin_ns` to `end_ns` (not before it), in `count` windows of at
 * least 1 << shift ns; `shift` is below 64. Two windows become one, and windows move up when the
 * time begins before all that was seen, by calls of `join`. */
void time_span_cover(struct time_span *span, size_t count, uint64_t begin_ns, uint64_t end_ns,
                     uint32_t shift, time_span_join *join, void *owner);

/* The window of a time that is covered. */
static inline size_t time_span_window(const struct time_span *span, uint64_t time_ns)
{
    return (size_t)((time_ns >> span->shift) - span->base);
}

/* How many windows there are up to the last time seen. */
static inline size_t time_span_windows(const struct time_span *span)
{
    return span->any ? time_span_window(span, span->last_ns) + 1 : 0;
}

#endif
