/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "tail_report.h"

/*
 * Whether the ops of a type are two populations: the split of the logarithms of the latencies that
 * parts them best (Otsu 1979), moved to the emptiest place between the two modes, and believed when
 * the modes are far apart (Ashman's D above 2; Ashman, Bird, Zepf 1994) with a real valley between
 * them.
 */
#define FEWEST_OPS     200
#define SMALLEST_PART  0.05 /* of the ops, each population */
#define SEPARATION     2
#define MEDIAN_RATIO   1.5
#define DEEPEST_VALLEY 0.5 /* of the lower mode */
#define SIGMAS         4   /* by which the valley is deeper than chance would have it */

struct moments {
    double count, mean, deviation;
};

static double middle_of(uint32_t bucket)
{
    return log((double)coarse_low(bucket) + 1);
}

static struct moments moments_of(const double *smooth, uint32_t begin, uint32_t end)
{
    struct moments moments = {0};
    double sum = 0, squares = 0;
    for (uint32_t i = begin; i < end; i++) {
        moments.count += smooth[i];
        sum += smooth[i] * middle_of(i);
        squares += smooth[i] * middle_of(i) * middle_of(i);
    }
    if (moments.count > 0) {
        moments.mean = sum / moments.count;
        moments.deviation = sqrt(fmax(squares / moments.count - moments.mean * moments.mean, 0));
    }
    return moments;
}

static uint32_t otsu(const double *smooth)
{
    double best = 0;
    uint32_t split = 0;
    for (uint32_t i = 1; i < COARSE_BUCKETS; i++) {
        struct moments low = moments_of(smooth, 0, i), high = moments_of(smooth, i, COARSE_BUCKETS);
        double apart = low.mean - high.mean;
        double between = low.count * high.count * apart * apart;
        if (between > best) {
            best = between;
            split = i;
        }
    }
    return split;
}

static uint32_t mode_of(const double *smooth, uint32_t begin, uint32_t end)
{
    uint32_t mode = begin;
    for (uint32_t i = begin; i < end; i++)
        if (smooth[i] > smooth[mode])
            mode = i;
    return mode;
}

/* The middle one of the emptiest buckets between the two. */
static uint32_t valley_of(const double *smooth, uint32_t begin, uint32_t end)
{
    uint32_t first = begin, last;
    for (uint32_t i = begin; i < end; i++)
        if (smooth[i] < smooth[first])
            first = i;
    for (last = first; last + 1 < end && smooth[last + 1] <= smooth[first]; last++)
        ;
    return (first + last + 1) / 2;
}

static uint64_t median_of(const struct tail_sums *sums, uint32_t begin, uint32_t end)
{
    uint64_t half = (tail_sums_count(sums, begin, end) + 1) / 2, below = 0;
    for (uint32_t i = begin; i < end; i++) {
        below += sums->buckets[i];
        if (below >= half)
            return (coarse_low(i) + coarse_low(i + 1)) / 2;
    }
    return 0;
}

/* The stage in which the slow ones spend so much more. */
static void differing_stage(const struct tail_sums *sums, uint32_t split,
                            struct report_population *population)
{
    double longer = 0, most = 0;
    for (size_t i = 0; i <= sums->stage_count; i++) {
        double difference =
            tail_sums_mean(sums, split, COARSE_BUCKETS, i) - tail_sums_mean(sums, 0, split, i);
        longer += difference;
        if (difference <= most)
            continue;
        most = difference;
        population->stage = (char *)tail_sums_stage(sums, i);
    }
    population->stage_share = longer > 0 ? fmin(most / longer, 1) : 0;
}

int population_report(const struct tail_sums *sums, struct report *report)
{
    double smooth[COARSE_BUCKETS];
    if (sums->count < FEWEST_OPS)
        return 0;
    for (uint32_t i = 0; i < COARSE_BUCKETS; i++)
        smooth[i] = ((double)(i > 0 ? sums->buckets[i - 1] : 0) + 2 * (double)sums->buckets[i] +
                     (double)(i + 1 < COARSE_BUCKETS ? sums->buckets[i + 1] : 0)) /
                    4;
    uint32_t split = otsu(smooth);
    uint32_t left = mode_of(smooth, 0, split), right = mode_of(smooth, split, COARSE_BUCKETS);
    if (right <= left + 1)
        return 0;
    split = valley_of(smooth, left, right);
    double lower = fmin(smooth[left], smooth[right]), valley = smooth[split];
    struct moments low = moments_of(smooth, 0, split),
                   high = moments_of(smooth, split, COARSE_BUCKETS);
    double spread = sqrt(low.deviation * low.deviation + high.deviation * high.deviation);
    struct report_population population = {
        .type = (char *)sums->type,
        .stage = (char *)"",
        .split_ns = coarse_low(split),
        .fast_ops = tail_sums_count(sums, 0, split),
        .slow_ops = tail_sums_count(sums, split, COARSE_BUCKETS),
        .fast_ns = median_of(sums, 0, split),
        .slow_ns = median_of(sums, split, COARSE_BUCKETS),
        .separation = spread > 0 ? sqrt(2) * (high.mean - low.mean) / spread : 0};
    double least = SMALLEST_PART * (double)sums->count;
    if ((double)population.fast_ops < least || (double)population.slow_ops < least ||
        population.separation < SEPARATION ||
        (double)population.slow_ns < MEDIAN_RATIO * (double)population.fast_ns ||
        valley > DEEPEST_VALLEY * lower || lower - valley < SIGMAS * sqrt(lower + valley))
        return 0;
    differing_stage(sums, split, &population);
    return report_add_population(report, &population);
}
