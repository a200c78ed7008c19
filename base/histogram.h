/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_HISTOGRAM_H
#define OPTRAIL_HISTOGRAM_H

#include <stdint.h>

/*
 * Log-linear histogram of durations in ns: 64 buckets an octave, so that a bucket's middle is at
 * most 0.79 % away from any value in it; values below 128 are exact. The layout is that of HDR
 * histograms (Tene) with a fixed number of significant bits. Two histograms add up to exactly
 * the one that would have seen both. BPF programs use histogram_bucket() too, hence the inline.
 */
#define HISTOGRAM_SUB_BITS 6
#define HISTOGRAM_SUB      (1u << HISTOGRAM_SUB_BITS)
/* 2^44 ns are almost five hours; what is longer counts in the last bucket (max stays exact) */
#define HISTOGRAM_MAX_BITS 44
#define HISTOGRAM_BUCKETS  ((HISTOGRAM_MAX_BITS - HISTOGRAM_SUB_BITS + 1) * HISTOGRAM_SUB)

struct histogram {
    uint64_t count;
    uint64_t sum; /* ns, exact */
    uint64_t min; /* ns, exact; UINT64_MAX when empty */
    uint64_t max; /* ns, exact */
    uint64_t buckets[HISTOGRAM_BUCKETS];
};

/* The number of the highest bit that is set; `value` is not 0. */
static inline uint32_t highest_bit(uint64_t value)
{
#ifdef __bpf__
    /* clang 14 cannot count leading zeros for BPF machines of version 3; and branches would each
     * double what the verifier has to look at. So: all bits below the highest one are set, and
     * counted (Warren, Hacker's Delight, 5-1 and 5-3). */
    for (uint32_t shift = 1; shift < 64; shift *= 2)
        value |= value >> shift;
    __asm__ volatile("" : "+r"(value)); /* or the compiler sees through it */
    value -= value >> 1 & 0x5555555555555555ull;
    value = (value & 0x3333333333333333ull) + (value >> 2 & 0x3333333333333333ull);
    value = (value + (value >> 4)) & 0x0f0f0f0f0f0f0f0full;
    __asm__ volatile("" : "+r"(value));
    return (uint32_t)(value * 0x0101010101010101ull >> 56) - 1;
#else
    return 63 - (uint32_t)__builtin_clzll(value);
#endif
}

/* The bucket that `value` belongs to. */
static inline uint32_t histogram_bucket(uint64_t value)
{
    if (value < 2 * HISTOGRAM_SUB)
        return (uint32_t)value;
    if (value >> HISTOGRAM_MAX_BITS)
        return HISTOGRAM_BUCKETS - 1;
    uint32_t shift = highest_bit(value) - HISTOGRAM_SUB_BITS;
    return shift * HISTOGRAM_SUB + (uint32_t)(value >> shift);
}

/* Smallest value of a bucket, and its middle, in ns. */
uint64_t histogram_bucket_low(uint32_t bucket);
uint64_t histogram_bucket_middle(uint32_t bucket);

void histogram_init(struct histogram *histogram);

static inline void histogram_add(struct histogram *histogram, uint64_t value)
{
    histogram->count++;
    histogram->sum += value;
    if (value < histogram->min)
        histogram->min = value;
    if (value > histogram->max)
        histogram->max = value;
    histogram->buckets[histogram_bucket(value)]++;
}

/* Adds `from` to `to`. */
void histogram_merge(struct histogram *to, const struct histogram *from);

/* Takes away `before`, an earlier state of the same histogram: what is left is what came since.
 * Count and sum are exact; min and max are the bounds of the outermost buckets, within what was
 * seen. */
void histogram_subtract(struct histogram *histogram, const struct histogram *before);

/* The value below which `quantile` (0 to 1) of the values lie, in ns, by nearest rank; within
 * [min, max]; 0 when empty. */
uint64_t histogram_quantile(const struct histogram *histogram, double quantile);

/* Mean in ns; 0 when empty. */
double histogram_mean(const struct histogram *histogram);

/* The mean when every value above that quantile counts as the quantile (winsorized at one end), so
 * that a few accidents do not make it; within 1 %. 0 when empty. */
double histogram_capped_mean(const struct histogram *histogram, double quantile);

#endif
