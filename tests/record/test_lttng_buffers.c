/* SPDX-License-Identifier: MIT */
/* The sizes of LTTng's buffers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lttng_buffers.h"

#define MIB (1ull << 20)
#define GIB (1ull << 30)

static void a_rate_finds_room(void **state)
{
    const uint64_t rates[] = {1000, 100000, 1000000, 5000000};

    (void)state;
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        struct lttng_buffers buffers = lttng_buffers_choose(rates[i], 1, 4, 64 * GIB);
        /* half of a second's events in one CPU's buffers, and no more than four times that */
        uint64_t bytes = buffers.bytes * buffers.count, wanted = rates[i] / 2 * 44;
        assert_true(bytes >= wanted);
        assert_true(bytes <= 4 * wanted || buffers.bytes == 64 << 10);
    }
}

static void both_are_powers_of_two(void **state)
{
    (void)state;
    for (uint64_t rate = 1; rate < 1000000000; rate *= 7) {
        struct lttng_buffers buffers = lttng_buffers_choose(rate, 3, 2, 8 * GIB);
        assert_int_equal(buffers.bytes & (buffers.bytes - 1), 0);
        assert_int_equal(buffers.count & (buffers.count - 1), 0);
        assert_true(buffers.count >= 2);
    }
}

static void many_cpus_do_not_eat_the_memory(void **state)
{
    struct lttng_buffers buffers = lttng_buffers_choose(10000000, 10, 256, 512 * MIB);

    (void)state;
    assert_true(buffers.bytes * buffers.count * 256 <= 512 * MIB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rate_finds_room),
        cmocka_unit_test(both_are_powers_of_two),
        cmocka_unit_test(many_cpus_do_not_eat_the_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
