/* SPDX-License-Identifier: MIT */
#include "measure.h"

#include <stdlib.h>
#include <time.h>

#define CHUNK_NS 2e6

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static __attribute__((noinline)) void empty_function(uint64_t key, uint64_t arg0, uint64_t arg1)
{
    __asm__ volatile("" : : "r"(key), "r"(arg0), "r"(arg1));
}

void measure_empty_calls(uint64_t calls)
{
    for (uint64_t i = 0; i < calls; i++)
        empty_function(i, 1, 2);
}

static double time_calls(measured_calls *subject, uint64_t calls)
{
    double begin = now_ns();
    subject(calls);
    return (now_ns() - begin) / (double)calls;
}

/* How many calls take about CHUNK_NS; the tries warm everything up. */
static uint64_t calibrate(measured_calls *subject, uint64_t *made)
{
    uint64_t calls = 8;
    for (;;) {
        double ns = time_calls(subject, calls) * (double)calls;
        *made += calls;
        if (ns >= CHUNK_NS / 2)
            return calls;
        calls *= 2;
    }
}

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

static struct spread spread_of(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), compare_doubles);
    return (struct spread){values[count / 2], values[count / 10], values[count - 1 - count / 10]};
}

void measure(measured_calls *const *subjects, size_t count, size_t rounds,
             struct measurement *measurements, struct spread *to_first)
{
    static double ns[MEASURE_SUBJECTS_MAX][MEASURE_ROUNDS_MAX];
    static double empty[MEASURE_ROUNDS_MAX];
    static double ratio[MEASURE_ROUNDS_MAX];
    uint64_t calls[MEASURE_SUBJECTS_MAX];
    uint64_t ignored = 0;
    uint64_t empty_count = calibrate(measure_empty_calls, &ignored);
    for (size_t i = 0; i < count; i++) {
        measurements[i].calls = 0;
        calls[i] = calibrate(subjects[i], &measurements[i].calls);
    }
    for (size_t round = 0; round < rounds; round++) {
        empty[round] = time_calls(measure_empty_calls, empty_count);
        for (size_t i = 0; i < count; i++) {
            ns[i][round] = time_calls(subjects[i], calls[i]);
            measurements[i].calls += calls[i];
        }
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t round = 0; round < rounds; round++)
            ratio[round] = ns[i][round] / empty[round];
        measurements[i].ratio = spread_of(ratio, rounds);
    }
    for (size_t i = 0; to_first && i < count; i++) {
        for (size_t round = 0; round < rounds; round++)
            ratio[round] = ns[i][round] / ns[0][round];
        to_first[i] = spread_of(ratio, rounds);
    }
    /* last: it sorts them */
    for (size_t i = 0; i < count; i++)
        measurements[i].ns = spread_of(ns[i], rounds);
}
