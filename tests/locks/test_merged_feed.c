/* SPDX-License-Identifier: MIT */
/* What captures tell comes among the probes' events, in one order of time, however late the reader
 * is. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "clock_ns.h"
#include "merged_feed.h"

#define SECOND_NS 1000000000ull
#define PROBES    20000
#define WAITS     40

/* A daemon whose probes have told for two seconds, and nobody has read it. */
struct story {
    uint64_t begin_ns;
    uint64_t told, waits_told;
    bool ended;
};

static uint64_t probe_time(const struct story *story, uint64_t number)
{
    return story->begin_ns + number * (2 * SECOND_NS / PROBES);
}

static int tell_probes(void *context, struct optrail_event *events, size_t capacity)
{
    struct story *story = context;
    size_t count = 0;
    while (count < capacity && story->told < PROBES) {
        events[count++] =
            (struct optrail_event){.time_ns = probe_time(story, story->told), .key = story->told};
        story->told++;
    }
    if (count == 0 && !story->ended) {
        story->ended = true;
        return -EAGAIN;
    }
    return (int)count;
}

/* All waits of these two seconds come up at once. */
static int tell_waits(void *context, struct merged_feed *feed)
{
    struct story *story = context;
    int error = 0;
    for (; !error && story->waits_told < WAITS; story->waits_told++) {
        const struct optrail_event wait = {
            .time_ns = story->begin_ns + story->waits_told * (2 * SECOND_NS / WAITS) + 1,
            .key = PROBES + story->waits_told};
        error = merged_feed_add(feed, &wait);
    }
    return error;
}

static void a_reader_that_comes_late_loses_no_time(void **state)
{
    (void)state;
    struct story story = {.begin_ns = monotonic_ns() - 3 * SECOND_NS};
    struct event_feed inner = {.context = &story, .next = tell_probes};
    const struct merged_source source = {
        .context = &story, .poll = tell_waits, .finish = tell_waits};
    struct merged_feed merged;
    struct optrail_event events[256];
    uint64_t probes = 0, waits = 0, last_ns = 0;
    int got;
    assert_int_equal(merged_feed_init(&merged, &inner), 0);
    merged_feed_source(&merged, &source);
    while ((got = merged.feed.next(merged.feed.context, events, 256)) != 0) {
        for (int i = 0; i < got; i++) {
            assert_true(events[i].time_ns >= last_ns);
            last_ns = events[i].time_ns;
            if (events[i].key >= PROBES) {
                waits++;
                continue;
            }
            assert_int_equal(events[i].key, probes);
            assert_int_equal(events[i].time_ns, probe_time(&story, probes));
            probes++;
        }
    }
    assert_int_equal(probes, PROBES);
    assert_int_equal(waits, WAITS);
    assert_int_equal(merged_feed_moved(&merged), 0);
    merged_feed_free(&merged);
}

/* The inner feed breaks its word: the order is kept, and that is counted. */
static int tell_backwards(void *context, struct optrail_event *events, size_t capacity)
{
    struct story *story = context;
    (void)capacity;
    if (story->told == 3)
        return 0;
    events[0] = (struct optrail_event){.time_ns = story->begin_ns - story->told++};
    return 1;
}

static void what_comes_too_late_is_counted(void **state)
{
    (void)state;
    struct story story = {.begin_ns = monotonic_ns() - 3 * SECOND_NS, .waits_told = WAITS};
    struct event_feed inner = {.context = &story, .next = tell_backwards};
    struct merged_feed merged;
    struct optrail_event events[8];
    int got, count = 0;
    assert_int_equal(merged_feed_init(&merged, &inner), 0);
    while ((got = merged.feed.next(merged.feed.context, events, 8)) != 0)
        for (int i = 0; i < got; i++, count++)
            assert_int_equal(events[i].time_ns, story.begin_ns);
    assert_int_equal(count, 3);
    assert_int_equal(merged_feed_moved(&merged), 2);
    merged_feed_free(&merged);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reader_that_comes_late_loses_no_time),
        cmocka_unit_test(what_comes_too_late_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
