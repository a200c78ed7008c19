/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_LOCKS_OVERVIEW_H
#define OPTRAIL_LOCKS_OVERVIEW_H

#include <stdbool.h>
#include <stdio.h>

#include "report.h"

/* Whether a lock is worth more than a line: at least 1 % of all that is waited for, or a cause that
 * the verdict names. */
bool locks_matters(const struct report *report, const struct report_lock *lock);

/* A line a lock, those that matter or all; how many were left out. Nothing where there are none. */
void locks_overview(const struct report *report, bool all, FILE *out);

/* A kind of wait, for people: static or `kind` itself. */
const char *locks_kind_words(const char *kind);

#endif
