/* SPDX-License-Identifier: MIT */
#include "histogram.h"

#include <math.h>
#include <string.h>

uint64_t histogram_bucket_low(uint32_t bucket)
{
    if (bucket < 2 * HISTOGRAM_SUB)
        return bucket;
    uint32_t shift = bucket / HISTOGRAM_SUB - 1;
    return (uint64_t)(bucket - shift * HISTOGRAM_SUB) << shift;
}

uint64_t histogram_bucket_middle(uint32_t bucket)
{
    if (bucket < 2 * HISTOGRAM_SUB)
        return bucket;
    uint32_t shift = bucket / HISTOGRAM_SUB - 1;
    return histogram_bucket_low(bucket) + (((uint64_t)1 << shift) - 1) / 2;
}

void histogram_init(struct histogram *histogram)
{
    memset(histogram, 0, sizeof(*histogram));
    histogram->min = UINT64_MAX;
}

void histogram_merge(struct histogram *to, const struct histogram *from)
{
    to->count += from->count;
    to->sum += from->sum;
    if (from->min < to->min)
        to->min = from->min;
    if (from->max > to->max)
        to->max = from->max;
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        to->buckets[i] += from->buckets[i];
}

/* Largest value of a bucket. */
static uint64_t bucket_high(uint32_t bucket)
{
    return bucket + 1 < HISTOGRAM_BUCKETS ? histogram_bucket_low(bucket + 1) - 1 : UINT64_MAX;
}

void histogram_subtract(struct histogram *histogram, const struct histogram *before)
{
    uint32_t first = HISTOGRAM_BUCKETS, last = 0;

    histogram->count -= before->count;
    histogram->sum -= before->sum;
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        histogram->buckets[i] -= before->buckets[i];
        if (histogram->buckets[i] == 0)
            continue;
        last = i;
        if (first == HISTOGRAM_BUCKETS)
            first = i;
    }
    if (first == HISTOGRAM_BUCKETS) {
        histogram->min = UINT64_MAX;
        histogram->max = 0;
        return;
    }
    if (histogram_bucket_low(first) > histogram->min)
        histogram->min = histogram_bucket_low(first);
    if (bucket_high(last) < histogram->max)
        histogram->max = bucket_high(last);
}

uint64_t histogram_quantile(const struct histogram *histogram, double quantile)
{
    if (histogram->count == 0)
        return 0;
    double exact = ceil(quantile * (double)histogram->count);
    uint64_t rank = exact < 1 ? 1 : (uint64_t)exact;
    if (rank >= histogram->count)
        return histogram->max;
    uint64_t seen = 0;
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += histogram->buckets[i];
        if (seen < rank)
            continue;
        uint64_t value = histogram_bucket_middle(i);
        if (value < histogram->min)
            return histogram->min;
        return value > histogram->max ? histogram->max : value;
    }
    return histogram->max;
}

double histogram_mean(const struct histogram *histogram)
{
    return histogram->count ? (double)histogram->sum / (double)histogram->count : 0.0;
}

double histogram_capped_mean(const struct histogram *histogram, double quantile)
{
    uint64_t cap = histogram_quantile(histogram, quantile);
    double sum = 0;
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        uint64_t value = histogram->buckets[i] ? histogram_bucket_middle(i) : 0;
        sum += (double)histogram->buckets[i] * (double)(value < cap ? value : cap);
    }
    double mean = histogram->count ? sum / (double)histogram->count : 0;
    return fmin(mean, histogram_mean(histogram));
}
