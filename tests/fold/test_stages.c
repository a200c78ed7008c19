/* SPDX-License-Identifier: MIT */
/* Trails with known times, divided among the stages of small paths. */
#include <math.h>
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
#include "sweep.h"

static const char path_text[] =
    "path: test\n"
    "daemon: none\n"
    "points: [op.start, opqueue.enqueue, op.queued, opqueue.dequeue, pg.lock_request, "
    "pg.lock_acquired,\n"
    "         osd.prepared, journal.submit, journal.write_end, replica.fork, replica.join,\n"
    "         commit.queue, commit.callback, op.finish]\n"
    "types:\n"
    "  - {name: write, start_type: 2, passes: [journal.submit]}\n"
    "  - {name: read, start_type: 1}\n"
    "stages:\n"
    "  - {name: opqueue.wait, kind: wait, from: opqueue.enqueue, or_from: op.queued,\n"
    "     to: opqueue.dequeue,\n"
    "     knobs: [shards], text: waits for a worker}\n"
    "  - {name: osd.prepare, kind: work, from: opqueue.dequeue, to: osd.prepared}\n"
    "  - {name: pg.lock, kind: lock, within: osd.prepare, from: pg.lock_request,\n"
    "     to: pg.lock_acquired}\n"
    "  - {name: journal.write, kind: io, branch: local, from: journal.submit,\n"
    "     to: journal.write_end}\n"
    "  - {name: replica.wait, kind: net, branch: replica, from: replica.fork, to: replica.join}\n"
    "  - {name: commit.callback, kind: work, from: commit.queue, to: commit.callback}\n";

/* stage numbers in this path */
enum { OPQUEUE_WAIT, OSD_PREPARE, PG_LOCK, JOURNAL_WRITE, REPLICA_WAIT, COMMIT_CALLBACK, STAGES };

static struct path *read_path(void)
{
    char file[] = "/tmp/optrail-fold-XXXXXX";
    int fd = mkstemp(file);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, path_text, sizeof(path_text) - 1), sizeof(path_text) - 1);
    close(fd);
    struct path *path;
    if (path_read(file, &path) < 0)
        fail_msg("%s", err_message());
    unlink(file);
    return path;
}

struct mark {
    uint64_t time_ns;
    uint32_t point; /* enum point; of a fork or join also the peer's number, see OF_PEER */
};

#define OF_PEER(point, number) ((uint32_t)(point) | (uint32_t)(number) << 16)

#define MARKS(...)                                                                                 \
    (const struct mark[]){__VA_ARGS__},                                                            \
        sizeof((const struct mark[]){__VA_ARGS__}) / sizeof(struct mark)

/* A finished trail of these marks: from the first one to its op.finish. */
static void make_trail(struct trail *trail, struct trail_mark *out, uint64_t type,
                       const struct mark *marks, size_t count)
{
    *trail = (struct trail){.type = type, .mark_count = count, .marks = out, .pid = 1};
    for (size_t i = 0; i < count; i++) {
        uint16_t point = marks[i].point & 0xffff;
        out[i] = (struct trail_mark){.time_ns = marks[i].time_ns,
                                     .point = point,
                                     .branch = (uint16_t)(marks[i].point >> 16)};
        trail->seen[point / 64] |= 1ull << (point % 64);
        if (point == POINT_op_finish)
            trail->finish_ns = marks[i].time_ns;
    }
    trail->start_ns = marks[0].time_ns;
}

static struct sweep_parts divide(const struct path *path, const struct mark *marks, size_t count)
{
    static struct sweep_plan plan;
    struct trail trail;
    struct trail_mark out[64];
    struct sweep_parts parts;
    make_trail(&trail, out, 2, marks, count);
    sweep_plan_init(&plan, path);
    sweep_trail(&plan, &trail, &parts);
    uint64_t sum = parts.unattributed;
    for (int i = 0; i < STAGES; i++)
        sum += parts.on_path[i];
    assert_int_equal(sum, trail.finish_ns - trail.start_ns);
    return parts;
}

static void inner_stages_take_from_outer_ones(void **state)
{
    struct sweep_parts parts =
        divide(*state, MARKS({100, POINT_op_start}, {110, POINT_opqueue_enqueue},
                             {150, POINT_opqueue_dequeue}, {160, POINT_pg_lock_request},
                             {260, POINT_pg_lock_acquired}, {290, POINT_osd_prepared},
                             {300, POINT_op_finish}));
    assert_int_equal(parts.on_path[OPQUEUE_WAIT], 40);
    assert_int_equal(parts.on_path[OSD_PREPARE], 40);
    assert_int_equal(parts.on_path[PG_LOCK], 100);
    assert_int_equal(parts.unattributed, 20);
    assert_int_equal(parts.passed, 1 << OPQUEUE_WAIT | 1 << OSD_PREPARE | 1 << PG_LOCK);
    assert_int_equal(parts.broken, 0);
}

/* Of another trace the same stage is known by another point. */
static void a_stage_may_begin_at_either_of_two_points(void **state)
{
    struct sweep_parts parts = divide(
        *state, MARKS({100, POINT_op_start}, {110, POINT_op_queued}, {150, POINT_opqueue_dequeue},
                      {290, POINT_osd_prepared}, {300, POINT_op_finish}));
    assert_int_equal(parts.on_path[OPQUEUE_WAIT], 40);
    assert_int_equal(parts.on_path[OSD_PREPARE], 140);
    assert_int_equal(parts.unattributed, 20);
    assert_int_equal(parts.broken, 0);
}

static void a_stage_passed_twice_counts_twice(void **state)
{
    struct sweep_parts parts =
        divide(*state,
               MARKS({0, POINT_op_start}, {10, POINT_opqueue_enqueue}, {20, POINT_opqueue_dequeue},
                     {50, POINT_opqueue_enqueue}, /* requeued */
                     {90, POINT_opqueue_dequeue}, {95, POINT_osd_prepared}, {95, POINT_op_finish}));
    assert_int_equal(parts.on_path[OPQUEUE_WAIT], 50);
    assert_int_equal(parts.on_path[OSD_PREPARE], 35);
}

static void the_branch_that_ends_last_is_on_the_path(void **state)
{
    /* journal 10..60, replica 20..90: the answer waited for the replica */
    struct sweep_parts parts =
        divide(*state,
               MARKS({0, POINT_op_start}, {10, POINT_journal_submit}, {20, POINT_replica_fork},
                     {60, POINT_journal_write_end}, {90, POINT_replica_join},
                     {90, POINT_commit_queue}, {95, POINT_commit_callback}, {95, POINT_op_finish}));
    assert_int_equal(parts.on_path[REPLICA_WAIT], 70);
    assert_int_equal(parts.on_path[JOURNAL_WRITE], 0);
    assert_int_equal(parts.beside[JOURNAL_WRITE], 50);
    assert_int_equal(parts.unattributed, 20);

    /* and the other way round */
    parts = divide(*state, MARKS({0, POINT_op_start}, {10, POINT_journal_submit},
                                 {20, POINT_replica_fork}, {50, POINT_replica_join},
                                 {90, POINT_journal_write_end}, {95, POINT_op_finish}));
    assert_int_equal(parts.on_path[JOURNAL_WRITE], 80);
    assert_int_equal(parts.on_path[REPLICA_WAIT], 0);
    assert_int_equal(parts.beside[REPLICA_WAIT], 30);
    assert_int_equal(parts.unattributed, 15);
}

static void a_branch_beyond_the_answer_is_beside_it(void **state)
{
    struct sweep_parts parts =
        divide(*state, MARKS({0, POINT_op_start}, {10, POINT_journal_submit},
                             {20, POINT_replica_fork}, {60, POINT_journal_write_end},
                             {70, POINT_op_finish}, {200, POINT_replica_join}));
    assert_int_equal(parts.on_path[JOURNAL_WRITE], 50);
    assert_int_equal(parts.on_path[REPLICA_WAIT], 0);
    assert_int_equal(parts.beside[REPLICA_WAIT], 180);
}

static void the_wait_for_peers_ends_with_the_last_answer(void **state)
{
    /* three peers are asked at 20, 21 and 22; they answer at 70, 40 and 90; the journal is done at
     * 60: what the answer waited for is the peers, as one wait of 70 */
    struct sweep_parts parts = divide(
        *state,
        MARKS({0, POINT_op_start}, {10, POINT_journal_submit}, {20, OF_PEER(POINT_replica_fork, 1)},
              {21, OF_PEER(POINT_replica_fork, 2)}, {22, OF_PEER(POINT_replica_fork, 3)},
              {40, OF_PEER(POINT_replica_join, 2)}, {60, POINT_journal_write_end},
              {70, OF_PEER(POINT_replica_join, 1)}, {90, OF_PEER(POINT_replica_join, 3)},
              {90, POINT_commit_queue}, {95, POINT_commit_callback}, {95, POINT_op_finish}));
    assert_int_equal(parts.on_path[REPLICA_WAIT], 70);
    assert_int_equal(parts.beside[REPLICA_WAIT], 0);
    assert_int_equal(parts.beside[JOURNAL_WRITE], 50);
    assert_int_equal(parts.broken, 0);

    /* the first peer's answer comes before the second one is asked: two waits, and between them
     * none */
    parts = divide(*state,
                   MARKS({0, POINT_op_start}, {20, OF_PEER(POINT_replica_fork, 1)},
                         {30, OF_PEER(POINT_replica_join, 1)}, {50, OF_PEER(POINT_replica_fork, 2)},
                         {90, OF_PEER(POINT_replica_join, 2)}, {95, POINT_op_finish}));
    assert_int_equal(parts.on_path[REPLICA_WAIT], 50);
    assert_int_equal(parts.unattributed, 45);

    /* the journal ends between the first and the last answer */
    parts = divide(*state,
                   MARKS({0, POINT_op_start}, {10, POINT_journal_submit},
                         {20, OF_PEER(POINT_replica_fork, 1)}, {20, OF_PEER(POINT_replica_fork, 2)},
                         {50, OF_PEER(POINT_replica_join, 2)}, {80, POINT_journal_write_end},
                         {81, OF_PEER(POINT_replica_join, 1)}, {95, POINT_op_finish}));
    assert_int_equal(parts.on_path[REPLICA_WAIT], 61);
    assert_int_equal(parts.on_path[JOURNAL_WRITE], 0);
}

static void a_peer_without_an_answer_leaves_the_wait_open(void **state)
{
    /* peer 2 never answers, the op is answered all the same: the answer waited for the journal */
    struct sweep_parts parts = divide(
        *state,
        MARKS({0, POINT_op_start}, {10, POINT_journal_submit}, {20, OF_PEER(POINT_replica_fork, 1)},
              {20, OF_PEER(POINT_replica_fork, 2)}, {50, OF_PEER(POINT_replica_join, 1)},
              {60, POINT_journal_write_end}, {70, POINT_op_finish}));
    assert_int_equal(parts.on_path[JOURNAL_WRITE], 50);
    assert_int_equal(parts.on_path[REPLICA_WAIT], 0);
    assert_int_equal(parts.beside[REPLICA_WAIT], 50);

    /* an answer that comes twice, and one of a peer that was not asked, end nothing */
    parts = divide(*state,
                   MARKS({0, POINT_op_start}, {20, OF_PEER(POINT_replica_fork, 1)},
                         {20, OF_PEER(POINT_replica_fork, 2)}, {50, OF_PEER(POINT_replica_join, 1)},
                         {51, OF_PEER(POINT_replica_join, 1)}, {52, OF_PEER(POINT_replica_join, 7)},
                         {80, OF_PEER(POINT_replica_join, 2)}, {85, POINT_op_finish}));
    assert_int_equal(parts.on_path[REPLICA_WAIT], 60);
}

static void what_nobody_waits_for_is_beside_even_if_it_ends_last(void **state)
{
    struct path *path = *state;
    path->beside = 1ull << path->stages[REPLICA_WAIT].branch;
    struct sweep_parts parts =
        divide(path, MARKS({0, POINT_op_start}, {10, POINT_journal_submit},
                           {20, POINT_replica_fork}, {60, POINT_journal_write_end},
                           {90, POINT_replica_join}, {95, POINT_op_finish}));
    path->beside = 0;
    assert_int_equal(parts.on_path[JOURNAL_WRITE], 50);
    assert_int_equal(parts.on_path[REPLICA_WAIT], 0);
    assert_int_equal(parts.beside[REPLICA_WAIT], 70);
}

static void the_main_line_comes_before_branches(void **state)
{
    /* while the commit callback runs, the answer waits for it, whatever else goes on */
    struct sweep_parts parts =
        divide(*state, MARKS({0, POINT_op_start}, {10, POINT_journal_submit},
                             {20, POINT_commit_queue}, {50, POINT_commit_callback},
                             {60, POINT_journal_write_end}, {60, POINT_op_finish}));
    assert_int_equal(parts.on_path[COMMIT_CALLBACK], 30);
    assert_int_equal(parts.on_path[JOURNAL_WRITE], 20);
    assert_int_equal(parts.beside[JOURNAL_WRITE], 30);
}

static void a_lost_end_does_not_swallow_the_rest(void **state)
{
    struct sweep_parts parts =
        divide(*state, MARKS({0, POINT_op_start}, {10, POINT_opqueue_enqueue},
                             /* the dequeue was not seen */
                             {40, POINT_pg_lock_request}, {60, POINT_pg_lock_acquired},
                             {100, POINT_op_finish}));
    assert_int_equal(parts.on_path[OPQUEUE_WAIT], 30);
    assert_int_equal(parts.on_path[PG_LOCK], 20);
    assert_int_equal(parts.unattributed, 50);
    assert_int_equal(parts.broken, 1 << OPQUEUE_WAIT);
}

static void any_trail_adds_up(void **state)
{
    /* marks in any order and number: divide() asserts the sum */
    uint64_t random = 3;
    for (int round = 0; round < 20000; round++) {
        struct mark marks[40];
        uint64_t time = 1000;
        const struct path *path = *state;
        size_t count = 2 + (random >> 33) % 38;
        for (size_t i = 0; i < count; i++) {
            random = random * 6364136223846793005ull + 1442695040888963407ull;
            time += random >> 61;
            marks[i] =
                (struct mark){time, OF_PEER(path->points[(random >> 40) % (path->point_count - 1)],
                                            (random >> 50) % 3)};
        }
        marks[0].point = POINT_op_start;
        marks[count - 1 - (random >> 35) % (count / 2)].point = POINT_op_finish;
        divide(path, marks, count);
    }
}

/* The whole fold: shares, tails, types and the sentence. */
static void shares_and_tails(void **state)
{
    struct path_set set = {.count = 1, .paths = (struct path **)state};
    struct fold_options options = {.paths = &set};
    void *fold;
    assert_int_equal(fold_stages.create(&options, &fold), 0);
    /* 990 writes of 1,000 ns, of which 600 in the queue; 10 of 11,000 ns, of which 10,000 in the
     * lock; a read, a trail that did not finish, and one that no type matches */
    struct op_divider *divider = op_divider_new(&set);
    assert_non_null(divider);
    struct trail trail;
    struct trail_mark out[16];
    for (int i = 0; i < 1000; i++) {
        uint64_t lock = i % 100 == 0 ? 10000 : 0;
        make_trail(&trail, out, 2,
                   MARKS({0, POINT_op_start}, {0, POINT_opqueue_enqueue},
                         {600, POINT_opqueue_dequeue}, {700, POINT_pg_lock_request},
                         {700 + lock, POINT_pg_lock_acquired}, {1000 + lock, POINT_osd_prepared},
                         {1000 + lock, POINT_journal_submit}, {1000 + lock, POINT_op_finish}));
        trail.bytes_in = 4096;
        assert_int_equal(fold_stages.trail(fold, &trail, op_divider_divide(divider, &trail)), 0);
    }
    make_trail(&trail, out, 1, MARKS({0, POINT_op_start}, {500, POINT_op_finish}));
    assert_int_equal(fold_stages.trail(fold, &trail, op_divider_divide(divider, &trail)), 0);
    trail.end = TRAIL_TIMEOUT;
    assert_int_equal(fold_stages.trail(fold, &trail, NULL), 0);
    make_trail(&trail, out, 9, MARKS({0, POINT_op_start}, {300, POINT_op_finish}));
    assert_int_equal(fold_stages.trail(fold, &trail, op_divider_divide(divider, &trail)), 0);

    op_divider_free(divider);

    struct report *report;
    assert_int_equal(report_new(&report), 0);
    assert_int_equal(fold_stages.fill(fold, report), 0);
    assert_int_equal(report->counts.ops, 1002);
    assert_int_equal(report->op_count, 3);
    const struct report_op *write = &report->ops[0];
    assert_string_equal(write->type, "write");
    assert_int_equal(write->count, 1000);
    assert_int_equal(write->bytes, 4096 * 1000);
    assert_int_equal(write->total_ns, 990 * 1000 + 10 * 11000);
    assert_int_equal(write->unattributed_ns, 0);
    assert_int_equal(write->latency.max, 11000);
    assert_string_equal(write->stages[0].name, "opqueue.wait");
    assert_int_equal(write->stages[0].count, 1000);
    assert_int_equal(write->stages[0].total_ns, 600 * 1000);
    assert_true(fabs(write->stages[0].share - 600.0 / 1100.0) < 1e-9);
    assert_true(fabs(write->stages[0].tail_share - 600.0 / 11000.0) < 1e-9);
    assert_true(fabs(write->stages[0].largest_share - 0.99) < 1e-9);
    assert_string_equal(write->stages[2].name, "pg.lock");
    assert_true(fabs(write->stages[2].tail_share - 10000.0 / 11000.0) < 1e-9);
    assert_true(fabs(write->stages[2].largest_share - 0.01) < 1e-9);
    assert_string_equal(report->ops[1].type, "read");
    assert_int_equal(report->ops[1].unattributed_ns, 500);
    assert_string_equal(report->ops[2].type, "other");
    assert_string_equal(report->ops[2].path, "");

    assert_int_equal(fold_verdict.fill(NULL, report), 0);
    assert_int_equal(report->verdict_count, 1);
    assert_string_equal(report->verdicts[0].cause, "none");
    assert_string_equal(report->verdicts[0].text,
                        "write: nothing stands out: 1.10 µs an op; the largest part, "
                        "opqueue.wait, has 55 % of the time.");
    report_free(report);

    /* the same a million times slower is worth a word; what the slowest ops wait for, too */
    assert_int_equal(report_new(&report), 0);
    assert_int_equal(fold_stages.fill(fold, report), 0);
    for (size_t i = 0; i < report->ops[0].stage_count; i++)
        report->ops[0].stages[i].total_ns *= 1000000;
    assert_int_equal(fold_verdict.fill(NULL, report), 0);
    assert_int_equal(report->verdict_count, 2);
    assert_string_equal(report->verdicts[0].cause, "queue:opqueue.wait");
    assert_string_equal(report->verdicts[0].text,
                        "write: 55 % of the time goes to opqueue.wait: waits for a worker. The "
                        "slowest 1 % are in pg.lock for 91 % of their time.");
    assert_string_equal(report->verdicts[0].knobs[0], "shards");
    assert_string_equal(report->verdicts[1].cause, "work:osd.prepare");
    report_free(report);
    fold_stages.free(fold);
}

static void clients_by_ops(void **state)
{
    (void)state;
    struct fold_options options = {0};
    void *fold;
    assert_int_equal(fold_clients.create(&options, &fold), 0);
    for (uint64_t client = 0; client < 10000; client++) {
        struct trail trail = {.client = client, .bytes_in = 10};
        for (uint64_t i = 0; i < (client == 7 ? 5 : 1); i++)
            assert_int_equal(fold_clients.trail(fold, &trail, NULL), 0);
    }
    struct report *report;
    assert_int_equal(report_new(&report), 0);
    assert_int_equal(fold_clients.fill(fold, report), 0);
    assert_int_equal(report->clients[0].client, 0); /* all that did not find a row */
    assert_int_equal(report->clients[1].client, 7);
    assert_int_equal(report->clients[1].ops, 5);
    uint64_t ops = 0;
    for (size_t i = 0; i < report->client_count; i++)
        ops += report->clients[i].ops;
    assert_int_equal(ops, 10004);
    report_free(report);
    fold_clients.free(fold);
}

int main(void)
{
    struct path *path = read_path();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(inner_stages_take_from_outer_ones, path),
        cmocka_unit_test_prestate(a_stage_may_begin_at_either_of_two_points, path),
        cmocka_unit_test_prestate(a_stage_passed_twice_counts_twice, path),
        cmocka_unit_test_prestate(the_branch_that_ends_last_is_on_the_path, path),
        cmocka_unit_test_prestate(a_branch_beyond_the_answer_is_beside_it, path),
        cmocka_unit_test_prestate(the_wait_for_peers_ends_with_the_last_answer, path),
        cmocka_unit_test_prestate(a_peer_without_an_answer_leaves_the_wait_open, path),
        cmocka_unit_test_prestate(what_nobody_waits_for_is_beside_even_if_it_ends_last, path),
        cmocka_unit_test_prestate(the_main_line_comes_before_branches, path),
        cmocka_unit_test_prestate(a_lost_end_does_not_swallow_the_rest, path),
        cmocka_unit_test_prestate(any_trail_adds_up, path),
        cmocka_unit_test_prestate(shares_and_tails, path),
        cmocka_unit_test(clients_by_ops),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    path_free(path);
    return failed;
}
