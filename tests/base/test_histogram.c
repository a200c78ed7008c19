/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "histogram.h"

static uint64_t random_state = 1;

static uint64_t next(void)
{
    random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
    return random_state >> 16;
}

static void every_value_lies_in_its_bucket(void **state)
{
    (void)state;
    for (uint32_t bucket = 0; bucket + 1 < HISTOGRAM_BUCKETS; bucket++) {
        uint64_t low = histogram_bucket_low(bucket);
        uint64_t high = histogram_bucket_low(bucket + 1) - 1;
        uint64_t middle = histogram_bucket_middle(bucket);
        assert_int_equal(histogram_bucket(low), bucket);
        assert_int_equal(histogram_bucket(high), bucket);
        assert_int_equal(histogram_bucket(middle), bucket);
        /* the promise: at most 1 % away */
        assert_true((double)(middle - low) <= 0.01 * (double)low + 0.5);
        assert_true((double)(high - middle) <= 0.01 * (double)high + 0.5);
    }
    assert_int_equal(histogram_bucket(UINT64_MAX), HISTOGRAM_BUCKETS - 1);
    assert_int_equal(histogram_bucket((1ull << HISTOGRAM_MAX_BITS) - 1), HISTOGRAM_BUCKETS - 1);
}

static int ascending(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

static void quantiles_are_within_one_percent(void **state)
{
    (void)state;
    enum { VALUES = 20001 };
    static uint64_t values[VALUES];
    static struct histogram histogram;
    histogram_init(&histogram);
    for (int i = 0; i < VALUES; i++) {
        values[i] = (uint64_t)exp((double)(next() % 1000000) / 1000000.0 * 25); /* 1 ns to 72 s */
        histogram_add(&histogram, values[i]);
    }
    qsort(values, VALUES, sizeof(values[0]), ascending);
    const double quantiles[] = {0.001, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1};
    for (size_t i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++) {
        double exact = (double)values[(size_t)ceil(quantiles[i] * VALUES) - 1];
        double told = (double)histogram_quantile(&histogram, quantiles[i]);
        assert_true(fabs(told - exact) <= 0.01 * exact + 0.5);
    }
    assert_int_equal(histogram_quantile(&histogram, 1), values[VALUES - 1]);
    assert_int_equal(histogram.max, values[VALUES - 1]);
    assert_int_equal(histogram.min, values[0]);
}

static void two_add_up_to_what_one_would_have_seen(void **state)
{
    (void)state;
    static struct histogram whole, one, two;
    histogram_init(&whole);
    histogram_init(&one);
    histogram_init(&two);
    for (int i = 0; i < 100000; i++) {
        uint64_t value = next() >> (next() % 40);
        histogram_add(&whole, value);
        histogram_add(next() % 3 ? &one : &two, value);
    }
    histogram_merge(&one, &two);
    assert_memory_equal(&one, &whole, sizeof(whole));
}

static void an_empty_one_is_all_zero(void **state)
{
    (void)state;
    static struct histogram histogram;
    histogram_init(&histogram);
    assert_int_equal(histogram_quantile(&histogram, 0.5), 0);
    assert_true(histogram_mean(&histogram) == 0);
}

static void accidents_do_not_make_the_capped_mean(void **state)
{
    static struct histogram histogram;
    (void)state;
    histogram_init(&histogram);
    assert_true(histogram_capped_mean(&histogram, 0.99) == 0);
    for (int i = 0; i < 995; i++)
        histogram_add(&histogram, 100000);
    for (int i = 0; i < 5; i++)
        histogram_add(&histogram, 100000000);
    assert_true(histogram_mean(&histogram) > 590000);
    double capped = histogram_capped_mean(&histogram, 0.99);
    assert_true(capped > 99000 && capped < 101000);
    /* what is no accident stays */
    assert_true(histogram_capped_mean(&histogram, 0.999) > 500000);
    assert_true(histogram_capped_mean(&histogram, 1) <= histogram_mean(&histogram));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_lies_in_its_bucket),
        cmocka_unit_test(quantiles_are_within_one_percent),
        cmocka_unit_test(accidents_do_not_make_the_capped_mean),
        cmocka_unit_test(two_add_up_to_what_one_would_have_seen),
        cmocka_unit_test(an_empty_one_is_all_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
