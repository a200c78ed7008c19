/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_SCREEN_HISTORY_H
#define OPTRAIL_SCREEN_HISTORY_H

#include <stddef.h>

#include "report.h"

/* What each stage took of an op, in each of the last intervals: for trends. */
#define SCREEN_HISTORY_LENGTH 60

struct screen_history;

/* Owned by the caller. -ENOMEM with the message. */
int screen_history_new(struct screen_history **history);
void screen_history_free(struct screen_history *history); /* NULL is fine */

/* Adds the report of an interval. -ENOMEM with the message. */
int screen_history_add(struct screen_history *history, const struct report *interval);

/* The last SCREEN_HISTORY_LENGTH intervals put into `count` values, the newest last: the mean time
 * of an op in that stage (`stage` NULL: its latency) in ns, negative where there were no ops. */
void screen_history_values(const struct screen_history *history, const char *type,
                           const char *stage, double *values, size_t count);

#endif
