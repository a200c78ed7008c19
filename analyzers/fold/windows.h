/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_WINDOWS_H
#define OPTRAIL_WINDOWS_H

#include "fold.h"
#include "time_span.h"

/*
 * The ops of each type in up to 128 windows of time: how many finished in it, how long they took
 * and what they spent in each stage. For telling chance from change (analyzers/compare):
 * neighbouring ops resemble each other, so it is windows that are drawn anew, not ops.
 */
#define WINDOWS            128
#define WINDOW_BUCKET_BITS 4 /* 16 buckets an octave */
#define WINDOW_BUCKETS     ((44 - WINDOW_BUCKET_BITS + 1) << WINDOW_BUCKET_BITS)

/* Durations in one window, of an op type or of one of its stages. */
struct window_cell {
    uint64_t count;
    uint64_t sum;      /* ns */
    uint32_t *buckets; /* owned; WINDOW_BUCKETS; NULL when there are none */
};

struct window_row {          /* all of one type */
    char *type;              /* owned */
    const struct path *path; /* weak; NULL: no path */
    size_t stage_count;
    /* owned; of window w: cells[w * (stage_count + 2)], the stages in their order; behind them what
     * is unattributed, without buckets; the last: the ops themselves */
    struct window_cell *cells;
};

struct windows {
    struct time_span span; /* from the first op's end to the last one's */
    size_t row_count;
    struct window_row *rows; /* owned */
};

/* Least value of a bucket, ns. */
uint64_t window_bucket_low(uint32_t bucket);

/* How many windows there are between the first op and the last. */
size_t windows_count(const struct windows *windows);

/* The cell of a window, from 0; `stage`: 0 to stage_count, as above. */
const struct window_cell *windows_cell(const struct window_row *row, size_t window, size_t stage);

/* The state of fold_windows is a struct windows, or NULL when options->windows is not set. */

#endif
