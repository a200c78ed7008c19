/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_STAGE_INTERVALS_H
#define OPTRAIL_STAGE_INTERVALS_H

#include <stddef.h>

#include "stage_rows.h"

/*
 * What came between two looks at growing sums. All that struct stage_sums holds are sums, so the
 * difference of two of its states is exactly what the ops between them would have given; only the
 * smallest and largest values are known no better than their histogram's buckets.
 */
struct stage_intervals;

/* NULL with the message: out of memory. Owned by the caller. */
struct stage_intervals *stage_intervals_new(void);
void stage_intervals_free(struct stage_intervals *intervals); /* NULL is fine */

/* Adds to the report a row for each type that had ops since the last call (the first time: since
 * the sums began), and counts these ops. Then remembers the sums as they are now. */
int stage_intervals_fill(struct stage_intervals *intervals, struct stage_sums *const *sums,
                         size_t count, struct report *report);

#endif
