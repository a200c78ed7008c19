/* SPDX-License-Identifier: MIT */
/* A duty cycle on a made-up clock: how long it looks, how long it waits for the slowest, and that
 * the part of the time comes out as it was asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "duty_cycle.h"

#define MS 1000000ull
/* The way out of the probes. */
#define WAY_OUT (60 * MS)

struct slice {
    uint64_t told, drained; /* ns */
};

/* One slice from its beginning (*now) to the beginning of the next one. `slowest`: of its ops. */
static struct slice run_slice(struct duty_cycle *cycle, uint64_t *now, uint64_t *probed,
                              uint64_t slowest)
{
    struct slice slice;
    uint64_t begin = *now;
    assert_int_equal(cycle->state, DUTY_TRACING);
    duty_cycle_slowest(cycle, slowest);
    *now = duty_cycle_due_ns(cycle);
    slice.told = *now - begin;
    duty_cycle_paused(cycle, *now);
    assert_int_equal(duty_cycle_last_ns(cycle), slice.told);
    uint64_t paused = *now;
    *now = duty_cycle_due_ns(cycle);
    slice.drained = *now - paused;
    assert_true(duty_cycle_in(cycle));
    *now += WAY_OUT;
    *probed += *now - begin;
    duty_cycle_stopped(cycle, *now, *probed);
    assert_false(duty_cycle_in(cycle));
    assert_true(duty_cycle_due_ns(cycle) >= *now);
    *now = duty_cycle_due_ns(cycle);
    duty_cycle_resumed(cycle, *now);
    return slice;
}

static void test_quick_ops(void **state)
{
    (void)state;
    struct duty_cycle cycle;
    uint64_t now = 5 * MS, probed = 0;
    duty_cycle_begin(&cycle, 0.1, 200 * MS, now);
    for (int i = 0; i < 20; i++) {
        struct slice slice = run_slice(&cycle, &now, &probed, MS);
        assert_int_equal(slice.told, 200 * MS);
        assert_int_equal(slice.drained, 20 * MS);
        /* probed / passed, to the ns that rounding takes */
        assert_in_range(now - 5 * MS, 10 * probed - 20, 10 * probed + 20);
    }
}

static void test_slow_ops(void **state)
{
    (void)state;
    struct duty_cycle cycle;
    uint64_t now = 0, probed = 0;
    duty_cycle_begin(&cycle, 0.25, 200 * MS, now);
    run_slice(&cycle, &now, &probed, MS);
    struct slice slow = run_slice(&cycle, &now, &probed, 700 * MS);
    assert_true(slow.told > 700 * MS && slow.drained > 700 * MS);
    /* a slow one is remembered for some slices, and then no longer */
    struct slice next = run_slice(&cycle, &now, &probed, MS);
    assert_int_equal(next.told, slow.told);
    for (int i = 0; i < DUTY_LOOK_BACK; i++)
        next = run_slice(&cycle, &now, &probed, MS);
    assert_int_equal(next.told, 200 * MS);
    /* one that hangs does not keep the probes in for ever */
    slow = run_slice(&cycle, &now, &probed, 3600000 * MS);
    assert_true(slow.told <= 10000 * MS && slow.drained <= 2000 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quick_ops),
        cmocka_unit_test(test_slow_ops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
