/* SPDX-License-Identifier: MIT */
/* Intervals of growing sums are what sums of their own would have been. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "fold.h"
#include "stage_intervals.h"

static uint64_t random_state = 1;

static uint64_t next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* An op that no path knows: its latency is what counts here. */
static struct trail trail_of(uint64_t latency)
{
    static const struct trail_mark marks[1];
    return (struct trail){.start_ns = 1000,
                          .finish_ns = 1000 + latency,
                          .bytes_in = 100,
                          .mark_count = 1,
                          .marks = marks};
}

static struct op_divider *divider;

static int setup(void **state)
{
    static const struct path_set none;
    (void)state;
    divider = op_divider_new(&none);
    return divider ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    op_divider_free(divider);
    return 0;
}

static void add(struct stage_sums *sums, const struct trail *trail)
{
    assert_int_equal(stage_sums_add(sums, trail, &op_divider_divide(divider, trail)->parts), 0);
}

static void assert_rows_equal(const struct report_op *one, const struct report_op *other)
{
    assert_int_equal(one->count, other->count);
    assert_int_equal(one->bytes, other->bytes);
    assert_int_equal(one->total_ns, other->total_ns);
    assert_int_equal(one->unattributed_ns, other->unattributed_ns);
    assert_int_equal(one->latency.p50, other->latency.p50);
    assert_int_equal(one->latency.p90, other->latency.p90);
    assert_int_equal(one->latency.p99, other->latency.p99);
    /* the largest is known within its bucket */
    double difference = (double)one->latency.max - (double)other->latency.max;
    assert_true(difference >= 0 && difference <= 0.016 * (double)other->latency.max + 1);
}

static void each_interval_is_what_came_in_it(void **state)
{
    (void)state;
    struct stage_sums *sums = stage_sums_new("write", NULL);
    struct stage_intervals *intervals = stage_intervals_new();
    for (int interval = 0; interval < 20; interval++) {
        struct stage_sums *alone = stage_sums_new("write", NULL);
        uint64_t ops = 200 + next() % 5000; /* fewer: p99 is the largest */
        for (uint64_t i = 0; i < ops; i++) {
            struct trail trail = trail_of(next() >> (30 + next() % 30));
            add(sums, &trail);
            add(alone, &trail);
        }
        struct report *got, *expected;
        assert_int_equal(report_new(&got), 0);
        assert_int_equal(report_new(&expected), 0);
        assert_int_equal(stage_intervals_fill(intervals, &sums, 1, got), 0);
        assert_int_equal(stage_sums_fill(alone, expected), 0);
        assert_int_equal(got->op_count, 1);
        assert_int_equal(got->counts.ops, ops);
        assert_rows_equal(&got->ops[0], &expected->ops[0]);
        report_free(got);
        report_free(expected);
        stage_sums_free(alone);
    }
    stage_intervals_free(intervals);
    stage_sums_free(sums);
}

static void an_interval_without_ops_has_no_rows(void **state)
{
    (void)state;
    struct stage_sums *sums = stage_sums_new("write", NULL);
    struct stage_intervals *intervals = stage_intervals_new();
    struct trail trail = trail_of(5);
    add(sums, &trail);
    for (size_t rows = 1; rows <= 1; rows--) {
        struct report *report;
        assert_int_equal(report_new(&report), 0);
        assert_int_equal(stage_intervals_fill(intervals, &sums, 1, report), 0);
        assert_int_equal(report->op_count, rows);
        report_free(report);
    }
    stage_intervals_free(intervals);
    stage_sums_free(sums);
}

/* The fold as a whole: the sum of the intervals is the report of everything. */
static void intervals_add_up_to_the_whole(void **state)
{
    (void)state;
    const struct path_set paths = {0};
    const struct fold_options options = {.paths = &paths};
    void *fold;
    uint64_t ops = 0, total = 0;
    assert_int_equal(fold_stages.create(&options, &fold), 0);
    for (int interval = 0; interval < 5; interval++) {
        for (int i = 0; i < 100; i++) {
            struct trail trail = trail_of(next() % 1000000);
            assert_int_equal(fold_stages.trail(fold, &trail, op_divider_divide(divider, &trail)),
                             0);
        }
        struct report *report;
        assert_int_equal(report_new(&report), 0);
        assert_int_equal(fold_stages.interval(fold, report), 0);
        ops += report->ops[0].count;
        total += report->ops[0].total_ns;
        report_free(report);
    }
    struct report *whole;
    assert_int_equal(report_new(&whole), 0);
    assert_int_equal(fold_stages.fill(fold, whole), 0);
    assert_int_equal(whole->ops[0].count, ops);
    assert_int_equal(ops, 500);
    assert_int_equal(whole->ops[0].total_ns, total);
    report_free(whole);
    fold_stages.free(fold);
}

static void the_slowest_of_the_interval_and_of_all(void **state)
{
    (void)state;
    const struct path_set paths = {0};
    const struct fold_options options = {.paths = &paths};
    void *fold;
    assert_int_equal(fold_exemplars.create(&options, &fold), 0);
    for (uint64_t interval = 2; interval > 0; interval--) {
        for (uint64_t i = 1; i <= 100; i++) {
            struct trail trail = trail_of(interval * 1000 + (i * 37) % 101);
            trail.client = i;
            assert_int_equal(fold_exemplars.trail(fold, &trail, op_divider_divide(divider, &trail)),
                             0);
        }
        struct report *report;
        assert_int_equal(report_new(&report), 0);
        assert_int_equal(fold_exemplars.interval(fold, report), 0);
        assert_true(report->exemplar_count >= 3);
        for (size_t i = 0; i < report->exemplar_count; i++) {
            assert_int_equal(report->exemplars[i].latency_ns, interval * 1000 + 100 - i);
            assert_int_equal(report->exemplars[i].client * 37 % 101, 100 - i);
            assert_int_equal(report->exemplars[i].unattributed_ns, report->exemplars[i].latency_ns);
        }
        report_free(report);
    }
    struct report *whole;
    assert_int_equal(report_new(&whole), 0);
    assert_int_equal(fold_exemplars.fill(fold, whole), 0);
    assert_int_equal(whole->exemplars[0].latency_ns, 2100);
    report_free(whole);
    fold_exemplars.free(fold);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_interval_is_what_came_in_it),
        cmocka_unit_test(an_interval_without_ops_has_no_rows),
        cmocka_unit_test(intervals_add_up_to_the_whole),
        cmocka_unit_test(the_slowest_of_the_interval_and_of_all),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
