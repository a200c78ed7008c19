/* SPDX-License-Identifier: MIT */
/* Ops from events: each test tells a small story and looks at the trails that come out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "trail.h"

#define MAX_TRAILS 64
#define MAX_MARKS  64
#define PID        100

struct seen {
    struct trail trail;
    struct trail_mark marks[MAX_MARKS];
};

struct story {
    struct trail_builder *builder;
    size_t count;
    size_t most_marks;
    struct seen trails[MAX_TRAILS];
};

static int remember(void *context, const struct trail *trail)
{
    struct story *story = context;
    if (trail->mark_count > story->most_marks)
        story->most_marks = trail->mark_count;
    if (story->count < MAX_TRAILS) {
        struct seen *seen = &story->trails[story->count];
        size_t marks = trail->mark_count < MAX_MARKS ? trail->mark_count : MAX_MARKS;
        seen->trail = *trail;
        memcpy(seen->marks, trail->marks, marks * sizeof(seen->marks[0]));
    }
    story->count++;
    return 0;
}

static void begin(struct story *story, const struct trail_limits *limits)
{
    memset(story, 0, sizeof(*story));
    assert_int_equal(trail_builder_new(limits, remember, story, &story->builder), 0);
}

static void end(struct story *story)
{
    trail_builder_free(story->builder);
}

static void happens_in(struct story *story, uint32_t pid, uint64_t time_ns, enum point point,
                       uint32_t tid, uint64_t key, uint64_t arg0, uint64_t arg1)
{
    struct optrail_event event = {.time_ns = time_ns,
                                  .key = key,
                                  .arg0 = arg0,
                                  .arg1 = arg1,
                                  .pid = pid,
                                  .tid = tid,
                                  .point = (uint16_t)point};
    assert_int_equal(trail_builder_event(story->builder, &event), 0);
}

#define happens(story, time_ns, point, tid, key, arg0, arg1)                                       \
    happens_in(story, PID, time_ns, POINT_##point, tid, key, arg0, arg1)

static void an_op_crosses_threads(void **state)
{
    (void)state;
    struct story story;
    begin(&story, NULL);
    happens(&story, 1000, op_start, 1, 0xa0, 2, 77);
    happens(&story, 1010, op_identify, 1, 0xa0, 77, 5);
    happens(&story, 1100, opqueue_enqueue, 1, 0xa0, 0, 0);
    happens(&story, 1200, opqueue_dequeue, 2, 0xa0, 0, 0);
    happens(&story, 1300, filestore_sequence, 2, 0xa0, 9, KEY_SEQUENCE);
    happens(&story, 1400, osd_leave, 2, 0xa0, 0, 0);
    happens(&story, 1500, journal_write_begin, 3, 9, 0, 0);
    happens(&story, 1600, apply_dequeue, 4, 9, 0, 0);
    happens(&story, 1700, filestore_lfn_open_begin, 4, 0, 0, 0); /* the thread's current op */
    happens(&story, 1800, apply_end, 4, 9, 0, 0);
    happens(&story, 1850, filestore_lfn_open_begin, 4, 0, 0, 0); /* it has left: nobody's */
    happens(&story, 1900, op_finish, 1, 0xa0, 4096, 0);
    assert_int_equal(story.count, 1);
    const struct seen *op = &story.trails[0];
    assert_int_equal(op->trail.end, TRAIL_FINISHED);
    assert_int_equal(op->trail.start_ns, 1000);
    assert_int_equal(op->trail.finish_ns, 1900);
    assert_int_equal(op->trail.type, 2);
    assert_int_equal(op->trail.client, 77);
    assert_int_equal(op->trail.tid, 5);
    assert_int_equal(op->trail.bytes_in, 4096);
    assert_int_equal(op->trail.mark_count, 11);
    assert_int_equal(op->marks[8].point, POINT_filestore_lfn_open_begin);
    assert_int_equal(op->marks[8].tid, 4);
    assert_true(trail_passed(&op->trail, POINT_journal_write_begin));
    assert_false(trail_passed(&op->trail, POINT_memstore_apply_begin));
    const struct trail_counts *counts = trail_builder_counts(story.builder);
    assert_int_equal(counts->joined, 11);
    assert_int_equal(counts->unmatched, 1);
    end(&story);
}

/* The request's memory is given back, and taken by another op, while its reply waits to be sent. */
static void a_reply_outlives_its_request(void **state)
{
    (void)state;
    struct story story;
    begin(&story, NULL);
    happens(&story, 10, op_created, 1, 0xa0, 42, 0);
    happens(&story, 20, osd_dequeue, 2, 0xa0, 0, 0);
    happens(&story, 30, osd_answer, 3, 0xa0, 4096, 100); /* by another thread, then its own */
    happens(&story, 40, reply_queued, 3, 0, 0xb0, KEY_MESSAGE);
    happens(&story, 50, op_released, 3, 0xa0, 0, 0); /* no end: the op has moved */
    happens(&story, 60, op_created, 1, 0xa0, 42, 0); /* another op in the same memory */
    happens(&story, 70, reply_sent, 1, 0xb0, 0, 0);
    assert_int_equal(story.count, 1);
    const struct seen *op = &story.trails[0];
    assert_int_equal(op->trail.end, TRAIL_FINISHED);
    assert_int_equal(op->trail.start_ns, 10);
    assert_int_equal(op->trail.finish_ns, 70);
    assert_int_equal(op->trail.bytes_in, 4096);
    assert_int_equal(op->trail.bytes_out, 100);
    assert_int_equal(op->trail.mark_count, 5);
    happens(&story, 80, op_released, 2, 0xa0, 0, 0); /* the other one is answered by nobody */
    assert_int_equal(story.count, 2);
    assert_int_equal(story.trails[1].trail.end, TRAIL_FINISHED);
    assert_int_equal(story.trails[1].trail.finish_ns, 80);
    assert_int_equal(trail_builder_counts(story.builder)->unmatched, 0);
    end(&story);
}

/* A thread that turns to something else works for none of the ops it has had in hand. */
static void a_thread_turns_away(void **state)
{
    (void)state;
    struct story story;
    begin(&story, NULL);
    happens(&story, 10, op_created, 1, 0xa0, 42, 0);
    happens(&story, 11, op_created, 1, 0xa1, 42, 0);
    happens(&story, 20, osd_dequeue, 2, 0xa0, 0, 0);
    happens(&story, 30, osd_dequeue, 2, 0xa1, 0, 0);
    happens(&story, 40, commit_expect, 2, 0, 0xc1, KEY_CONTEXT);
    happens(&story, 41, commit_expect, 2, 0, 0xc1, KEY_CONTEXT); /* said twice: one name */
    happens(&story, 50, thread_turn, 2, 0, 0, 0);
    happens(&story, 60, commit_expect, 2, 0, 0xc2, KEY_CONTEXT); /* nobody's */
    assert_int_equal(trail_builder_counts(story.builder)->unmatched, 1);
    happens(&story, 70, thread_turn, 2, 0, 0, 0);      /* from nothing to something: no loss */
    happens(&story, 80, commit_locked, 3, 0xc2, 0, 0); /* under a key that no op has: no op's */
    assert_int_equal(trail_builder_counts(story.builder)->unmatched, 1);
    assert_int_equal(trail_builder_counts(story.builder)->notes, 1);
    happens(&story, 90, commit_locked, 3, 0xc1, 0, 0);
    happens(&story, 95, reply_queued, 3, 0, 0xb1, KEY_MESSAGE);
    happens(&story, 99, reply_sent, 4, 0xb1, 0, 0);
    assert_int_equal(story.count, 1);
    assert_int_equal(story.trails[0].trail.key, 0xa1);
    end(&story);
}

static void addresses_are_used_again(void **state)
{
    (void)state;
    struct story story;
    begin(&story, NULL);
    happens(&story, 10, op_start, 1, 0xa0, 1, 0);
    happens(&story, 20, op_finish, 1, 0xa0, 0, 0);
    happens(&story, 30, op_start, 1, 0xa0, 2, 0); /* a second op in the same memory */
    happens(&story, 40, op_start, 1, 0xa0, 3, 0); /* a third, though the second never ended */
    happens(&story, 50, op_finish, 1, 0xa0, 0, 0);
    assert_int_equal(story.count, 3);
    assert_int_equal(story.trails[0].trail.end, TRAIL_FINISHED);
    assert_int_equal(story.trails[1].trail.end, TRAIL_KEY_REUSED);
    assert_int_equal(story.trails[1].trail.type, 2);
    assert_int_equal(story.trails[2].trail.end, TRAIL_FINISHED);
    assert_int_equal(story.trails[2].trail.type, 3);
    end(&story);
}

static void keys_of_other_kinds_and_processes_are_other_keys(void **state)
{
    (void)state;
    struct story story;
    begin(&story, NULL);
    happens_in(&story, 1, 10, POINT_op_start, 1, 9, 1, 0);
    happens_in(&story, 2, 11, POINT_op_start, 1, 9, 2, 0);       /* another process */
    happens_in(&story, 1, 12, POINT_journal_submit, 1, 9, 0, 0); /* a sequence, not an op */
    happens_in(&story, 2, 13, POINT_op_finish, 1, 9, 0, 0);
    happens_in(&story, 1, 14, POINT_op_finish, 1, 9, 0, 0);
    assert_int_equal(story.count, 2);
    assert_int_equal(story.trails[0].trail.pid, 2);
    assert_int_equal(story.trails[0].trail.mark_count, 2);
    assert_int_equal(story.trails[1].trail.pid, 1);
    assert_int_equal(story.trails[1].trail.mark_count, 2);
    /* work that is no op's, under a number that no op was linked to */
    assert_int_equal(trail_builder_counts(story.builder)->unmatched, 0);
    assert_int_equal(trail_builder_counts(story.builder)->notes, 1);
    end(&story);
}

static void ops_cut_at_both_ends(void **state)
{
    (void)state;
    struct story story;
    begin(&story, NULL);
    happens(&story, 10, opqueue_enqueue, 1, 0xa0, 0, 0); /* began before tracing did */
    happens(&story, 20, op_finish, 1, 0xa0, 0, 0);
    happens(&story, 30, op_start, 1, 0xb0, 0, 0);
    happens(&story, 40, op_finish, 1, 0xb0, 0, 0);
    happens(&story, 50, opqueue_enqueue, 1, 0xb0, 0, 0); /* an event after its answer */
    happens(&story, 60, op_end, 1, 0xb0, 0, 0);          /* and the end of its memory */
    happens(&story, 70, op_start, 1, 0xc0, 0, 0);        /* does not end before the trace does */
    assert_int_equal(trail_builder_end(story.builder), 0);
    assert_int_equal(story.count, 2);
    assert_int_equal(story.trails[1].trail.end, TRAIL_OPEN);
    const struct trail_counts *counts = trail_builder_counts(story.builder);
    assert_int_equal(counts->unmatched, 3);
    assert_int_equal(counts->of_which_before_start, 2);
    assert_int_equal(counts->of_which_after_finish, 1);
    assert_int_equal(counts->joined, 4);
    end(&story);
}

static void an_op_that_is_not_answered(void **state)
{
    (void)state;
    struct story story;
    begin(&story, NULL);
    happens(&story, 10, op_created, 1, 0xa0, 0, 0);
    happens(&story, 20, op_end, 1, 0xa0, 0, 0);
    assert_int_equal(story.count, 1);
    assert_int_equal(story.trails[0].trail.end, TRAIL_KEY_ENDED);
    end(&story);
}

static void stamps_go_to_their_time(void **state)
{
    (void)state;
    struct story story;
    begin(&story, NULL);
    happens(&story, 5000, op_created, 1, 0xa0, 0, 0);
    happens(&story, 5010, op_throttled, 1, 0xa0, 4200, 0);
    happens(&story, 5020, op_header_read, 1, 0xa0, 4100, 0);
    happens(&story, 5030, op_all_read, 1, 0xa0, 9000, 0); /* the future: not believed */
    happens(&story, 6000, osd_reply, 1, 0xa0, 0, 0);
    assert_int_equal(story.count, 1);
    const struct seen *op = &story.trails[0];
    assert_int_equal(op->trail.start_ns, 4100);
    const uint64_t times[] = {4100, 4200, 5000, 5030, 6000};
    const enum point points[] = {POINT_op_header_read, POINT_op_throttled, POINT_op_created,
                                 POINT_op_all_read, POINT_osd_reply};
    assert_int_equal(op->trail.mark_count, 5);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(op->marks[i].time_ns, times[i]);
        assert_int_equal(op->marks[i].point, points[i]);
    }
    assert_int_equal(trail_builder_counts(story.builder)->stamps_refused, 1);
    end(&story);
}

static void a_branch_outlives_the_answer(void **state)
{
    (void)state;
    struct story story;
    begin(&story, NULL);
    happens(&story, 10, op_start, 1, 0xa0, 2, 0);
    happens(&story, 11, filestore_sequence, 1, 0xa0, 9, KEY_SEQUENCE);
    happens(&story, 20, apply_fork, 1, 9, 1, 0);
    happens(&story, 30, op_finish, 1, 0xa0, 4096, 0);
    assert_int_equal(story.count, 0); /* it waits for the branch */
    happens(&story, 40, apply_end, 2, 9, 0, 0);
    happens(&story, 50, apply_join, 2, 9, 1, 0);
    assert_int_equal(story.count, 1);
    assert_int_equal(story.trails[0].trail.end, TRAIL_FINISHED);
    assert_int_equal(story.trails[0].trail.finish_ns, 30);
    assert_int_equal(story.trails[0].trail.mark_count, 6);
    assert_int_equal(story.trails[0].marks[5].branch, 1);
    end(&story);
}

static void lost_events_spoil_what_was_open(void **state)
{
    (void)state;
    struct story story;
    begin(&story, NULL);
    happens(&story, 10, op_start, 1, 0xa0, 0, 0);
    happens(&story, 20, op_start, 1, 0xb0, 0, 0);
    happens(&story, 30, op_finish, 1, 0xa0, 0, 0); /* before the loss */
    assert_int_equal(trail_builder_lost(story.builder, 40, 60), 0);
    happens(&story, 50, op_start, 1, 0xc0, 0, 0); /* during it */
    happens(&story, 70, op_start, 1, 0xd0, 0, 0); /* after it */
    happens(&story, 80, op_finish, 1, 0xb0, 0, 0);
    happens(&story, 81, op_finish, 1, 0xc0, 0, 0);
    happens(&story, 82, op_finish, 1, 0xd0, 0, 0);
    assert_int_equal(story.count, 4);
    assert_int_equal(story.trails[0].trail.end, TRAIL_FINISHED);
    assert_int_equal(story.trails[1].trail.end, TRAIL_LOST_EVENTS);
    assert_int_equal(story.trails[2].trail.end, TRAIL_LOST_EVENTS);
    assert_int_equal(story.trails[3].trail.end, TRAIL_FINISHED);
    end(&story);
}

static void overdue_ops_are_closed(void **state)
{
    (void)state;
    struct story story;
    begin(&story, &(struct trail_limits){.timeout_ns = 1000});
    happens(&story, 10, op_start, 1, 0xa0, 0, 0);
    happens(&story, 900, op_start, 1, 0xb0, 0, 0);
    happens(&story, 1011, op_start, 1, 0xc0, 0, 0);
    assert_int_equal(story.count, 1);
    assert_int_equal(story.trails[0].trail.end, TRAIL_TIMEOUT);
    assert_int_equal(story.trails[0].trail.key, 0xa0);
    end(&story);
}

static void memory_is_bounded(void **state)
{
    (void)state;
    struct story story;
    begin(&story, &(struct trail_limits){.open_trails = 10, .marks = 32});
    for (uint64_t i = 0; i < 15; i++)
        happens(&story, 10 + i, op_start, 1, 0xa00 + i, 0, 0);
    assert_int_equal(story.count, 5);
    assert_int_equal(story.trails[0].trail.end, TRAIL_EVICTED);
    assert_int_equal(story.trails[0].trail.key, 0xa00);
    for (uint64_t i = 0; i < 1000; i++)
        happens(&story, 100 + i, opqueue_enqueue, 1, 0xa0e, 0, 0);
    happens(&story, 2000, op_finish, 1, 0xa0e, 0, 0);
    assert_int_equal(story.count, 6);
    assert_true(story.trails[5].trail.truncated);
    assert_int_equal(story.trails[5].trail.mark_count, 32);
    assert_int_equal(story.trails[5].trail.finish_ns, 2000);
    end(&story);
}

static void marks_of_all_trails_together_are_bounded(void **state)
{
    (void)state;
    struct story story;
    begin(&story, NULL);
    /* 3,000 ops that never end, with 1,024 marks each, would be 49 MB of marks */
    for (uint64_t op = 0; op < 3000; op++) {
        happens(&story, 10 + op, op_start, 1, 0xa000 + op, 0, 0);
        for (int i = 0; i < 1023; i++)
            happens(&story, 10 + op, opqueue_enqueue, 1, 0xa000 + op, 0, 0);
    }
    assert_true(trail_builder_counts(story.builder)->ended[TRAIL_EVICTED] > 1900);
    end(&story);
}

static void a_thread_that_only_ever_enters(void **state)
{
    (void)state;
    struct story story;
    begin(&story, NULL);
    for (uint64_t i = 0; i < 100; i++) {
        happens(&story, 10 * i + 1, op_start, 1, 0xa0 + i, 0, 0);
        happens(&story, 10 * i + 2, opqueue_dequeue, 2, 0xa0 + i, 0, 0);
        happens(&story, 10 * i + 3, memstore_apply_begin, 2, 0, 0, 0);
        /* the thread goes on to the next op; this one is answered much later, or never */
    }
    for (uint64_t i = 0; i < 60; i++)
        happens(&story, 2000 + i, op_finish, 1, 0xa0 + i, 0, 0);
    assert_int_equal(story.count, 60);
    for (int i = 0; i < 60; i++) {
        assert_int_equal(story.trails[i].trail.mark_count, 4);
        assert_int_equal(story.trails[i].marks[2].time_ns, 10 * i + 3);
    }
    end(&story);
}

static void time_goes_backwards_a_little(void **state)
{
    (void)state;
    struct story story;
    begin(&story, NULL);
    happens(&story, 100, op_start, 1, 0xa0, 0, 0);
    happens(&story, 300, opqueue_dequeue, 2, 0xa0, 0, 0);
    happens(&story, 200, opqueue_enqueue, 1, 0xa0, 0, 0); /* from another CPU, a little late */
    happens(&story, 400, op_finish, 1, 0xa0, 0, 0);
    assert_int_equal(story.count, 1);
    assert_int_equal(story.trails[0].marks[1].point, POINT_opqueue_enqueue);
    assert_int_equal(story.trails[0].marks[2].point, POINT_opqueue_dequeue);
    assert_int_equal(trail_builder_counts(story.builder)->backwards, 1);
    end(&story);
}

static void a_pause_cuts_what_is_open_and_loses_nothing(void **state)
{
    (void)state;
    struct story story;
    begin(&story, NULL);
    happens_in(&story, 1, 10, POINT_tracer_resume, 1, 0, 0, 0);
    happens_in(&story, 1, 11, POINT_op_finish, 1, 5, 0, 0); /* had begun before */
    happens_in(&story, 1, 12, POINT_op_start, 1, 9, 1, 0);
    happens_in(&story, 1, 13, POINT_op_start, 1, 10, 1, 0);
    happens_in(&story, 2, 14, POINT_op_start, 1, 9, 1, 0); /* another process: not cut */
    happens_in(&story, 1, 30, POINT_tracer_pause, 1, 0, 20, 2);
    happens_in(&story, 1, 31, POINT_op_finish, 1, 9, 0, 0); /* ops that had begun may end */
    happens_in(&story, 1, 32, POINT_op_finish, 1, 77, 0, 0);
    happens_in(&story, 1, 90, POINT_tracer_resume, 1, 0, 0, 0);
    happens_in(&story, 1, 91, POINT_op_finish, 1, 9, 0, 0); /* another op at that address */
    happens_in(&story, 1, 92, POINT_op_finish, 1, 10, 0, 0);
    happens_in(&story, 2, 93, POINT_op_finish, 1, 9, 0, 0);
    assert_int_equal(story.count, 3);
    assert_int_equal(story.trails[0].trail.end, TRAIL_FINISHED);
    assert_int_equal(story.trails[1].trail.end, TRAIL_CUT);
    assert_int_equal(story.trails[1].trail.key, 10);
    assert_int_equal(story.trails[2].trail.end, TRAIL_FINISHED);
    assert_int_equal(story.trails[2].trail.pid, 2);
    const struct trail_counts *counts = trail_builder_counts(story.builder);
    assert_int_equal(counts->unmatched, 0);
    assert_int_equal(counts->at_pauses, 4);
    assert_int_equal(counts->begun_before, 4);
    assert_int_equal(counts->traced_ns, 10); /* of two processes at a time: half for each */
    end(&story);
}

static void every_event_is_counted_once(void **state)
{
    (void)state;
    struct story story;
    begin(&story, &(struct trail_limits){.open_trails = 50, .timeout_ns = 5000});
    uint64_t random = 7;
    const uint64_t events = 200000;
    for (uint64_t i = 0; i < events; i++) {
        random = random * 6364136223846793005ull + 1442695040888963407ull;
        struct optrail_event event = {.time_ns = i * 10 - (random >> 60) * 3,
                                      .key = random >> 40 & 127,
                                      .arg0 = random >> 20 & 127,
                                      .arg1 = random >> 13 & 7,
                                      .pid = 1 + (uint32_t)(random >> 33 & 1),
                                      .tid = 1 + (uint32_t)(random >> 35 & 15),
                                      .point = (uint16_t)((random >> 48) % POINT_COUNT)};
        assert_int_equal(trail_builder_event(story.builder, &event), 0);
        if (i % 10000 == 0)
            assert_int_equal(trail_builder_lost(story.builder, i * 10, i * 10 + 50), 0);
    }
    assert_int_equal(trail_builder_end(story.builder), 0);
    const struct trail_counts *counts = trail_builder_counts(story.builder);
    assert_int_equal(counts->joined + counts->notes + counts->unmatched + counts->at_pauses,
                     events);
    uint64_t ended = 0;
    for (int i = 0; i < TRAIL_END_COUNT; i++)
        ended += counts->ended[i];
    assert_int_equal(ended, story.count);
    end(&story);
}

static void a_point_beyond_the_catalogue_is_refused(void **state)
{
    (void)state;
    struct story story;
    begin(&story, NULL);
    struct optrail_event event = {.point = POINT_COUNT};
    assert_true(trail_builder_event(story.builder, &event) < 0);
    end(&story);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_op_crosses_threads),
        cmocka_unit_test(addresses_are_used_again),
        cmocka_unit_test(keys_of_other_kinds_and_processes_are_other_keys),
        cmocka_unit_test(ops_cut_at_both_ends),
        cmocka_unit_test(an_op_that_is_not_answered),
        cmocka_unit_test(stamps_go_to_their_time),
        cmocka_unit_test(a_branch_outlives_the_answer),
        cmocka_unit_test(lost_events_spoil_what_was_open),
        cmocka_unit_test(overdue_ops_are_closed),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(marks_of_all_trails_together_are_bounded),
        cmocka_unit_test(a_thread_that_only_ever_enters),
        cmocka_unit_test(time_goes_backwards_a_little),
        cmocka_unit_test(a_reply_outlives_its_request),
        cmocka_unit_test(a_thread_turns_away),
        cmocka_unit_test(a_pause_cuts_what_is_open_and_loses_nothing),
        cmocka_unit_test(every_event_is_counted_once),
        cmocka_unit_test(a_point_beyond_the_catalogue_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
