/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_COARSE_H
#define OPTRAIL_COARSE_H

#include "histogram.h"

/*
 * Latencies in coarse buckets, eight an octave (9 % steps): for counting many small groups of ops,
 * where the histogram's own 64 would take too much memory. Sums, so they add up.
 */
#define COARSE_SHIFT   3
#define COARSE_BUCKETS (HISTOGRAM_BUCKETS >> COARSE_SHIFT)

static inline uint32_t coarse_bucket(uint64_t ns)
{
    return histogram_bucket(ns) >> COARSE_SHIFT;
}

/* The smallest latency that belongs into the bucket, ns. */
static inline uint64_t coarse_low(uint32_t bucket)
{
    return histogram_bucket_low(bucket << COARSE_SHIFT);
}

#endif
