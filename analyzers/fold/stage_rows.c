/* SPDX-License-Identifier: MIT */
#include "stage_rows.h"

#include <math.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "op_fold.h"

#define TAIL 0.01 /* the slowest 1 % */

struct stage_sums *stage_sums_new(const char *type, const struct path *path)
{
    struct stage_sums *sums = calloc(1, sizeof(*sums));
    if (!sums) {
        err_no_memory();
        return NULL;
    }
    sums->path = path;
    sums->stage_count = path ? path->stage_count : 0;
    histogram_init(&sums->latency);
    sums->type = strdup(type);
    sums->path_name = strdup(path ? path->name : "");
    sums->stages = calloc(sums->stage_count + 1, sizeof(*sums->stages));
    sums->beside_ns = calloc(sums->stage_count + 1, sizeof(*sums->beside_ns));
    sums->largest = calloc(sums->stage_count + 1, sizeof(*sums->largest));
    if (!sums->type || !sums->path_name || !sums->stages || !sums->beside_ns || !sums->largest) {
        stage_sums_free(sums);
        err_no_memory();
        return NULL;
    }
    for (size_t i = 0; i < sums->stage_count; i++)
        histogram_init(&sums->stages[i]);
    return sums;
}

void stage_sums_free(struct stage_sums *sums)
{
    if (!sums)
        return;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        free(sums->buckets[i]);
    free(sums->type);
    free(sums->path_name);
    free(sums->stages);
    free(sums->beside_ns);
    free(sums->largest);
    free(sums);
}

uint64_t *stage_sums_row(struct stage_sums *sums, size_t bucket)
{
    uint64_t **row = &sums->buckets[bucket];
    if (!*row) {
        *row = calloc(sums->stage_count + 1, sizeof(**row));
        if (!*row)
            err_no_memory();
    }
    return *row;
}

int stage_sums_add(struct stage_sums *sums, const struct trail *trail,
                   const struct sweep_parts *parts)
{
    uint64_t latency = trail->finish_ns - trail->start_ns;
    uint64_t *row = stage_sums_row(sums, histogram_bucket(latency));
    if (!row)
        return -ENOMEM;
    histogram_add(&sums->latency, latency);
    sums->failed += trail_passed(trail, POINT_op_failed) || trail_passed(trail, POINT_reply_failed);
    sums->bytes += trail->bytes_in + trail->bytes_out;

    size_t count = sums->stage_count, largest = count;
    uint64_t most = parts->unattributed;
    for (uint64_t rest = parts->passed; rest; rest &= rest - 1) {
        int i = __builtin_ctzll(rest);
        uint64_t on_path = parts->on_path[i];
        if (on_path || !parts->beside[i])
            histogram_add(&sums->stages[i], on_path);
        row[i] += on_path;
        sums->beside_ns[i] += parts->beside[i];
        if (on_path > most) {
            most = on_path;
            largest = (size_t)i;
        }
    }
    row[count] += parts->unattributed;
    sums->unattributed_ns += parts->unattributed;
    sums->largest[largest]++;
    sums->broken += parts->broken != 0;
    return 0;
}

void stage_sums_clear(struct stage_sums *sums)
{
    size_t count = sums->stage_count;
    histogram_init(&sums->latency);
    sums->unattributed_ns = sums->failed = sums->broken = sums->bytes = 0;
    for (size_t i = 0; i < count; i++)
        histogram_init(&sums->stages[i]);
    memset(sums->beside_ns, 0, count * sizeof(*sums->beside_ns));
    memset(sums->largest, 0, (count + 1) * sizeof(*sums->largest));
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        if (sums->buckets[i])
            memset(sums->buckets[i], 0, (count + 1) * sizeof(*sums->buckets[i]));
}

/* Adds buckets, of which the sum is known from elsewhere. */
static void add_buckets(struct histogram *histogram, const uint64_t *buckets, uint64_t sum,
                        uint64_t max, uint64_t not_min)
{
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        histogram->buckets[i] += buckets[i];
        histogram->count += buckets[i];
    }
    histogram->sum += sum;
    if (max > histogram->max)
        histogram->max = max;
    if (~not_min < histogram->min)
        histogram->min = ~not_min;
}

/* Adds the stages' times of each latency bucket; returns their sums in `totals`. */
static int add_rows(struct stage_sums *sums, const uint64_t *cells, uint32_t base, uint64_t *totals)
{
    uint32_t count = (uint32_t)sums->stage_count;
    const uint64_t *latency = cells + fold_buckets(base, count);
    for (uint32_t bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
        if (latency[bucket] == 0)
            continue;
        const uint64_t *from = cells + fold_row(base, count, bucket);
        if (!sums->buckets[bucket])
            sums->buckets[bucket] = calloc(count + 1, sizeof(*sums->buckets[bucket]));
        if (!sums->buckets[bucket])
            return err_no_memory();
        for (uint32_t i = 0; i <= count; i++) {
            sums->buckets[bucket][i] += from[i];
            totals[i] += from[i];
        }
    }
    return 0;
}

int stage_sums_add_cells(struct stage_sums *sums, const uint64_t *cells, uint32_t base)
{
    uint32_t count = (uint32_t)sums->stage_count;
    uint64_t totals[PATH_MAX_STAGES + 1] = {0};
    uint64_t all = 0;
    int rc = add_rows(sums, cells, base, totals);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t *stage = cells + fold_stage_cells(base, i);
        add_buckets(&sums->stages[i], cells + fold_stage_buckets(base, count, i), totals[i],
                    stage[FOLD_STAGE_MAX], stage[FOLD_STAGE_NOT_MIN]);
        sums->beside_ns[i] += stage[FOLD_STAGE_BESIDE];
    }
    for (uint32_t i = 0; i <= count; i++) {
        sums->largest[i] += cells[fold_stage_cells(base, i) + FOLD_STAGE_LARGEST];
        all += totals[i];
    }
    add_buckets(&sums->latency, cells + fold_buckets(base, count), all, cells[base + FOLD_MAX],
                cells[base + FOLD_NOT_MIN]);
    sums->unattributed_ns += totals[count];
    sums->failed += cells[base + FOLD_FAILED];
    sums->broken += cells[base + FOLD_BROKEN];
    sums->bytes += cells[base + FOLD_BYTES];
    return 0;
}

/* The stages' parts of the time of the slowest ops. `shares` has stage_count + 1 rows. */
static void tail_shares(const struct stage_sums *sums, double *shares)
{
    double wanted = ceil(TAIL * (double)sums->latency.count);
    double total = 0;
    memset(shares, 0, (sums->stage_count + 1) * sizeof(*shares));
    for (size_t b = HISTOGRAM_BUCKETS; b-- > 0 && wanted > 0;) {
        double ops = (double)sums->latency.buckets[b];
        if (ops == 0)
            continue;
        double part = ops > wanted ? wanted / ops : 1;
        for (size_t i = 0; i <= sums->stage_count; i++) {
            shares[i] += part * (double)sums->buckets[b][i];
            total += part * (double)sums->buckets[b][i];
        }
        wanted -= part * ops;
    }
    for (size_t i = 0; i <= sums->stage_count; i++)
        shares[i] = total > 0 ? shares[i] / total : 0;
}

static void fill_latency(struct report_latency *latency, const struct histogram *histogram)
{
    latency->count = histogram->count;
    latency->mean = histogram_mean(histogram);
    latency->p50 = histogram_quantile(histogram, 0.50);
    latency->p90 = histogram_quantile(histogram, 0.90);
    latency->p99 = histogram_quantile(histogram, 0.99);
    latency->p999 = histogram_quantile(histogram, 0.999);
    latency->max = histogram->count ? histogram->max : 0;
}

/* The whole of the latencies: coarse by powers of two, and as a curve of quantiles. */
static int fill_shape(struct report_op *op, const struct histogram *latency)
{
    static const double quantiles[] = {0,     0.01,  0.05,   0.1,    0.2,     0.3,  0.4,  0.5,
                                       0.6,   0.7,   0.8,    0.9,    0.95,    0.98, 0.99, 0.995,
                                       0.998, 0.999, 0.9995, 0.9999, 0.99999, 1};
    int rc = 0;
    uint64_t sum = 0;
    for (uint32_t i = 0; rc == 0 && i < HISTOGRAM_BUCKETS; i++) {
        /* what is too long for the last bucket is in it */
        uint64_t below = i + 1 < HISTOGRAM_BUCKETS ? histogram_bucket_low(i + 1) : UINT64_MAX;
        sum += latency->buckets[i];
        if (sum == 0 || ((below & (below - 1)) != 0 && below != UINT64_MAX))
            continue;
        rc = report_add_bucket(op, below, sum);
        sum = 0;
    }
    for (size_t i = 0; rc == 0 && latency->count > 0 && i < sizeof(quantiles) / sizeof(*quantiles);
         i++) {
        if ((1 - quantiles[i]) * (double)latency->count < 1 && quantiles[i] < 1)
            continue; /* less than one op is slower: that is the last point's */
        rc = report_add_quantile(op, quantiles[i],
                                 quantiles[i] < 1 ? histogram_quantile(latency, quantiles[i])
                                                  : latency->max);
    }
    return rc;
}

int stage_sums_fill(const struct stage_sums *sums, struct report *report)
{
    struct report_op *op;
    int rc = report_add_op(report, sums->type, sums->path_name, &op);
    if (rc == 0 && sums->path)
        rc = report_set_string(&op->daemon, sums->path->daemon);
    if (rc < 0)
        return rc;
    double *shares = calloc(sums->stage_count + 1, sizeof(*shares));
    if (!shares)
        return err_no_memory();
    tail_shares(sums, shares);

    double total = (double)sums->latency.sum;
    op->count = sums->latency.count;
    op->failed = sums->failed;
    op->bytes = sums->bytes;
    op->total_ns = sums->latency.sum;
    op->unattributed_ns = sums->unattributed_ns;
    op->unattributed_share = total > 0 ? (double)sums->unattributed_ns / total : 0;
    op->unattributed_tail_share = shares[sums->stage_count];
    op->broken = sums->broken;
    fill_latency(&op->latency, &sums->latency);
    rc = fill_shape(op, &sums->latency);
    for (size_t i = 0; rc == 0 && sums->path && i < sums->stage_count; i++) {
        const struct histogram *histogram = &sums->stages[i];
        const struct path_stage *stage = &sums->path->stages[i];
        struct report_stage *row;
        if (histogram->count == 0 && sums->beside_ns[i] == 0)
            continue; /* not a stage of this type */
        rc = report_add_stage(op, stage->name, stage_kind_names[stage->kind], stage->text,
                              stage->knobs, &row);
        if (rc < 0)
            break;
        row->count = histogram->count;
        row->total_ns = histogram->sum;
        row->beside_ns = sums->beside_ns[i];
        row->share = total > 0 ? (double)histogram->sum / total : 0;
        row->tail_share = shares[i];
        row->largest_share = op->count ? (double)sums->largest[i] / (double)op->count : 0;
        fill_latency(&row->latency, histogram);
        row->typical =
            row->latency.mean > 0 ? histogram_capped_mean(histogram, 0.99) / row->latency.mean : 1;
    }
    free(shares);
    return rc;
}
