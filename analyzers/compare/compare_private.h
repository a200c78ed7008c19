/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_COMPARE_PRIVATE_H
#define OPTRAIL_COMPARE_PRIVATE_H

#include "compare.h"

/* Stages, what is unattributed, and the op itself. */
#define TARGETS (PATH_MAX_STAGES + 2)

/* How far a run's values are from what longer watching would give: standard errors, by windows of
 * time drawn anew. Of the stages in the order of the path, unattributed, and the op itself. */
struct spread {
    bool known;
    double freedom; /* degrees: blocks of windows, less one */
    double errors[TARGETS][DIFF_STATISTICS];
    double values[TARGETS][DIFF_STATISTICS];    /* the run's own; percentiles within a bucket in
                                                   proportion, so that they do not jump */
    double fractions[TARGETS][DIFF_STATISTICS]; /* of the ops: at most the pool's percentile */
    double fraction_errors[TARGETS][DIFF_STATISTICS];
    double deviation[TARGETS]; /* of one op's time in it */
};

/* The ops of a type in all runs of both sides, by stage. */
struct pool {
    size_t count;
    const char *stages[TARGETS]; /* weak; "": the op itself */
    double buckets[TARGETS][WINDOW_BUCKETS];
};

/* Adds a run's ops; stages beyond TARGETS have no place. */
void pool_add(struct pool *pool, const struct windows *windows, const struct window_row *row);

/* The windows of the type; NULL: none. */
const struct window_row *windows_of(const struct windows *windows, const char *type);

/* How many windows of time the run has; 0: none, for nobody counted by them. */
size_t windows_count_of(const struct compare_run *run);

/* Fewer windows with ops than 16 tell nothing: then `known` is false. -ENOMEM with the message. */
int spread_of(const struct windows *windows, const struct window_row *row, const struct pool *pool,
              struct spread *spread);

/* "5%", "-200us", "1.5 ms": percent as a part of 1, times in ns. NULL, or what is wrong with it. */
const char *parse_amount(const char *text, double *amount, bool *percent);

/* What makes the sides hard to compare. */
int add_warnings(const struct compare_side *before, const struct compare_side *after,
                 struct report_diff *diff);

/* The plain sentences, and the cause. */
int add_words(struct diff_type *type);

#endif
