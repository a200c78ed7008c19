/* SPDX-License-Identifier: MIT */
/* The statistics behind `optrail diff`, against values from tables, and the bootstrap against the
 * standard error that theory has. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "statistics.h"

static void students_t_is_that_of_the_tables(void **state)
{
    (void)state;
    assert_float_equal(student_quantile(0.05, 1), 12.706, 0.001);
    assert_float_equal(student_quantile(0.05, 10), 2.228, 0.001);
    assert_float_equal(student_quantile(0.01, 30), 2.750, 0.001);
    assert_float_equal(student_quantile(0.05, 1e6), 1.960, 0.001);
    assert_float_equal(student_two_sided(2.228, 10), 0.05, 0.0001);
    assert_float_equal(student_two_sided(0, 5), 1, 1e-9);
}

static void holm_steps_down(void **state)
{
    (void)state;
    double p[] = {0.04, 0.01, NAN, 0.03, 0.005};
    holm_adjust(p, 5);
    assert_float_equal(p[4], 0.02, 1e-9); /* 4 times */
    assert_float_equal(p[1], 0.03, 1e-9); /* 3 times */
    assert_float_equal(p[3], 0.06, 1e-9); /* 2 times */
    assert_float_equal(p[0], 0.06, 1e-9); /* not less than the one before */
    assert_true(isnan(p[2]));
}

/* x[i] = kept * x[i-1] + noise, of variance 1. */
static void make_series(double *series, size_t count, double kept, struct random *random)
{
    double x = 0;
    for (size_t i = 0; i < count + 100; i++) {
        double noise = 0;
        for (int j = 0; j < 12; j++) /* nearly normal */
            noise += (double)random_below(random, 1u << 30) / (1u << 30) - 0.5;
        x = kept * x + sqrt(1 - kept * kept) * noise;
        if (i >= 100)
            series[i - 100] = x;
    }
}

static void the_longer_the_memory_the_longer_the_blocks(void **state)
{
    (void)state;
    enum { COUNT = 128, SERIES = 50 };
    static const double kept[] = {0, 0.5, 0.9};
    double series[COUNT], lengths[3] = {0};
    struct random random = {1};
    for (size_t k = 0; k < 3; k++)
        for (int i = 0; i < SERIES; i++) {
            make_series(series, COUNT, kept[k], &random);
            lengths[k] += (double)block_length(series, COUNT) / SERIES;
        }
    assert_true(lengths[0] < 4);
    assert_true(lengths[0] < lengths[1] && lengths[1] < lengths[2]);
    for (size_t i = 0; i < COUNT; i++)
        series[i] = 3;
    assert_int_equal(block_length(series, COUNT), 1);
    assert_int_equal(block_length(series, 3), 1);
}

/* The mean of independent values of variance 1 varies by 1 / count. */
static void blocks_are_drawn_evenly(void **state)
{
    (void)state;
    enum { COUNT = 64, DRAWS = 20000 };
    struct random random = {7};
    uint32_t weights[COUNT], total[COUNT] = {0};
    for (int r = 0; r < DRAWS; r++) {
        uint32_t drawn = 0;
        draw_blocks(&random, COUNT, 5, weights);
        for (size_t i = 0; i < COUNT; i++) {
            drawn += weights[i];
            total[i] += weights[i];
        }
        assert_int_equal(drawn, COUNT);
    }
    for (size_t i = 0; i < COUNT; i++)
        assert_float_equal((double)total[i] / DRAWS, 1, 0.1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(students_t_is_that_of_the_tables),
        cmocka_unit_test(holm_steps_down),
        cmocka_unit_test(the_longer_the_memory_the_longer_the_blocks),
        cmocka_unit_test(blocks_are_drawn_evenly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
