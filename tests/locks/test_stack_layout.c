/* SPDX-License-Identifier: MIT */
/* Which of a stack's first words are return addresses, as unwinding tells: and when that is not to
 * be believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stack_layout.h"

#define WORDS 128
#define SP    0x7000000000ull

static uint64_t words[WORDS];

static struct stack_snapshot snapshot_of(size_t count)
{
    struct stack_snapshot snapshot = {.stack = (const uint8_t *)words, .size = count * 8};
    snapshot.registers[STACK_RSP] = SP;
    for (size_t i = 0; i < WORDS; i++)
        words[i] = 0x1000 + i;
    return snapshot;
}

/* The stack pointer in the frame whose return address is this word. */
static uint64_t above(size_t word)
{
    return SP + (word + 1) * 8;
}

static void return_addresses_alone_count(void **state)
{
    (void)state;
    const uint64_t frames[] = {1, 0x1003, 0x1009}, pointers[] = {SP, above(3), above(9)};
    struct stack_snapshot snapshot = snapshot_of(WORDS);
    struct lock_layout layout = stack_layout_make(&snapshot, frames, pointers, 3, true);
    assert_int_equal(layout.count, 2);
    assert_int_equal(layout.at[0], 3);
    assert_int_equal(layout.at[1], 9);
    uint64_t hash = stack_layout_hash(&snapshot, &layout);
    words[5] = 0x1009; /* what was left there */
    assert_true(stack_layout_hash(&snapshot, &layout) == hash);
    words[9] = 0x1008; /* another caller */
    assert_false(stack_layout_hash(&snapshot, &layout) == hash);
}

static void what_lies_farther_away_is_not_looked_at(void **state)
{
    (void)state;
    const uint64_t frames[] = {1, 0x1003, 0x1000 + LOCK_KEY_WORDS};
    const uint64_t pointers[] = {SP, above(3), above(LOCK_KEY_WORDS)};
    struct stack_snapshot snapshot = snapshot_of(WORDS);
    assert_int_equal(stack_layout_make(&snapshot, frames, pointers, 3, false).count, 1);
}

static void a_stack_that_is_not_known_to_its_end_has_none(void **state)
{
    (void)state;
    const uint64_t frames[] = {1, 0x1003}, pointers[] = {SP, above(3)};
    struct stack_snapshot snapshot = snapshot_of(WORDS);
    assert_int_equal(stack_layout_make(&snapshot, frames, pointers, 2, false).count, 0);
    assert_int_equal(stack_layout_make(&snapshot, frames, pointers, 1, true).count, 0);
}

static void nonsense_has_none(void **state)
{
    (void)state;
    const uint64_t frames[] = {1, 0x1003, 0x1009};
    const uint64_t strange[][3] = {
        {SP, above(4), above(9)},     /* a signal: the address lies elsewhere */
        {SP, above(3) + 1, above(9)}, /* between two words */
        {SP, SP, above(9)},           /* below the stack pointer */
        {SP, above(9), above(3)},     /* downwards, and not what is there */
    };
    for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++) {
        struct stack_snapshot snapshot = snapshot_of(WORDS);
        assert_int_equal(stack_layout_make(&snapshot, frames, strange[i], 3, true).count, 0);
    }
    const uint64_t pointers[] = {SP, above(3), above(9)};
    struct stack_snapshot small = snapshot_of(2), empty = snapshot_of(0);
    assert_int_equal(stack_layout_make(&small, frames, pointers, 3, true).count, 0);
    assert_int_equal(stack_layout_make(&empty, frames, pointers, 3, true).count, 0);
}

static void more_frames_than_there_is_room_for(void **state)
{
    (void)state;
    uint64_t frames[LOCK_LAYOUT_FRAMES + 5] = {1}, pointers[LOCK_LAYOUT_FRAMES + 5] = {SP};
    for (size_t i = 1; i < LOCK_LAYOUT_FRAMES + 5; i++) {
        frames[i] = 0x1000 + i;
        pointers[i] = above(i);
    }
    struct stack_snapshot snapshot = snapshot_of(WORDS);
    assert_int_equal(
        stack_layout_make(&snapshot, frames, pointers, LOCK_LAYOUT_FRAMES + 5, true).count,
        LOCK_LAYOUT_FRAMES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(return_addresses_alone_count),
        cmocka_unit_test(what_lies_farther_away_is_not_looked_at),
        cmocka_unit_test(a_stack_that_is_not_known_to_its_end_has_none),
        cmocka_unit_test(nonsense_has_none), cmocka_unit_test(more_frames_than_there_is_room_for)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
