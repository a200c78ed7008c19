/* SPDX-License-Identifier: MIT */
/* The kernel's fold, outside of the kernel, against the trail builder and the folds in user space:
 * the same events, the same report. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "err.h"
#include "fold.h"
#include "fold_outside.h"
#include "render.h"

static const char path_text[] =
    "path: test\n"
    "daemon: none\n"
    "points: [op.start, op.header_read, op.throttled, opqueue.enqueue, opqueue.dequeue,\n"
    "         pg.lock_request, pg.lock_acquired, osd.prepared, filestore.sequence, "
    "journal.submit,\n"
    "         journal.write_begin, journal.write_end, apply.fork, apply.dequeue,\n"
    "         filestore.lfn_open_begin, filestore.lfn_open_end, apply.end, apply.join,\n"
    "         replica.fork, replica.join, commit.queue, commit.callback, op.finish]\n"
    "types:\n"
    "  - {name: write, start_type: 2, passes: [journal.submit]}\n"
    "  - {name: copied, start_type: 2, passes: [journal.submit, replica.fork]}\n"
    "  - {name: read, start_type: 1, bytes_out: true}\n"
    "  - {name: read, start_type: 1, passes: [opqueue.dequeue]}\n"
    "stages:\n"
    "  - {name: throttle, kind: throttle, from: op.header_read, to: op.throttled}\n"
    "  - {name: opqueue.wait, kind: wait, from: opqueue.enqueue, to: opqueue.dequeue}\n"
    "  - {name: osd.prepare, kind: work, from: opqueue.dequeue, to: osd.prepared}\n"
    "  - {name: pg.lock, kind: lock, within: osd.prepare, from: pg.lock_request,\n"
    "     to: pg.lock_acquired}\n"
    "  - {name: journal.queue, kind: wait, branch: local, from: journal.submit,\n"
    "     to: journal.write_begin}\n"
    "  - {name: journal.write, kind: io, branch: local, from: journal.write_begin,\n"
    "     to: journal.write_end}\n"
    "  - {name: apply, kind: work, branch: apply, from: apply.dequeue, to: apply.end}\n"
    "  - {name: open, kind: io, branch: apply, within: apply, from: filestore.lfn_open_begin,\n"
    "     to: filestore.lfn_open_end}\n"
    "  - {name: replica.wait, kind: net, branch: replica, from: replica.fork, to: replica.join}\n"
    "  - {name: commit.callback, kind: work, from: commit.queue, to: commit.callback}\n"
    "beside: [apply]\n";

/* What the test works with. */
struct both {
    struct path_set paths;
    struct fold_table_set *set;
    struct op_divider *divider;
    struct trail_builder *builder;
    void *user[16], *kernel[16]; /* states of fold_classes */
    uint64_t events, last_ns;
};

static struct both both;

static void read_path(struct path_set *set)
{
    char file[] = "/tmp/optrail-fold-XXXXXX";
    int fd = mkstemp(file);
    struct path *path;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, path_text, sizeof(path_text) - 1), sizeof(path_text) - 1);
    close(fd);
    if (path_read(file, &path) < 0)
        fail_msg("%s", err_message());
    unlink(file);
    assert_int_equal(path_set_add(set, path), 0);
}

static int take_trail(void *context, const struct trail *trail)
{
    (void)context;
    const struct op_division *division = NULL;
    if (trail->end == TRAIL_FINISHED) {
        division = op_divider_divide(both.divider, trail);
        assert_non_null(division);
    }
    for (int i = 0; fold_classes[i]; i++)
        if (fold_classes[i]->trail)
            assert_int_equal(fold_classes[i]->trail(both.user[i], trail, division), 0);
    return 0;
}

static void take_exemplar(const struct fold_op *op)
{
    struct trail trail;
    struct trail_mark marks[FOLD_MARKS];
    fold_exemplar_trail(op, &trail, marks);
    const struct op_division *division = op_divider_divide(both.divider, &trail);
    assert_non_null(division);
    for (int i = 0; fold_classes[i]; i++)
        if (fold_classes[i]->exemplar)
            assert_int_equal(fold_classes[i]->exemplar(both.kernel[i], &trail, division), 0);
}

static void begin(uint32_t slots, uint64_t timeout_ns)
{
    struct fold_options options = {.paths = &both.paths};
    struct trail_limits limits = {
        .timeout_ns = timeout_ns, .open_trails = slots, .marks = FOLD_MARKS};
    if (fold_tables_new(&both.paths, &both.set) < 0)
        fail_msg("%s", err_message());
    both.set->tables.settings.timeout_ns = timeout_ns;
    both.set->tables.settings.slot_count = slots;
    outside_open(&both.set->tables, slots);
    outside.exemplar = take_exemplar;
    both.events = both.last_ns = 0;
    both.divider = op_divider_new(&both.paths);
    assert_non_null(both.divider);
    assert_int_equal(trail_builder_new(&limits, take_trail, NULL, &both.builder), 0);
    for (int i = 0; fold_classes[i]; i++) {
        assert_int_equal(fold_classes[i]->create(&options, &both.user[i]), 0);
        assert_int_equal(fold_classes[i]->create(&options, &both.kernel[i]), 0);
    }
}

static void tell_kernel(const struct optrail_event *event)
{
    struct fold_event one = {event->time_ns, event->key, event->arg0, event->arg1,
                             event->pid,     event->tid, event->point};
    fold_take(&one);
}

static void tell_user(const struct optrail_event *event)
{
    both.events++;
    both.last_ns = event->time_ns;
    assert_int_equal(trail_builder_event(both.builder, event), 0);
}

static void tell(const struct optrail_event *event)
{
    tell_user(event);
    tell_kernel(event);
}

static char *render(void *const *states)
{
    struct report *report;
    char *text = NULL;
    size_t size = 0;
    assert_int_equal(report_new(&report), 0);
    /* those that the kernel's sums cannot feed say nothing of them */
    for (int i = 0; fold_classes[i]; i++)
        if (fold_classes[i]->fill && fold_classes[i] != &fold_tails &&
            fold_classes[i] != &fold_stalls && fold_classes[i] != &fold_rhythm)
            assert_int_equal(fold_classes[i]->fill(states[i], report), 0);
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(renderer_by_name("json")->render(report, NULL, out), 0);
    fclose(out);
    report_free(report);
    return text;
}

static void take_sums(bool first)
{
    struct fold_client_row rows[FOLD_CLIENTS];
    for (size_t i = 0; i < outside.client_count; i++)
        rows[i] = (struct fold_client_row){outside.clients[i].client, outside.clients[i].sums};
    struct fold_sums sums = {both.set, outside.cells,      outside.client_count,
                             rows,     outside.peer_count, outside.peers};
    for (int i = 0; fold_classes[i]; i++)
        if (fold_classes[i]->sums)
            assert_int_equal(fold_classes[i]->sums(both.kernel[i], &sums, first), 0);
}

static void show_difference(const char *user, const char *kernel)
{
    size_t at = 0;
    while (user[at] == kernel[at])
        at++;
    size_t from = at > 200 ? at - 200 : 0;
    fail_msg("the reports differ; user:\n%.500s\n\nkernel:\n%.500s", user + from, kernel + from);
}

static void assert_about_equal(uint64_t have, uint64_t want)
{
    uint64_t slack = 5 + want / 20;
    assert_in_range(have + slack, want, want + 2 * slack);
}

/* Ends both and compares; returns how many ops there were. */
static uint64_t compare(void)
{
    assert_int_equal(trail_builder_end(both.builder), 0);
    fold_end_all(both.last_ns);
    take_sums(true);
    char *user = render(both.user), *kernel = render(both.kernel);
    if (strcmp(user, kernel) != 0)
        show_difference(user, kernel);
    free(user);
    free(kernel);

    struct fold_sums sums = {.set = both.set, .cells = outside.cells};
    struct trail_counts have = fold_sums_counts(&sums, both.events);
    const struct trail_counts *want = trail_builder_counts(both.builder);
    /* the memory of past keys forgets where two fall into one place; and what is overdue is given
     * up at once in user space, in the kernel when something comes to it */
    assert_about_equal(have.joined, want->joined);
    assert_about_equal(have.notes, want->notes);
    assert_about_equal(have.unmatched, want->unmatched);
    assert_about_equal(have.of_which_before_start, want->of_which_before_start);
    assert_about_equal(have.of_which_after_finish, want->of_which_after_finish);
    assert_about_equal(have.begun_before, want->begun_before);
    assert_int_equal(have.stamps_refused, want->stamps_refused);
    for (int i = 0; i < TRAIL_END_COUNT; i++)
        assert_int_equal(have.ended[i], want->ended[i]);
    return have.ended[TRAIL_FINISHED];
}

static void end(void)
{
    trail_builder_free(both.builder);
    op_divider_free(both.divider);
    for (int i = 0; fold_classes[i]; i++) {
        if (!fold_classes[i]->free)
            continue;
        fold_classes[i]->free(both.user[i]);
        fold_classes[i]->free(both.kernel[i]);
    }
    outside_close();
    fold_tables_free(both.set);
}

static uint64_t random_state = 1;

static uint32_t roll(uint32_t sides)
{
    random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(random_state >> 33) % sides;
}

/* An event of a random point that the path has, about one of a few ops. */
static struct optrail_event random_event(uint64_t now, uint32_t keys)
{
    static const enum point more[] = {
        POINT_op_identify,           POINT_op_failed,   POINT_op_end,      POINT_osd_leave,
        POINT_wbthrottle_sync_begin, POINT_op_released, POINT_thread_turn, POINT_osd_answer,
        POINT_reply_queued,          POINT_reply_sent};
    const struct path *path = both.paths.paths[0];
    uint32_t pick = roll((uint32_t)path->point_count + 10);
    enum point point =
        pick < path->point_count ? path->points[pick] : more[pick - path->point_count];
    if (roll(4) == 0)
        point = roll(2) ? POINT_op_start : POINT_op_finish;
    struct optrail_event event = {.time_ns = now,
                                  .key = 1 + roll(keys),
                                  .pid = 1 + roll(20) / 19,
                                  .tid = 1 + roll(4),
                                  .point = (uint16_t)point,
                                  .arg0 = roll(3),
                                  .arg1 = roll(3)};
    switch (point_rows[point].role) {
    case ROLE_STAMP:
        event.arg0 = now - roll(200) + roll(30);
        break;
    case ROLE_LINK:
    case ROLE_MOVE:
        event.arg0 = 1 + roll(keys);
        event.arg1 = roll(10) ? (point == POINT_reply_queued ? KEY_MESSAGE : KEY_SEQUENCE)
                              : roll(KEY_COUNT + 2);
        break;
    case ROLE_START:
        event.arg1 = roll(3000);
        break;
    case ROLE_FORK:
    case ROLE_JOIN:
        event.arg0 = roll(3);
        break;
    default:
        break;
    }
    return event;
}

/* Many ops at once, in any state: whatever comes, both sides say the same. */
static void any_events_fold_alike(void **state)
{
    (void)state;
    uint64_t ops = 0;
    for (uint32_t round = 0; round < 60; round++) {
        uint64_t now = 1000000;
        random_state = round;
        begin(FOLD_SLOTS, round % 3 ? 60000000000ull : 4000);
        uint32_t keys = 2 + roll(60);
        for (int i = 0; i < 20000; i++) {
            now += roll(50) + 1;
            struct optrail_event event = random_event(now, keys);
            tell(&event);
        }
        ops += compare();
        end();
    }
    assert_true(ops > 40000);
}

/* Lives as they are: in order, with a little disorder between CPUs on the kernel's side. */
static void late_marks_find_their_op(void **state)
{
    (void)state;
    static const enum point life[] = {
        POINT_op_start,        POINT_op_throttled,    POINT_op_header_read,   POINT_opqueue_enqueue,
        POINT_opqueue_dequeue, POINT_pg_lock_request, POINT_pg_lock_acquired, POINT_osd_prepared,
        POINT_journal_submit,  POINT_commit_queue,    POINT_op_finish};
    begin(FOLD_SLOTS, 60000000000ull);
    uint64_t now = 1000000;
    struct optrail_event events[11];
    for (uint64_t op = 1; op <= 20000; op++) {
        size_t count = sizeof(life) / sizeof(life[0]);
        for (size_t i = 0; i < count; i++) {
            now += 1 + roll(1000);
            events[i] = (struct optrail_event){.time_ns = now,
                                               .key = 1 + op % 50,
                                               .pid = 1,
                                               .tid = 1,
                                               .point = (uint16_t)life[i],
                                               .arg0 = i == 0    ? 2
                                                       : i == 10 ? 4096
                                                                 : now - 5000};
            if (point_rows[life[i]].key == KEY_SEQUENCE)
                events[i].point = POINT_filestore_submit;
            tell_user(&events[i]);
        }
        /* another CPU is put aside with a mark in hand: the answer comes before it */
        size_t late = 1 + roll(9);
        for (size_t i = 0; i < count; i++)
            if (i != late)
                tell_kernel(&events[i]);
        tell_kernel(&events[late]);
    }
    assert_int_equal(compare(), 20000);
    assert_int_equal(outside.cells[FOLD_UNMATCHED], 0);
    end();
}

/* A daemon that never answers: the slots are all taken, and the fold goes on. */
static void a_leak_is_counted_and_ends_nothing(void **state)
{
    (void)state;
    enum { SLOTS = 256, LEAKED = 9000, ANSWERED = 5000 };
    begin(SLOTS, 60000000000ull);
    uint64_t now = 1000000;
    for (uint64_t i = 0; i < LEAKED; i++) {
        struct optrail_event event = {.time_ns = ++now, .key = 100 + i, .pid = 1, .tid = 1};
        tell_kernel(&event);
        both.events++;
    }
    for (uint64_t i = 0; i < ANSWERED; i++) {
        struct optrail_event start = {
            .time_ns = now += 20000000, .key = 1 + i % 7, .pid = 1, .tid = 1, .arg0 = 1};
        struct optrail_event finish = start;
        finish.time_ns = now += 1000;
        finish.point = POINT_op_finish;
        finish.arg0 = 0;
        finish.arg1 = 4096;
        tell_kernel(&start);
        tell_kernel(&finish);
    }
    fold_end_all(now);
    assert_int_equal(outside.cells[FOLD_ENDED + FOLD_FINISHED], ANSWERED);
    assert_int_equal(outside.cells[FOLD_ENDED + FOLD_EVICTED] +
                         outside.cells[FOLD_ENDED + FOLD_OPEN] +
                         outside.cells[FOLD_ENDED + FOLD_TIMEOUT],
                     LEAKED);
    assert_int_equal(outside.cells[FOLD_ENDED + FOLD_OPEN], 0);
    assert_int_equal(outside.cells[FOLD_SLOT_LESS], 0);
    assert_int_equal(outside.free.count, SLOTS);
    end();
}

/* Two processes' sums add up, and reading again does not count twice. */
static void sums_may_be_read_often(void **state)
{
    (void)state;
    begin(FOLD_SLOTS, 60000000000ull);
    for (uint64_t now = 1000; now < 400000; now += 40) {
        struct optrail_event event = random_event(now, 20);
        tell(&event);
        if (now % 4000 == 0)
            take_sums(true);
    }
    uint64_t ops = compare();
    take_sums(false); /* as if a second process had done the very same */
    struct report *report;
    assert_int_equal(report_new(&report), 0);
    assert_int_equal(fold_stages.fill(both.kernel[0], report), 0);
    assert_int_equal(report->counts.ops, 2 * ops);
    report_free(report);
    end();
}

/* An op with more marks than there is room for keeps its latency and its type. */
static void too_many_marks(void **state)
{
    (void)state;
    begin(FOLD_SLOTS, 60000000000ull);
    struct optrail_event event = {.time_ns = 1000, .key = 1, .pid = 1, .tid = 1, .arg0 = 2};
    tell_kernel(&event);
    for (int i = 0; i < 300; i++) {
        event.time_ns += 10;
        event.point = i % 2 ? POINT_opqueue_dequeue : POINT_opqueue_enqueue;
        tell_kernel(&event);
    }
    event.time_ns = 10000;
    event.point = POINT_op_finish;
    tell_kernel(&event);
    fold_end_all(10000);
    take_sums(true);
    struct report *report;
    assert_int_equal(report_new(&report), 0);
    assert_int_equal(fold_stages.fill(both.kernel[0], report), 0);
    assert_int_equal(report->ops[0].count, 1);
    assert_int_equal(report->ops[0].total_ns, 9000);
    assert_int_equal(report->ops[0].latency.max, 9000);
    assert_int_equal(outside.cells[FOLD_TRUNCATED], 1);
    report_free(report);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_events_fold_alike),
        cmocka_unit_test(late_marks_find_their_op),
        cmocka_unit_test(a_leak_is_counted_and_ends_nothing),
        cmocka_unit_test(sums_may_be_read_often),
        cmocka_unit_test(too_many_marks),
    };
    read_path(&both.paths);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    path_set_free(&both.paths);
    return failed;
}
