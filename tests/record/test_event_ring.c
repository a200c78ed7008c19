/* SPDX-License-Identifier: MIT */
/* The flight recorder's memory: what is kept, what is handed out, and each event only once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "event_ring.h"

#define SECOND 1000000000ull

static void add(struct event_ring *ring, uint64_t first, uint64_t last)
{
    for (uint64_t i = first; i <= last; i++) {
        const struct optrail_event event = {.time_ns = i * SECOND, .key = i};
        event_ring_add(ring, &event);
    }
}

/* Reads all; checks that the keys run from `first` to `last`; returns how many losses were told. */
static uint64_t expect(struct event_ring *ring, double seconds, uint64_t first, uint64_t last)
{
    struct event_ring_cursor cursor;
    struct optrail_event events[3];
    uint64_t begin, end, lost = 0, expected = first;
    int got;

    event_ring_read(ring, (uint64_t)(seconds * 1e9), &cursor);
    assert_int_equal(cursor.count, last + 1 - first);
    while ((got = cursor.feed.next(cursor.feed.context, events, 3)) > 0) {
        for (int i = 0; i < got; i++)
            assert_int_equal(events[i].key, expected++);
        lost += cursor.feed.lost(cursor.feed.context, &begin, &end);
    }
    assert_int_equal(got, 0);
    assert_int_equal(expected, last + 1);
    return lost;
}

/* The text of the event with this key, from a ring that holds `count` events. */
static void expect_text(struct event_ring *ring, uint64_t key, const char *text)
{
    const struct optrail_event *event = &ring->events[(ring->added - 1) % ring->capacity];

    assert_int_equal(event->key, key);
    if (text)
        assert_string_equal((const char *)(uintptr_t)event->arg0, text);
    else
        assert_int_equal(event->arg0, 0);
}

static void add_text(struct event_ring *ring, uint64_t key, const char *text)
{
    /* the text that came with the event is gone afterwards */
    char passing[256];
    struct optrail_event event = {.key = key, .point = POINT_lock_named};

    snprintf(passing, sizeof(passing), "%s", text);
    event.arg0 = (uintptr_t)passing;
    event_ring_add(ring, &event);
    memset(passing, '?', sizeof(passing));
}

static void texts_are_copied_as_far_as_there_is_room(void **state)
{
    struct event_ring ring;

    (void)state;
    /* eight events, and beside them room for an eighth of that: 48 bytes */
    assert_int_equal(event_ring_init(&ring, 8 * sizeof(struct optrail_event)), 0);
    add_text(&ring, 1, "twenty-three characters");
    expect_text(&ring, 1, "twenty-three characters");
    add_text(&ring, 2, "twenty-three characters");
    expect_text(&ring, 2, "twenty-three characters");
    add_text(&ring, 3, "");
    expect_text(&ring, 3, NULL);
    /* the oldest makes room for it, with its text */
    add(&ring, 4, 8);
    add_text(&ring, 9, "another text");
    expect_text(&ring, 9, "another text");
    for (uint64_t i = 0; i < 1000; i++) {
        add_text(&ring, i, "short");
        add(&ring, i, i);
    }
    add_text(&ring, 10, "shorter");
    expect_text(&ring, 10, "shorter");
    assert_in_range(ring.text_bytes, 1, ring.text_limit);
    event_ring_free(&ring);
}

static void the_newest_seconds_are_kept(void **state)
{
    struct event_ring ring;

    (void)state;
    assert_int_equal(event_ring_init(&ring, 1000 * sizeof(struct optrail_event)), 0);
    add(&ring, 1, 100);
    expect(&ring, 10, 90, 100);
    event_ring_free(&ring);
}

static void no_event_is_handed_out_twice(void **state)
{
    struct event_ring ring;

    (void)state;
    assert_int_equal(event_ring_init(&ring, 1000 * sizeof(struct optrail_event)), 0);
    add(&ring, 1, 20);
    expect(&ring, 100, 1, 20);
    expect(&ring, 100, 1, 0);
    add(&ring, 21, 25);
    expect(&ring, 100, 21, 25);
    event_ring_free(&ring);
}

static void a_small_ring_keeps_the_newest_and_says_so(void **state)
{
    struct event_ring_cursor cursor;
    struct event_ring ring;

    (void)state;
    assert_int_equal(event_ring_init(&ring, 8 * sizeof(struct optrail_event)), 0);
    add(&ring, 1, 100);
    event_ring_read(&ring, 10 * SECOND, &cursor);
    assert_int_equal(cursor.count, 8);
    assert_true(cursor.shortened);
    add(&ring, 101, 103);
    event_ring_read(&ring, 10 * SECOND, &cursor);
    assert_int_equal(cursor.count, 3);
    assert_false(cursor.shortened);
    event_ring_free(&ring);
}

static void losses_come_along_but_old_ones_do_not(void **state)
{
    const struct event_loss old = {.count = 5, .begin_ns = 10 * SECOND, .end_ns = 11 * SECOND};
    const struct event_loss recent = {.count = 7, .begin_ns = 95 * SECOND, .end_ns = 96 * SECOND};
    struct event_ring ring;

    (void)state;
    assert_int_equal(event_ring_init(&ring, 1000 * sizeof(struct optrail_event)), 0);
    add(&ring, 1, 50);
    event_ring_add_loss(&ring, &old);
    add(&ring, 51, 100);
    event_ring_add_loss(&ring, &recent);
    assert_int_equal(expect(&ring, 10, 90, 100), 7);
    event_ring_free(&ring);
}

static void many_losses_add_up(void **state)
{
    struct event_ring ring;

    (void)state;
    assert_int_equal(event_ring_init(&ring, 1000 * sizeof(struct optrail_event)), 0);
    add(&ring, 1, 500);
    for (uint64_t i = 1; i <= 500; i++) {
        const struct event_loss loss = {.count = 1, .begin_ns = i * SECOND, .end_ns = i * SECOND};
        event_ring_add_loss(&ring, &loss);
    }
    assert_int_equal(expect(&ring, 1000, 1, 500), 500);
    event_ring_free(&ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_copied_as_far_as_there_is_room),
        cmocka_unit_test(the_newest_seconds_are_kept),
        cmocka_unit_test(no_event_is_handed_out_twice),
        cmocka_unit_test(a_small_ring_keeps_the_newest_and_says_so),
        cmocka_unit_test(losses_come_along_but_old_ones_do_not),
        cmocka_unit_test(many_losses_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
