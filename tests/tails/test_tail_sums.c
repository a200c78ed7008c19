/* SPDX-License-Identifier: MIT */
/* The statistics of slow ops against figures worked out by hand, and sums by time. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tail_test.h"
#include "time_windows.h"

static void probabilities_are_those_of_the_hypergeometric_distribution(void **state)
{
    (void)state;
    /* 3 of 10 are slow; of 4 drawn at least 2 are: (C(3,2) C(7,2) + C(3,3) C(7,1)) / C(10,4) */
    assert_true(fabs(tail_probability(10, 3, 4, 2) - (63.0 + 7.0) / 210.0) < 1e-12);
    assert_true(fabs(tail_probability(10, 3, 4, 3) - 7.0 / 210.0) < 1e-12);
    assert_true(fabs(tail_probability(10, 10, 4, 4) - 1) < 1e-12);
    assert_true(tail_probability(10, 3, 4, 0) == 1);
    assert_true(tail_probability(10, 3, 4, 4) == 0);
    /* large numbers do not run over */
    double likely = tail_probability(10000000, 100000, 1000000, 10000);
    assert_true(likely > 0.45 && likely < 0.55);
    assert_true(tail_probability(10000000, 100000, 1000000, 90000) < 1e-100);
}

static void many_tests_are_corrected_for(void **state)
{
    (void)state;
    assert_true(fabs(tail_corrected(0.001, 1, 50) - 0.05) < 1e-12);
    assert_true(fabs(tail_corrected(0.001, 5, 50) - 0.01) < 1e-12);
    assert_true(tail_corrected(0.5, 1, 50) == 1);
}

static uint64_t sum_of(const struct time_windows *windows)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < windows->count; i++)
        sum += windows->cells[i];
    return sum;
}

static void windows_grow_without_losing_anything(void **state)
{
    (void)state;
    for (uint64_t begin = 0; begin < 8; begin++) {
        struct time_windows windows;
        uint64_t times[2000], added = 0;
        assert_int_equal(time_windows_init(&windows, 16, 1), 0);
        for (uint64_t i = 0; i < 2000; i++) {
            times[i] = (begin << 20) + i * i * 1000;
            *time_windows_at(&windows, times[i]) += i;
            added += i;
            assert_int_equal(sum_of(&windows), added);
        }
        /* and each is where its time belongs */
        for (size_t window = 0; window < windows.count; window++) {
            uint64_t low = windows.origin_ns + window * windows.width_ns, there = 0;
            for (uint64_t i = 0; i < 2000; i++)
                there += times[i] >= low && times[i] < low + windows.width_ns ? i : 0;
            assert_int_equal(windows.cells[window], there);
        }
        assert_int_equal(windows.origin_ns % windows.width_ns, 0);
        time_windows_free(&windows);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(probabilities_are_those_of_the_hypergeometric_distribution),
        cmocka_unit_test(many_tests_are_corrected_for),
        cmocka_unit_test(windows_grow_without_losing_anything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
