/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_PAIRED_STATS_H
#define OPTRAIL_PAIRED_STATS_H

#include <stddef.h>

/*
 * What a number of pairs tells: the median, how they spread, and between which bounds the true
 * median lies with 95 % confidence, by the percentile bootstrap (Efron, 1979): the median of many
 * samples drawn with replacement from the pairs. The draws are the same each time.
 */
struct paired_stats {
    size_t count;
    double median, p10, p90;
    double low, high; /* of the confidence interval; with few pairs all that was seen */
};

/* `values` are sorted in place. -ENOMEM with the message; count 0: all is NaN. */
int paired_stats_make(double *values, size_t count, struct paired_stats *stats);

/* Pairs below which no interval is claimed. */
#define PAIRED_STATS_ENOUGH 8

#endif
