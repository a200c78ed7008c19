/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_BENCH_MEASURE_H
#define OPTRAIL_BENCH_MEASURE_H

#include <stddef.h>
#include <stdint.h>

/*
 * The cost of calls that take from less than a nanosecond to some microseconds, on a machine that
 * is never quite still. What is compared is measured in turns, in the same round, and each round is
 * compared in itself: a slow phase of the machine then slows both sides. The median round counts.
 */

enum { MEASURE_ROUNDS_MAX = 201, MEASURE_SUBJECTS_MAX = 8 };

/* Makes so many calls of what is measured. */
typedef void measured_calls(uint64_t calls);

struct spread {
    double median, low, high; /* low, high: a tenth of the rounds is below, a tenth above */
};

struct measurement {
    struct spread ns;    /* per call, with its part of the loop around it (about a cycle) */
    struct spread ratio; /* to an empty call, measured in the same round */
    uint64_t calls;      /* how many were made in all, warm-up and rounds */
};

/* What everything is compared with: a call of a function of three arguments that does nothing. */
measured_calls measure_empty_calls;

/* Measures `count` subjects (at most MEASURE_SUBJECTS_MAX) in turns, `rounds` times (odd, at most
 * MEASURE_ROUNDS_MAX), about 2 ms each. `to_first`, if not NULL, gets the spread of each
 * subject's cost in relation to the first one's. Not thread-safe. */
void measure(measured_calls *const *subjects, size_t count, size_t rounds,
             struct measurement *measurements, struct spread *to_first);

#endif
