/* SPDX-License-Identifier: MIT */
/* What pairs tell: medians and their confidence intervals on values whose truth is known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "paired_stats.h"

static uint64_t state = 88172645463325252u;

/* Even over 0 to 1. */
static double next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0;
}

static void the_median_and_its_neighbours(void **unused)
{
    (void)unused;
    double values[] = {5, 1, 4, 2, 3, 6, 7, 8, 9, 10, 11};
    struct paired_stats stats;
    assert_int_equal(paired_stats_make(values, 11, &stats), 0);
    assert_true(stats.count == 11 && stats.median == 6 && stats.p10 == 2 && stats.p90 == 10);
    assert_true(stats.low >= 1 && stats.low < 6 && stats.high > 6 && stats.high <= 11);
}

static void few_values_claim_no_more_than_was_seen(void **unused)
{
    (void)unused;
    double values[] = {3, 1, 2};
    struct paired_stats stats;
    assert_int_equal(paired_stats_make(values, 3, &stats), 0);
    assert_true(stats.median == 2 && stats.low == 1 && stats.high == 3);
}

static void without_values_there_is_no_number(void **unused)
{
    (void)unused;
    struct paired_stats stats;
    assert_int_equal(paired_stats_make(NULL, 0, &stats), 0);
    assert_true(isnan(stats.median) && isnan(stats.low));
}

static void equal_values_leave_no_doubt(void **unused)
{
    (void)unused;
    double values[20];
    struct paired_stats stats;
    for (int i = 0; i < 20; i++)
        values[i] = 1.5;
    assert_int_equal(paired_stats_make(values, 20, &stats), 0);
    assert_true(stats.low == 1.5 && stats.high == 1.5);
}

/* 95 of 100 intervals hold the true median: of 400, some 380, with a deviation of 4.4. */
static void the_interval_holds_the_truth_as_often_as_it_says(void **unused)
{
    (void)unused;
    int held = 0;
    for (int run = 0; run < 400; run++) {
        double values[40];
        struct paired_stats stats;
        for (int i = 0; i < 40; i++)
            values[i] = 0.9 * exp(0.4 * (next() + next() + next() - 1.5));
        assert_int_equal(paired_stats_make(values, 40, &stats), 0);
        assert_true(stats.low <= stats.median && stats.median <= stats.high);
        held += stats.low <= 0.9 && stats.high >= 0.9;
    }
    assert_in_range(held, 360, 398);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_median_and_its_neighbours),
        cmocka_unit_test(few_values_claim_no_more_than_was_seen),
        cmocka_unit_test(without_values_there_is_no_number),
        cmocka_unit_test(equal_values_leave_no_doubt),
        cmocka_unit_test(the_interval_holds_the_truth_as_often_as_it_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
