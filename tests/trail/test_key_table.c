/* SPDX-License-Identifier: MIT */
/* The key table against a plain array that does the same the slow way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "key_table.h"
#include "thread_table.h"

#define KEYS  500
#define STEPS 200000

static uint64_t random_state = 42;

static uint32_t pick(uint32_t below)
{
    random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(random_state >> 33) % below;
}

static void behaves_like_an_array(void **state)
{
    (void)state;
    struct key_table table;
    uint32_t expected[KEYS];
    size_t bound = 0;
    assert_int_equal(key_table_init(&table), 0);
    for (int i = 0; i < KEYS; i++)
        expected[i] = KEY_TABLE_NONE;
    for (int step = 0; step < STEPS; step++) {
        uint32_t k = pick(KEYS);
        /* addresses 64 bytes apart: the pattern that makes naive hashes collide */
        struct key_name name = {0x7f0000000000ull + 64ull * k, 1 + k % 3, 1 + k % 2};
        if (pick(2) == 0) {
            uint32_t slot = pick(1000);
            bound += expected[k] == KEY_TABLE_NONE;
            expected[k] = slot;
            assert_int_equal(key_table_put(&table, &name, slot), 0);
        } else {
            uint32_t slot = pick(4) ? expected[k] : 5000; /* sometimes not the one it is bound to */
            if (slot != KEY_TABLE_NONE && slot == expected[k]) {
                expected[k] = KEY_TABLE_NONE;
                bound--;
            }
            key_table_remove(&table, &name, slot);
        }
        uint32_t other = pick(KEYS);
        struct key_name look = {0x7f0000000000ull + 64ull * other, 1 + other % 3, 1 + other % 2};
        assert_int_equal(key_table_find(&table, &look), expected[other]);
        assert_int_equal(table.used, bound);
    }
    key_table_free(&table);
}

static void threads_stay_bounded(void **state)
{
    (void)state;
    struct thread_table table;
    assert_int_equal(thread_table_init(&table), 0);
    /* a thread that works for something is kept while many idle ones come and go */
    struct thread_stack *worker = thread_table_get(&table, 7, 1);
    thread_stack_push(worker, (struct trail_reference){3, 9});
    for (uint32_t tid = 2; tid < 200000; tid++)
        assert_non_null(thread_table_get(&table, 7, tid));
    assert_true(table.mask < 65536);
    worker = thread_table_find(&table, 7, 1);
    assert_non_null(worker);
    assert_int_equal(worker->depth, 1);
    assert_int_equal(worker->stack[0].slot, 3);
    assert_int_equal(worker->stack[0].generation, 9);
    /* threads that never leave what they entered: bounded all the same */
    for (uint32_t tid = 1; tid < 100000; tid++)
        thread_stack_push(thread_table_get(&table, 8, tid), (struct trail_reference){1, 1});
    assert_true(table.mask < 65536);
    thread_table_free(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(behaves_like_an_array),
        cmocka_unit_test(threads_stay_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
