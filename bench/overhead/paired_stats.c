/* SPDX-License-Identifier: MIT */
#include "paired_stats.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "err.h"

#define DRAWS 4000

static int ascending(const void *a, const void *b)
{
    const double *left = a, *right = b;
    return *left < *right ? -1 : *left > *right;
}

/* Between the two neighbours where the place falls between them. */
static double quantile(const double *sorted, size_t count, double part)
{
    double place = part * (double)(count - 1);
    size_t below = (size_t)place;
    double rest = place - (double)below;
    return below + 1 < count ? sorted[below] * (1 - rest) + sorted[below + 1] * rest
                             : sorted[count - 1];
}

/* xorshift64 (Marsaglia, 2003): the draws need no more. */
static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static int bootstrap(const double *values, size_t count, struct paired_stats *stats)
{
    double *medians = calloc(DRAWS, sizeof(*medians));
    double *draw = calloc(count, sizeof(*draw));
    uint64_t state = 0x9e3779b97f4a7c15u;

    for (size_t i = 0; medians && draw && i < DRAWS; i++) {
        for (size_t j = 0; j < count; j++)
            draw[j] = values[next(&state) % count];
        qsort(draw, count, sizeof(*draw), ascending);
        medians[i] = quantile(draw, count, 0.5);
    }
    int result = medians && draw ? 0 : err_no_memory();
    if (result == 0) {
        qsort(medians, DRAWS, sizeof(*medians), ascending);
        stats->low = quantile(medians, DRAWS, 0.025);
        stats->high = quantile(medians, DRAWS, 0.975);
    }
    free(draw);
    free(medians);
    return result;
}

int paired_stats_make(double *values, size_t count, struct paired_stats *stats)
{
    *stats = (struct paired_stats){count, NAN, NAN, NAN, NAN, NAN};
    if (count == 0)
        return 0;
    qsort(values, count, sizeof(*values), ascending);
    stats->median = quantile(values, count, 0.5);
    stats->p10 = quantile(values, count, 0.1);
    stats->p90 = quantile(values, count, 0.9);
    stats->low = values[0];
    stats->high = values[count - 1];
    return count < PAIRED_STATS_ENOUGH ? 0 : bootstrap(values, count, stats);
}
