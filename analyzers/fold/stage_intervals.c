/* SPDX-License-Identifier: MIT */
#include "stage_intervals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"

/* The sums of one type, as they were and as they differ. */
struct interval {
    struct stage_sums *before, *difference; /* owned */
};

struct stage_intervals {
    size_t count;
    struct interval *rows;
};

struct stage_intervals *stage_intervals_new(void)
{
    struct stage_intervals *intervals = calloc(1, sizeof(*intervals));
    if (!intervals)
        err_no_memory();
    return intervals;
}

void stage_intervals_free(struct stage_intervals *intervals)
{
    if (!intervals)
        return;
    for (size_t i = 0; i < intervals->count; i++) {
        stage_sums_free(intervals->rows[i].before);
        stage_sums_free(intervals->rows[i].difference);
    }
    free(intervals->rows);
    free(intervals);
}

static struct interval *interval_of(struct stage_intervals *intervals,
                                    const struct stage_sums *sums)
{
    for (size_t i = 0; i < intervals->count; i++) {
        const struct stage_sums *before = intervals->rows[i].before;
        if (before->path == sums->path && strcmp(before->type, sums->type) == 0)
            return &intervals->rows[i];
    }
    struct interval *rows =
        realloc(intervals->rows, (intervals->count + 1) * sizeof(*intervals->rows));
    if (!rows) {
        err_no_memory();
        return NULL;
    }
    intervals->rows = rows;
    struct interval row = {stage_sums_new(sums->type, sums->path),
                           stage_sums_new(sums->type, sums->path)};
    if (!row.before || !row.difference) {
        stage_sums_free(row.before);
        stage_sums_free(row.difference);
        return NULL;
    }
    rows[intervals->count] = row;
    return &rows[intervals->count++];
}

/* A bucket's row of stage sums, made when it is missing. */
static uint64_t *row_of(struct stage_sums *sums, size_t bucket)
{
    if (!sums->buckets[bucket])
        sums->buckets[bucket] = calloc(sums->stage_count + 1, sizeof(uint64_t));
    if (!sums->buckets[bucket])
        err_no_memory();
    return sums->buckets[bucket];
}

static void subtract_histograms(struct stage_sums *difference, const struct stage_sums *now,
                                const struct stage_sums *before)
{
    difference->latency = now->latency;
    histogram_subtract(&difference->latency, &before->latency);
    for (size_t i = 0; i < now->stage_count; i++) {
        difference->stages[i] = now->stages[i];
        histogram_subtract(&difference->stages[i], &before->stages[i]);
        difference->beside_ns[i] = now->beside_ns[i] - before->beside_ns[i];
    }
}

static int subtract(struct stage_sums *difference, const struct stage_sums *now,
                    const struct stage_sums *before)
{
    subtract_histograms(difference, now, before);
    difference->unattributed_ns = now->unattributed_ns - before->unattributed_ns;
    difference->failed = now->failed - before->failed;
    difference->broken = now->broken - before->broken;
    difference->bytes = now->bytes - before->bytes;
    for (size_t i = 0; i <= now->stage_count; i++)
        difference->largest[i] = now->largest[i] - before->largest[i];
    for (size_t bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
        const uint64_t *have = now->buckets[bucket], *had = before->buckets[bucket];
        if (!have)
            continue;
        uint64_t *row = row_of(difference, bucket);
        if (!row)
            return -ENOMEM;
        for (size_t i = 0; i <= now->stage_count; i++)
            row[i] = have[i] - (had ? had[i] : 0);
    }
    return 0;
}

static int copy(struct stage_sums *to, const struct stage_sums *from)
{
    size_t count = from->stage_count;
    to->latency = from->latency;
    to->unattributed_ns = from->unattributed_ns;
    to->failed = from->failed;
    to->broken = from->broken;
    to->bytes = from->bytes;
    memcpy(to->stages, from->stages, count * sizeof(*from->stages));
    memcpy(to->beside_ns, from->beside_ns, count * sizeof(*from->beside_ns));
    memcpy(to->largest, from->largest, (count + 1) * sizeof(*from->largest));
    for (size_t bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
        if (!from->buckets[bucket])
            continue;
        uint64_t *row = row_of(to, bucket);
        if (!row)
            return -ENOMEM;
        memcpy(row, from->buckets[bucket], (count + 1) * sizeof(*row));
    }
    return 0;
}

int stage_intervals_fill(struct stage_intervals *intervals, struct stage_sums *const *sums,
                         size_t count, struct report *report)
{
    for (size_t i = 0; i < count; i++) {
        struct interval *row = interval_of(intervals, sums[i]);
        if (!row)
            return -ENOMEM;
        int result = subtract(row->difference, sums[i], row->before);
        if (result == 0)
            result = copy(row->before, sums[i]);
        if (result == 0 && row->difference->latency.count > 0) {
            report->counts.ops += row->difference->latency.count;
            result = stage_sums_fill(row->difference, report);
        }
        if (result < 0)
            return result;
    }
    return 0;
}
