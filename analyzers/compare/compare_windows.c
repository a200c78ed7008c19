/* SPDX-License-Identifier: MIT */
/* How much of a difference chance makes, from one run: the block bootstrap over windows of time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare_private.h"
#include "err.h"
#include "statistics.h"

#define REPLICATES     300
#define FEWEST_WINDOWS 16

static const double quantiles[DIFF_STATISTICS] = {0, 0.5, 0.9, 0.99};

/* One target's windows in a form that is quick to add up. */
struct target {
    size_t low, high; /* the buckets that are used: [low, high) */
    double counts[WINDOWS], sums[WINDOWS];
    const uint32_t *buckets[WINDOWS];
    double limits[DIFF_STATISTICS]; /* the pool's percentiles */
};

/* What one drawing gives. */
struct drawing {
    double values[DIFF_STATISTICS], fractions[DIFF_STATISTICS];
};

const struct window_row *windows_of(const struct windows *windows, const char *type)
{
    for (size_t i = 0; windows && i < windows->row_count; i++)
        if (strcmp(windows->rows[i].type, type) == 0)
            return &windows->rows[i];
    return NULL;
}

static const char *stage_name(const struct window_row *row, size_t stage)
{
    if (stage < row->stage_count)
        return row->path->stages[stage].name;
    return stage == row->stage_count ? "unattributed" : "";
}

/* The stage's place in the pool; pool->count: it has none. */
static size_t pool_stage(const struct pool *pool, const char *stage)
{
    size_t at = 0;
    while (at < pool->count && strcmp(pool->stages[at], stage) != 0)
        at++;
    return at;
}

static void make_target(const struct window_row *row, size_t count, size_t stage,
                        struct target *target)
{
    target->low = WINDOW_BUCKETS;
    target->high = 0;
    for (size_t w = 0; w < count; w++) {
        const struct window_cell *cell = windows_cell(row, w, stage);
        target->counts[w] = (double)cell->count;
        target->sums[w] = (double)cell->sum;
        target->buckets[w] = cell->buckets;
        for (size_t i = 0; cell->buckets && i < WINDOW_BUCKETS; i++) {
            if (cell->buckets[i] == 0)
                continue;
            target->low = i < target->low ? i : target->low;
            target->high = i + 1 > target->high ? i + 1 : target->high;
        }
    }
}

/* The quantile of sums, within a bucket in proportion. */
static double quantile_of(const double *sums, size_t from, size_t to, double total, double q)
{
    double wanted = q * total, seen = 0;
    for (size_t i = from; i < to; i++) {
        if (sums[i] <= 0 || seen + sums[i] < wanted) {
            seen += sums[i];
            continue;
        }
        double low = (double)window_bucket_low((uint32_t)i);
        double high = (double)window_bucket_low((uint32_t)i + 1);
        return low + (high - low) * (wanted - seen) / sums[i];
    }
    return 0;
}

/* The part of the sums that lies below the limit. */
static double fraction_of(const double *sums, size_t from, size_t to, double total, double limit)
{
    double seen = 0;
    for (size_t i = from; i < to; i++) {
        double low = (double)window_bucket_low((uint32_t)i);
        double high = (double)window_bucket_low((uint32_t)i + 1);
        if (high <= limit)
            seen += sums[i];
        else if (low < limit)
            seen += sums[i] * (limit - low) / (high - low);
    }
    return total > 0 ? seen / total : 0;
}

void pool_add(struct pool *pool, const struct windows *windows, const struct window_row *row)
{
    size_t count = windows_count(windows);
    for (size_t s = 0; s < row->stage_count + 2; s++) {
        size_t at = pool_stage(pool, stage_name(row, s));
        if (at == TARGETS)
            continue;
        if (at == pool->count)
            pool->stages[pool->count++] = stage_name(row, s);
        for (size_t w = 0; w < count; w++) {
            const struct window_cell *cell = windows_cell(row, w, s);
            for (size_t i = 0; cell->buckets && i < WINDOW_BUCKETS; i++)
                pool->buckets[at][i] += cell->buckets[i];
        }
    }
}

static void set_limits(const struct pool *pool, const char *stage, struct target *target)
{
    size_t at = pool_stage(pool, stage);
    double total = 0;
    for (size_t i = 0; at < pool->count && i < WINDOW_BUCKETS; i++)
        total += pool->buckets[at][i];
    for (int s = DIFF_P50; at < pool->count && s < DIFF_STATISTICS; s++)
        target->limits[s] = quantile_of(pool->buckets[at], 0, WINDOW_BUCKETS, total, quantiles[s]);
}

/* The values of one drawing. `ops`: how many were drawn. */
static void draw(const struct target *target, const uint32_t *weights, size_t count, double ops,
                 struct drawing *drawing)
{
    static double sums[WINDOW_BUCKETS];
    double sum = 0, passed = 0;
    size_t low = target->low, high = target->high;
    if (low < high)
        memset(sums + low, 0, (high - low) * sizeof(*sums));
    for (size_t w = 0; w < count; w++) {
        if (weights[w] == 0)
            continue;
        sum += weights[w] * target->sums[w];
        passed += weights[w] * target->counts[w];
        for (size_t i = low; target->buckets[w] && i < high; i++)
            sums[i] += (double)weights[w] * target->buckets[w][i];
    }
    drawing->values[DIFF_MEAN] = ops > 0 ? sum / ops : 0;
    drawing->fractions[DIFF_MEAN] = 0;
    for (int s = DIFF_P50; s < DIFF_STATISTICS; s++) {
        drawing->values[s] = quantile_of(sums, low, high, passed, quantiles[s]);
        drawing->fractions[s] = fraction_of(sums, low, high, passed, target->limits[s]);
    }
}

/* The longest block that any of the targets asks for. */
static size_t blocks_of(const struct target *targets, size_t target_count, size_t count)
{
    const struct target *ops = &targets[target_count - 1];
    size_t longest = 1;
    double all = 0;
    for (size_t w = 0; w < count; w++)
        all += ops->counts[w];
    for (size_t t = 0; t < target_count; t++) {
        double series[WINDOWS], sum = 0;
        for (size_t w = 0; w < count; w++)
            sum += targets[t].sums[w];
        /* how far each window takes the mean away */
        for (size_t w = 0; w < count; w++)
            series[w] = targets[t].sums[w] - sum / all * ops->counts[w];
        size_t length = block_length(series, count);
        longest = length > longest ? length : longest;
    }
    return longest;
}

static double deviation_of(const struct target *target, size_t count, double ops)
{
    double squares = 0, sum = 0;
    for (size_t w = 0; w < count; w++) {
        sum += target->sums[w];
        for (size_t i = target->low; target->buckets[w] && i < target->high; i++) {
            double middle = ((double)window_bucket_low((uint32_t)i) +
                             (double)window_bucket_low((uint32_t)i + 1)) /
                            2;
            squares += target->buckets[w][i] * middle * middle;
        }
    }
    double mean = sum / ops, variance = squares / ops - mean * mean;
    return variance > 0 ? sqrt(variance) : 0;
}

/* Sum and squares of values, less the first one, so that squares stay small. */
struct moments {
    double first, sum, squares;
};

static void take(struct moments *moments, double value, bool first)
{
    if (first)
        *moments = (struct moments){.first = value};
    moments->sum += value - moments->first;
    moments->squares += (value - moments->first) * (value - moments->first);
}

/* `few`: what is drawn from few blocks differs less than the blocks do. */
static double error_of(const struct moments *moments, double few)
{
    double variance =
        (moments->squares - moments->sum * moments->sum / REPLICATES) / (REPLICATES - 1);
    return variance > 0 ? sqrt(variance * few) : 0;
}

static void bootstrap(const struct target *targets, size_t target_count, size_t count,
                      double all_ops, struct spread *spread)
{
    static struct moments moments[TARGETS][2][DIFF_STATISTICS];
    struct random random = {0x9e3779b97f4a7c15ull};
    struct drawing drawing;
    size_t length = blocks_of(targets, target_count, count);
    double blocks = (double)count / (double)length;
    uint32_t weights[WINDOWS];
    for (size_t w = 0; w < count; w++)
        weights[w] = 1;
    for (size_t t = 0; t < target_count; t++) {
        draw(&targets[t], weights, count, all_ops, &drawing);
        memcpy(spread->values[t], drawing.values, sizeof(drawing.values));
        memcpy(spread->fractions[t], drawing.fractions, sizeof(drawing.fractions));
    }
    for (int r = 0; r < REPLICATES; r++) {
        double ops = 0;
        draw_blocks(&random, count, length, weights);
        for (size_t w = 0; w < count; w++)
            ops += weights[w] * targets[target_count - 1].counts[w];
        for (size_t t = 0; t < target_count; t++) {
            draw(&targets[t], weights, count, ops, &drawing);
            for (int s = 0; s < DIFF_STATISTICS; s++) {
                take(&moments[t][0][s], drawing.values[s], r == 0);
                take(&moments[t][1][s], drawing.fractions[s], r == 0);
            }
        }
    }
    spread->known = true;
    spread->freedom = blocks - 1 > 1 ? blocks - 1 : 1;
    double few = blocks > 1.5 ? blocks / (blocks - 1) : 3;
    for (size_t t = 0; t < target_count; t++)
        for (int s = 0; s < DIFF_STATISTICS; s++) {
            spread->errors[t][s] = error_of(&moments[t][0][s], few);
            spread->fraction_errors[t][s] = error_of(&moments[t][1][s], few);
        }
}

int spread_of(const struct windows *windows, const struct window_row *row, const struct pool *pool,
              struct spread *spread)
{
    size_t count = windows_count(windows), target_count = row->stage_count + 2, used = 0;
    double ops = 0;
    memset(spread, 0, sizeof(*spread));
    struct target *targets = calloc(target_count, sizeof(*targets));
    if (!targets)
        return err_no_memory();
    for (size_t t = 0; t < target_count; t++) {
        make_target(row, count, t, &targets[t]);
        set_limits(pool, stage_name(row, t), &targets[t]);
    }
    for (size_t w = 0; w < count; w++) {
        used += targets[target_count - 1].counts[w] > 0;
        ops += targets[target_count - 1].counts[w];
    }
    if (used >= FEWEST_WINDOWS) {
        bootstrap(targets, target_count, count, ops, spread);
        for (size_t t = 0; t < target_count; t++)
            spread->deviation[t] = deviation_of(&targets[t], count, ops);
    }
    free(targets);
    return 0;
}
