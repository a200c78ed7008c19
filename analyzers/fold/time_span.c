/* SPDX-License-Identifier: MIT */
#include "time_span.h"

/* Two windows become one. */
static void halve(struct time_span *span, size_t count, time_span_join *join, void *owner)
{
    uint64_t odd = span->base % 2;
    for (size_t from = 0; from < count; from++) {
        size_t to = (size_t)((from + odd) / 2);
        if (to != from)
            join(owner, to, from);
    }
    span->base /= 2;
    span->shift++;
}

void time_span_cover(struct time_span *span, size_t count, uint64_t begin_ns, uint64_t end_ns,
                     uint32_t shift, time_span_join *join, void *owner)
{
    if (!span->any)
        *span = (struct time_span){true, shift, begin_ns, end_ns, begin_ns >> shift};
    if (begin_ns < span->first_ns)
        span->first_ns = begin_ns;
    if (end_ns > span->last_ns)
        span->last_ns = end_ns;
    while (span->shift < shift ||
           (span->last_ns >> span->shift) - (span->first_ns >> span->shift) >= count)
        halve(span, count, join, owner);
    uint64_t base = span->first_ns >> span->shift;
    if (base >= span->base)
        return;
    size_t by = (size_t)(span->base - base);
    /* what is moved out at the end is empty */
    for (size_t to = count; to-- > by;)
        join(owner, to, to - by);
    span->base = base;
}
