/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TAIL_REPORT_H
#define OPTRAIL_TAIL_REPORT_H

#include "report.h"
#include "tail_sums.h"
#include "tail_values.h"

/* Adds what is to be said of the slowest ops of a type: nothing when there are too few ops, or when
 * no few are slower than the rest. `type`: the fold's number of it, as in the rows. */
int tail_report(const struct tail_sums *sums, uint32_t type, const struct tail_values *values,
                struct report *report);

/* Adds the two populations of the ops, if there are two (populations.c). */
int population_report(const struct tail_sums *sums, struct report *report);

#endif
