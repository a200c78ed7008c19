/* SPDX-License-Identifier: MIT */
/* Events of several CPUs come almost in order, and leave in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "event_order.h"

static void add(struct event_order *order, uint64_t time_ns, uint64_t key)
{
    const struct optrail_event event = {.time_ns = time_ns, .key = key};
    assert_int_equal(event_order_add(order, &event), 0);
}

static void test_two_cpus_are_merged(void **state)
{
    (void)state;
    struct event_order order = {0};
    struct optrail_event events[8];
    add(&order, 10, 1);
    add(&order, 30, 3);
    add(&order, 20, 2);
    add(&order, 40, 4);
    assert_int_equal(event_order_take(&order, events, 8), 0);
    event_order_release(&order, 30);
    assert_int_equal(event_order_take(&order, events, 2), 2);
    assert_int_equal(events[0].key, 1);
    assert_int_equal(events[1].key, 2);
    assert_int_equal(event_order_take(&order, events, 8), 1);
    assert_int_equal(events[0].key, 3);
    event_order_release(&order, UINT64_MAX);
    assert_int_equal(event_order_take(&order, events, 8), 1);
    assert_int_equal(events[0].key, 4);
    assert_int_equal(order.late, 0);
    event_order_free(&order);
}

/* Two captures that are asked one after the other: the second one's events are all older than some
 * of the first one's. */
static void test_two_that_come_one_after_the_other_are_merged(void **state)
{
    (void)state;
    struct event_order order = {0};
    struct optrail_event events[64];
    uint64_t next = 0;
    for (uint64_t i = 0; i < 200000; i++)
        add(&order, 10 * i, 2 * i);
    for (uint64_t i = 0; i < 200000; i++)
        add(&order, 10 * i, 2 * i + 1);
    event_order_release(&order, UINT64_MAX);
    for (size_t count; (count = event_order_take(&order, events, 64)) != 0;)
        for (size_t i = 0; i < count; i++, next++) {
            assert_int_equal(events[i].time_ns, 10 * (next / 2));
            assert_int_equal(events[i].key, next);
        }
    assert_int_equal(next, 400000);
    assert_int_equal(order.late, 0);
    event_order_free(&order);
}

static void test_equal_times_keep_their_order(void **state)
{
    (void)state;
    struct event_order order = {0};
    struct optrail_event events[4];
    add(&order, 5, 1);
    add(&order, 5, 2);
    add(&order, 5, 3);
    event_order_release(&order, 5);
    assert_int_equal(event_order_take(&order, events, 4), 3);
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(events[i].key, i + 1);
    event_order_free(&order);
}

static void test_a_late_one_is_moved_up_and_counted(void **state)
{
    (void)state;
    struct event_order order = {0};
    struct optrail_event events[4];
    add(&order, 100, 1);
    event_order_release(&order, 200);
    add(&order, 50, 2);
    add(&order, 150, 3); /* not late: nothing newer has left */
    event_order_release(&order, UINT64_MAX);
    assert_int_equal(event_order_take(&order, events, 4), 3);
    assert_int_equal(events[1].key, 2);
    assert_int_equal(events[1].time_ns, 100);
    assert_int_equal(events[1].flags, EVENT_FLAG_LATE);
    assert_int_equal(events[2].time_ns, 150);
    assert_int_equal(events[2].flags, 0);
    assert_int_equal(order.late, 1);
    event_order_free(&order);
}

/* A hundred thousand events with a jitter of up to 50 leave in order, none lost, in bounded room.
 */
static void test_a_long_run(void **state)
{
    (void)state;
    struct event_order order = {0};
    struct optrail_event events[64];
    uint64_t taken = 0, last = 0, sum = 0;
    srand(1);
    for (uint64_t i = 1; i <= 100000; i++) {
        add(&order, 1000 + 10 * i + (uint64_t)(rand() % 50), i);
        if (i % 97 != 0)
            continue;
        event_order_release(&order, 1000 + 10 * i - 10);
        for (size_t count; (count = event_order_take(&order, events, 64)) > 0; taken += count)
            for (size_t e = 0; e < count; e++) {
                assert_true(events[e].time_ns >= last);
                last = events[e].time_ns;
                sum += events[e].key;
            }
    }
    event_order_release(&order, UINT64_MAX);
    for (size_t count; (count = event_order_take(&order, events, 64)) > 0; taken += count)
        for (size_t e = 0; e < count; e++)
            sum += events[e].key;
    assert_int_equal(taken, 100000);
    assert_int_equal(sum, 100000ull * 100001 / 2);
    assert_int_equal(order.late, 0);
    assert_true(order.capacity <= 1024);
    event_order_free(&order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_cpus_are_merged),
        cmocka_unit_test(test_two_that_come_one_after_the_other_are_merged),
        cmocka_unit_test(test_equal_times_keep_their_order),
        cmocka_unit_test(test_a_late_one_is_moved_up_and_counted),
        cmocka_unit_test(test_a_long_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
