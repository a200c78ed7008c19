/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_FLOW_LEVELS_H
#define OPTRAIL_FLOW_LEVELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "time_span.h"

/*
 * How many ops were under way, on average over each of up to 1,024 windows of time. The sums of two
 * traces add up to exactly those of both traces in one, which the numbers of ops at each instant
 * would not. Not thread-safe.
 */
#define FLOW_LEVELS          1024
#define FLOW_LEVEL_PROCESSES 4096 /* of those beyond no level is counted */

struct flow_process {
    uint32_t pid; /* 0: the row is free */
    uint32_t level;
    uint64_t since_ns; /* 0: nothing was seen of it yet */
};

struct flow_levels {
    struct time_span span;          /* from the earliest time seen to the latest */
    uint64_t sums[FLOW_LEVELS];     /* ops times ns */
    struct flow_process *processes; /* owned; open addressing; NULL until the first one */
    size_t process_count;
};

void flow_levels_free(struct flow_levels *levels);

/* An op of the process begins, or is answered. An end without a beginning is of an op that began
 * before the trace. */
void flow_levels_event(struct flow_levels *levels, uint32_t pid, bool begins, uint64_t now_ns);

/* Makes room for the time from `begin_ns` to `end_ns` in windows of at least this length. */
void flow_levels_cover(struct flow_levels *levels, uint64_t begin_ns, uint64_t end_ns,
                       uint32_t shift);

/* The average over a window that was not exceeded in this part of the windows; 0: nothing was seen,
 * or there is no memory. */
double flow_levels_quantile(const struct flow_levels *levels, double quantile);

/* The average over the windows but for the first and the last eighth of them; 0: nothing was seen.
 */
double flow_levels_middle(const struct flow_levels *levels);

#endif
