/* SPDX-License-Identifier: MIT */
/* What is written is what is read: events, losses, and what the trace says of itself. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "err.h"
#include "points.h"
#include "reader.h"
#include "trace_directory.h"
#include "trace_writer.h"

enum { EVENTS = 20000, LOST = 11, LOSE_AT = 5000 };

static bool has_text(const struct optrail_event *event)
{
    return point_rows[event->point].role == ROLE_TEXT;
}

static struct optrail_event event_number(uint64_t i)
{
    struct optrail_event event = (struct optrail_event){.time_ns = 1000000 + i * 1000,
                                                        .point = (uint16_t)(i % POINT_COUNT),
                                                        .pid = 7,
                                                        .tid = (uint32_t)i,
                                                        .cpu = (uint16_t)(i % 4),
                                                        .key = i * 3,
                                                        .arg0 = i,
                                                        .arg1 = UINT64_MAX - i};

    if (has_text(&event))
        event.arg0 = (uintptr_t) "a text of an event";
    return event;
}

struct source {
    uint64_t next;
    bool told;
    uint64_t fail_at; /* 0: never */
};

static int source_next(void *context, struct optrail_event *events, size_t capacity)
{
    struct source *source = context;
    size_t count = 0;

    if (source->fail_at && source->next >= source->fail_at)
        return err_set(EIO, "the ring is broken");
    while (count < capacity && source->next < EVENTS)
        events[count++] = event_number(source->next++);
    return (int)count;
}

static uint64_t source_lost(void *context, uint64_t *begin_ns, uint64_t *end_ns)
{
    struct source *source = context;

    if (source->told || source->next < LOSE_AT)
        return 0;
    source->told = true;
    *begin_ns = event_number(source->next - 1).time_ns;
    *end_ns = *begin_ns + 500;
    return LOST;
}

struct seen {
    uint64_t events, lost;
};

static int see_event(void *context, const struct optrail_event *event)
{
    struct seen *seen = context;
    struct optrail_event expected = event_number(seen->events++);

    assert_int_equal(event->time_ns, expected.time_ns);
    assert_int_equal(event->point, expected.point);
    assert_int_equal(event->key, expected.key);
    if (has_text(event))
        assert_string_equal((const char *)(uintptr_t)event->arg0,
                            (const char *)(uintptr_t)expected.arg0);
    assert_int_equal(event->arg1, expected.arg1);
    assert_int_equal(event->tid, expected.tid);
    assert_int_equal(event->cpu, expected.cpu);
    return 0;
}

static int see_lost(void *context, uint64_t count, uint64_t begin_ns, uint64_t end_ns)
{
    struct seen *seen = context;

    assert_true(begin_ns <= end_ns);
    seen->lost += count;
    return 0;
}

static const struct event_fact beginning[] = {
    {.name = "daemon", .text = "ceph-osd"},
    {.name = "daemon_id", .text = "3"},
    {.name = "store", .text = "filestore"},
    {.name = "recording", .text = "one"},
    {0},
};
static const struct event_fact ending[] = {
    {.name = "count_unknown_texts", .number = 42},
    {.name = "note_1", .text = "Not probed: a \"quoted\\ point\n(no such function)."},
    {0},
};

static const struct event_fact *give_ending(void *context)
{
    (void)context;
    return ending;
}

static const struct trace_ending at_end = {.facts = give_ending};

static void make_directory(char *parent, char *directory, size_t size)
{
    memcpy(parent, "/tmp/optrail-test-XXXXXX", sizeof("/tmp/optrail-test-XXXXXX"));
    assert_non_null(mkdtemp(parent));
    snprintf(directory, size, "%s/osd.3", parent);
}

static struct read_counts read_back(const char *directory, struct seen *seen)
{
    const struct event_consumer consumer = {.context = seen, .event = see_event, .lost = see_lost};
    struct read_counts counts;

    assert_int_equal(reader_run_traces(&directory, 1, &consumer, NULL, &counts), 0);
    return counts;
}

static void a_whole_trace(void **state)
{
    struct source source = {0};
    struct event_feed feed = {
        .context = &source, .next = source_next, .lost = source_lost, .facts = beginning};
    char parent[64], directory[96];
    struct seen seen = {0};

    (void)state;
    make_directory(parent, directory, sizeof(directory));
    assert_int_equal(trace_write(&feed, directory, &at_end), 0);
    struct read_counts counts = read_back(directory, &seen);
    assert_int_equal(seen.events, EVENTS);
    assert_int_equal(seen.lost, LOST);
    assert_string_equal(counts.tracer, "bpf");
    assert_true(counts.told.recorded);
    assert_int_equal(counts.told.unfinished, 0);
    assert_string_equal(counts.told.daemon, "ceph-osd");
    assert_string_equal(counts.told.id, "3");
    assert_string_equal(counts.told.store, "filestore");
    assert_int_equal(counts.told.count_count, 1);
    assert_string_equal(counts.told.counts[0].name, "unknown_texts");
    assert_int_equal(counts.told.counts[0].value, 42);
    assert_int_equal(counts.told.note_count, 1);
    assert_string_equal(counts.told.notes[0], "Not probed: a \"quoted\\ point (no such function).");
    trace_directory_remove(parent);
}

static void a_feed_that_fails_keeps_what_there_was(void **state)
{
    struct source source = {.fail_at = 9000};
    struct event_feed feed = {.context = &source, .next = source_next, .facts = beginning};
    char parent[64], directory[96];
    struct seen seen = {0};

    (void)state;
    make_directory(parent, directory, sizeof(directory));
    assert_int_equal(trace_write(&feed, directory, &at_end), -EIO);
    assert_string_equal(err_message(), "the ring is broken");
    struct read_counts counts = read_back(directory, &seen);
    assert_true(source.next >= source.fail_at);
    assert_int_equal(seen.events, source.next);
    assert_int_equal(counts.told.unfinished, 1);
    assert_int_equal(counts.told.counts[0].value, 42);
    trace_directory_remove(parent);
}

static void no_events_are_a_trace_as_well(void **state)
{
    struct source source = {.next = EVENTS};
    struct event_feed feed = {.context = &source, .next = source_next, .facts = beginning};
    char parent[64], directory[96];
    struct seen seen = {0};

    (void)state;
    make_directory(parent, directory, sizeof(directory));
    assert_int_equal(trace_write(&feed, directory, NULL), 0);
    read_back(directory, &seen);
    assert_int_equal(seen.events, 0);
    trace_directory_remove(parent);
}

/* Recordings of several daemons, each in a thread of its own, that end at the same moment: so does
 * `optrail record --all`. */
enum { AT_ONCE = 4, ROUNDS = 25 };

struct recorder {
    pthread_t thread;
    pthread_barrier_t *ready;
    char directory[128];
    int result;
};

static void *record_briefly(void *context)
{
    struct recorder *recorder = context;
    struct source source = {.next = EVENTS - 100};
    struct event_feed feed = {.context = &source, .next = source_next, .facts = beginning};

    pthread_barrier_wait(recorder->ready);
    recorder->result = trace_write(&feed, recorder->directory, &at_end);
    return NULL;
}

static void several_at_once(void **state)
{
    struct recorder recorders[AT_ONCE];
    pthread_barrier_t ready;
    char parent[64], directory[96];

    (void)state;
    assert_int_equal(pthread_barrier_init(&ready, NULL, AT_ONCE), 0);
    for (int round = 0; round < ROUNDS; round++) {
        make_directory(parent, directory, sizeof(directory));
        for (int i = 0; i < AT_ONCE; i++) {
            recorders[i].ready = &ready;
            snprintf(recorders[i].directory, sizeof(recorders[i].directory), "%s-%d", directory, i);
            assert_int_equal(
                pthread_create(&recorders[i].thread, NULL, record_briefly, &recorders[i]), 0);
        }
        for (int i = 0; i < AT_ONCE; i++) {
            pthread_join(recorders[i].thread, NULL);
            assert_int_equal(recorders[i].result, 0);
        }
        trace_directory_remove(parent);
    }
    pthread_barrier_destroy(&ready);
}

static void a_place_that_cannot_be_written(void **state)
{
    struct source source = {0};
    struct event_feed feed = {.context = &source, .next = source_next, .facts = beginning};

    (void)state;
    assert_true(trace_write(&feed, "/proc/no-place/osd.0", NULL) < 0);
    assert_non_null(strstr(err_message(), "/proc/no-place"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_trace),
        cmocka_unit_test(a_feed_that_fails_keeps_what_there_was),
        cmocka_unit_test(no_events_are_a_trace_as_well),
        cmocka_unit_test(several_at_once),
        cmocka_unit_test(a_place_that_cannot_be_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
