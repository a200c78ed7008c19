/* SPDX-License-Identifier: MIT */
/* A wait as events, and back: nothing of it is lost on the way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lock_events.h"

static struct lock_wait there_and_back(const struct lock_wait *wait, size_t *count)
{
    struct optrail_event events[LOCK_WAIT_EVENTS];
    struct lock_wait back = {0};
    *count = lock_wait_events(wait, events);
    assert_true(*count >= 1 && *count <= LOCK_WAIT_EVENTS);
    assert_int_equal(events[0].point, POINT_lock_waited);
    for (size_t i = 0; i < *count; i++) {
        assert_int_equal(events[i].time_ns, wait->end_ns);
        assert_int_equal(events[i].tid, wait->tid);
        assert_int_equal(events[i].key, wait->lock);
        lock_wait_from_event(&back, &events[i]);
    }
    return back;
}

static void a_whole_wait(void **state)
{
    (void)state;
    const struct lock_wait wait = {.begin_ns = 1000,
                                   .end_ns = 51000,
                                   .lock = 0x7f0012345678,
                                   .hold_ns = 12345,
                                   .running_ns = 20000,
                                   .runnable_ns = 3000,
                                   .disk_ns = 4000,
                                   .asleep_ns = 5000,
                                   .chain_ns = 6000,
                                   .chain_lock = 0x7f0012345600,
                                   .pid = 100,
                                   .tid = 101,
                                   .owner_tid = 102,
                                   .releaser_tid = 103,
                                   .stack = 7,
                                   .holder_stack = 8,
                                   .weight = 64,
                                   .futex_calls = 3,
                                   .kind = WAIT_rwlock_write,
                                   .point = LOCK_WAIT_NO_POINT,
                                   .holder_point = LOCK_WAIT_NO_POINT,
                                   .flags = LOCK_WAIT_ROBUST};
    size_t count;
    struct lock_wait back = there_and_back(&wait, &count);
    assert_memory_equal(&back, &wait, sizeof(wait));
    assert_int_equal(count, 5);
}

/* Most tell little: one event then. */
static void a_plain_wait(void **state)
{
    (void)state;
    const struct lock_wait wait = {.begin_ns = 10,
                                   .end_ns = 20,
                                   .lock = 8,
                                   .pid = 1,
                                   .tid = 2,
                                   .weight = 1,
                                   .futex_calls = 1,
                                   .kind = WAIT_allocator,
                                   .point = LOCK_WAIT_NO_POINT,
                                   .holder_point = LOCK_WAIT_NO_POINT};
    size_t count;
    struct lock_wait back = there_and_back(&wait, &count);
    assert_memory_equal(&back, &wait, sizeof(wait));
    assert_int_equal(count, 1);
}

/* What has no room says the most that there is room for. */
static void a_long_hold(void **state)
{
    (void)state;
    const struct lock_wait wait = {
        .end_ns = 20, .hold_ns = 1ull << 40, .running_ns = 1ull << 33, .weight = 1};
    size_t count;
    struct lock_wait back = there_and_back(&wait, &count);
    assert_int_equal(back.hold_ns, UINT32_MAX);
    assert_int_equal(back.running_ns, UINT32_MAX);
}

static void a_stack(void **state)
{
    (void)state;
    const struct lock_wait wait = {.end_ns = 20, .pid = 1, .tid = 2};
    const char *frames = "a;b;c";
    struct optrail_event event = lock_stack_event(&wait, 9, frames);
    assert_int_equal(event.point, POINT_stack_define);
    assert_int_equal(event.key, 9);
    assert_int_equal(event.arg1, 3);
    assert_ptr_equal((const char *)(uintptr_t)event.arg0, frames);
    assert_int_equal(lock_stack_event(&wait, 9, "").arg1, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_whole_wait),
                                       cmocka_unit_test(a_plain_wait),
                                       cmocka_unit_test(a_long_hold), cmocka_unit_test(a_stack)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
