/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "blame.h"
#include "knots.h"
#include "predict.h"

static struct report *report;
static struct blame blame;

/* An op type whose time is shared out like this; of 1,000 ops of 1 ms. */
static void add_stage(const char *name, const char *kind, double share)
{
    struct report_stage *stage;
    struct report_op *op = &report->ops[0];
    assert_int_equal(report_add_stage(op, name, kind, "", NULL, &stage), 0);
    stage->share = share;
    stage->count = 1000;
    stage->total_ns = (uint64_t)(share * 1e9);
}

static void begin(void)
{
    struct report_op *op;
    assert_int_equal(report_new(&report), 0);
    assert_int_equal(report_add_op(report, "write", "path", &op), 0);
    op->count = 1000;
    op->total_ns = 1000000000;
    report->counts.ops = 1000;
    report->load.known = true;
    report->load.seconds = 1;
    report->load.rate = 1000;
    report->load.in_flight = 16;
    report->load.peak = report->load.steady = 16;
}

static struct report_queue *add_queue(const char *stage, uint64_t servers, double busy,
                                      const char *part, const char *other, double other_share)
{
    struct report_queue *queue;
    assert_int_equal(report_add_queue(report, stage, &queue), 0);
    queue->servers = servers;
    queue->busy = queue->busiest = queue->busiest_alone = busy;
    queue->ops = 1000;
    queue->batch = 1;
    uint64_t rest = (uint64_t)(1e9 * (1 - other_share));
    assert_int_equal(report_add_part(&queue->parts, &queue->part_count, part, rest), 0);
    if (other)
        assert_int_equal(report_add_part(&queue->parts, &queue->part_count, other,
                                         (uint64_t)(1e9 * other_share)),
                         0);
    report_sort_parts(queue->parts, queue->part_count);
    return queue;
}

static double share_of(const char *name)
{
    for (size_t i = 0; i < blame.count; i++)
        if (strcmp(blame.causes[i].name, name) == 0)
            return blame.causes[i].share;
    return 0;
}

static void all_is_somebodys(void)
{
    double sum = 0;
    blame_find(report, &report->ops[0], &blame);
    for (size_t i = 0; i < blame.count; i++)
        sum += blame.causes[i].share;
    assert_true(fabs(sum - 1) < 1e-9);
}

static void a_queue_is_what_its_threads_do(void **state)
{
    (void)state;
    begin();
    add_stage("apply.queue", "wait", 0.9);
    add_stage("filestore.write", "io", 0.1);
    add_queue("apply.queue", 2, 1, "filestore.write", NULL, 0);
    all_is_somebodys();
    assert_string_equal(blame.causes[0].name, "filestore.write");
    assert_int_equal(blame.causes[0].class, BLAME_DEVICE);
    assert_true(blame.causes[0].share > 0.999);
    report_free(report);
}

static void idle_threads_do_not_explain_a_queue(void **state)
{
    (void)state;
    begin();
    add_stage("apply.queue", "wait", 0.9);
    add_stage("filestore.write", "io", 0.1);
    add_queue("apply.queue", 2, 0.1, "filestore.write", NULL, 0)->idle_share = 0.9;
    all_is_somebodys();
    assert_string_equal(blame.causes[0].name, "apply.queue");
    assert_int_equal(blame.causes[0].class, BLAME_QUEUE);
    report_free(report);
}

/* Threads that wait for a lock, and those that work under it: the lock is to blame for both. */
static void a_lock_behind_a_queue(void **state)
{
    (void)state;
    struct report_lock *lock;
    struct report_activity *activity;
    begin();
    add_stage("apply.queue", "wait", 0.8);
    add_stage("filestore.index", "lock", 0.1);
    add_stage("filestore.lfn_open", "io", 0.1);
    add_queue("apply.queue", 2, 1, "filestore.lfn_open", "lock:filestore.index", 0.5);
    assert_int_equal(report_add_lock(report, "filestore.index", &lock), 0);
    assert_int_equal(report_set_string(&lock->stage, "filestore.index"), 0);
    assert_int_equal(report_set_string(&lock->class, "lock"), 0);
    lock->contended = 1;
    lock->busy = 1;
    lock->wait_total_ns = 1000000000;
    assert_int_equal(
        report_add_part(&lock->holders, &lock->holder_count, "filestore.lfn_open", 1000000000), 0);
    report_sort_parts(lock->holders, lock->holder_count);
    assert_int_equal(report_add_activity(report, "filestore.lfn_open", &activity), 0);
    activity->ns = 1000000000;
    all_is_somebodys();
    assert_string_equal(blame.causes[0].name, "filestore.index");
    assert_int_equal(blame.causes[0].class, BLAME_LOCK);
    assert_true(fabs(blame.causes[0].share - 0.9) < 1e-9);
    /* nobody waits while it is held: it is the work then */
    lock->contended = 0;
    all_is_somebodys();
    assert_true(fabs(share_of("filestore.lfn_open") - 0.5) < 1e-9);
    report_free(report);
}

/* The allocator's lock tells no owner: but somebody has it while others wait, and what he does then
 * is its as well, as far as the queue behind him is concerned. */
static void an_allocator_behind_a_queue(void **state)
{
    (void)state;
    struct report_lock *lock;
    struct report_activity *activity;
    begin();
    add_stage("opqueue.wait", "wait", 0.9);
    add_stage("osd.prepare", "work", 0.1);
    add_queue("opqueue.wait", 4, 1, "osd.prepare", "lock:allocator", 0.6);
    assert_int_equal(report_add_lock(report, "allocator", &lock), 0);
    assert_int_equal(report_set_string(&lock->kind, "allocator"), 0);
    assert_int_equal(report_set_string(&lock->class, "lock"), 0);
    lock->wait_total_ns = 2400000000;
    lock->busy = 0.8; /* of a second */
    assert_int_equal(
        report_add_part(&lock->waiters, &lock->waiter_count, "osd.prepare", 2400000000), 0);
    report_sort_parts(lock->waiters, lock->waiter_count);
    assert_int_equal(report_add_activity(report, "osd.prepare", &activity), 0);
    activity->ns = 4000000000;
    activity->locks_ns = 2400000000;
    assert_int_equal(
        report_add_part(&activity->parts, &activity->part_count, "lock:allocator", 2400000000), 0);
    all_is_somebodys();
    assert_string_equal(blame.causes[0].name, "allocator");
    assert_int_equal(blame.causes[0].class, BLAME_ALLOCATOR);
    /* behind the queue: the waiting, and half of the 1.6 s that the threads worked; and the op's
     * own waiting, and of what is handed to its work the same again */
    double work = 0.9 * 0.4 * 0.5;
    assert_true(fabs(share_of("allocator") - (0.9 * 0.6 + work + (0.1 + work) * 0.6)) < 1e-9);
    report_free(report);
}

/* A throttle is to blame unless what is behind it is at its end anyway. */
static void throttles(void **state)
{
    (void)state;
    begin();
    add_stage("filestore.throttle", "throttle", 0.8);
    add_stage("apply.queue", "wait", 0.1);
    add_stage("filestore.write", "io", 0.1);
    struct report_queue *queue = add_queue("apply.queue", 8, 0.2, "filestore.write", NULL, 0);
    all_is_somebodys();
    assert_string_equal(blame.causes[0].name, "filestore.throttle");
    queue->busy = queue->busiest = 0.98;
    all_is_somebodys();
    assert_string_equal(blame.causes[0].name, "filestore.write");
    report_free(report);
}

/* Locks that are held while the other is waited for, in a circle: it ends. */
static void a_circle_ends(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b"};
    begin();
    add_stage("a", "lock", 0.5);
    add_stage("b", "lock", 0.5);
    for (int i = 0; i < 2; i++) {
        struct report_lock *lock;
        assert_int_equal(report_add_lock(report, names[i], &lock), 0);
        assert_int_equal(report_set_string(&lock->stage, names[i]), 0);
        assert_int_equal(report_set_string(&lock->class, "lock"), 0);
        lock->wait_total_ns = 1000;
        assert_int_equal(
            report_add_part(&lock->holders, &lock->holder_count, i ? "lock:a" : "lock:b", 1000), 0);
        report_sort_parts(lock->holders, lock->holder_count);
    }
    all_is_somebodys();
    assert_int_equal(knots_note(report), 0);
    assert_int_equal(report->note_count, 1);
    assert_non_null(strstr(report->notes[0], ": a, b."));
    /* what waits for a knot is in none */
    assert_int_equal(report_set_string(&report->locks[1].holders[0].name, "osd.prepare"), 0);
    assert_int_equal(knots_note(report), 0);
    assert_int_equal(report->note_count, 1);
    report_free(report);
}

/* One thread that is busy all the time with 1,000 ops a second, half of it the cause. */
static void predictions(void **state)
{
    (void)state;
    begin();
    add_stage("opqueue.wait", "wait", 0.9);
    add_stage("osd.prepare", "work", 0.05);
    add_stage("osd.execute", "work", 0.05);
    add_queue("opqueue.wait", 1, 1, "osd.execute", "osd.prepare", 0.5);
    all_is_somebodys();
    const struct blame_cause *cause = NULL;
    for (size_t i = 0; i < blame.count; i++)
        if (strcmp(blame.causes[i].name, "osd.prepare") == 0)
            cause = &blame.causes[i];
    assert_non_null(cause);
    struct prediction prediction = predict_without(report, cause);
    assert_string_equal(prediction.ceiling, "opqueue.wait");
    assert_true(fabs(prediction.ops_per_s - 2000) < 20);
    report->load.known = false;
    assert_true(predict_without(report, cause).ops_per_s == 0);
    /* the client's view of the same ops is in the report as well: of what is the rate? */
    struct report_op *op;
    report->load.known = true;
    assert_int_equal(report_set_string(&report->ops[0].daemon, "store"), 0);
    assert_true(predict_without(report, cause).ops_per_s > 0);
    assert_int_equal(report_add_op(report, "client write", "client", &op), 0);
    assert_int_equal(report_set_string(&op->daemon, "client"), 0);
    assert_true(predict_without(report, cause).ops_per_s == 0);
    report_free(report);
}

static const struct blame_cause *cause_named(const char *name)
{
    for (size_t i = 0; i < blame.count; i++)
        if (strcmp(blame.causes[i].name, name) == 0)
            return &blame.causes[i];
    fail();
    return NULL;
}

/* What bounds a pool of threads: all of them where any takes any op, else the busiest one, without
 * what it waited for locks; and a few stalls are no bound. */
static void predictions_of_pools(void **state)
{
    (void)state;
    begin();
    add_stage("apply.queue", "wait", 0.9);
    add_stage("osd.prepare", "work", 0.08);
    add_stage("filestore.write", "io", 0.02);
    struct report_queue *queue = add_queue("apply.queue", 4, 1, "filestore.write", NULL, 0);
    queue->busy = 0.25;
    queue->busiest = queue->busiest_alone = 0.5;
    all_is_somebodys();
    const struct blame_cause *cause = cause_named("osd.prepare");
    assert_true(fabs(predict_without(report, cause).ceiling_ops_per_s - 2000) < 20);
    queue->shared = true;
    assert_true(fabs(predict_without(report, cause).ceiling_ops_per_s - 4000) < 40);
    queue->shared = false;
    /* half of its time the busiest one waited for locks */
    assert_int_equal(report_add_part(&queue->parts, &queue->part_count, "lock:pg.lock", 1000000000),
                     0);
    report_sort_parts(queue->parts, queue->part_count);
    queue->busiest_alone = 0.2;
    assert_true(fabs(predict_without(report, cause).ceiling_ops_per_s - 5000) < 50);
    /* and half of the writes' time was a stall */
    report->ops[0].stages[2].total_ns = 1000000;
    report->ops[0].stages[2].typical = 0.5;
    assert_true(fabs(predict_without(report, cause).ceiling_ops_per_s - 10000) < 100);
    report_free(report);
}

/* A work stage whose thread was busy for a second, of which it ran 0.2 s and waited 0.6 s. */
static void waiting_for_a_cpu_is_a_cause(void **state)
{
    (void)state;
    struct report_activity *activity;
    begin();
    report->source.seconds = 1;
    add_stage("osd.prepare", "work", 0.8);
    add_stage("replica.wait", "net", 0.2);
    assert_int_equal(report_add_activity(report, "osd.prepare", &activity), 0);
    activity->ns = 1000000000;
    report->cpu = (struct report_cpu){
        .known = true, .seconds = 1, .cpus = 1, .run_ns = 200000000, .wait_ns = 600000000};
    all_is_somebodys();
    assert_int_equal(blame.causes[0].class, BLAME_CPU);
    assert_true(fabs(blame.causes[0].share - 0.8 * 0.6) < 1e-9);
    assert_true(fabs(share_of("osd.prepare") - 0.8 * 0.4) < 1e-9);
    assert_true(fabs(share_of("replica.wait") - 0.2) < 1e-9); /* no thread of ours stands there */
    /* half of what ran on the CPUs was this daemon's own work */
    report->cpu.busy = 0.4;
    all_is_somebodys();
    assert_true(fabs(share_of("osd.prepare") - 0.8 * 0.7) < 1e-9);
    assert_true(fabs(share_of("") - 0.8 * 0.3) < 1e-9);
    report->cpu.busy = 0;
    /* threads that are late because they sleep are not late for want of a CPU */
    add_queue("opqueue.wait", 8, 0, "osd.prepare", NULL, 0)->idle_share = 1;
    report->queues[0].wait_total_ns = 5000000000;
    all_is_somebodys();
    assert_true(fabs(share_of("osd.prepare") - 0.8 * 0.7) < 1e-9);
    /* nothing is known of the CPUs */
    report->cpu.known = false;
    all_is_somebodys();
    assert_true(fabs(share_of("osd.prepare") - 0.8) < 1e-9);
    report_free(report);
}

/* Threads sleep at a lock, and want a CPU again, because it is contended: where nothing is known of
 * its owners, that time is the lock's. */
static void waiting_for_a_cpu_at_a_lock(void **state)
{
    (void)state;
    struct report_activity *activity;
    struct report_lock *lock;
    begin();
    report->source.seconds = 1;
    add_stage("osd.prepare", "work", 1);
    assert_int_equal(report_add_activity(report, "osd.prepare", &activity), 0);
    activity->ns = 1000000000;
    activity->locks_ns = 700000000;
    assert_int_equal(
        report_add_part(&activity->parts, &activity->part_count, "lock:allocator", 700000000), 0);
    assert_int_equal(report_add_lock(report, "allocator", &lock), 0);
    assert_int_equal(report_set_string(&lock->kind, "allocator"), 0);
    assert_int_equal(report_set_string(&lock->class, "lock"), 0);
    lock->waits = 1000;
    lock->wait_total_ns = 700000000;
    report->cpu = (struct report_cpu){
        .known = true, .seconds = 1, .cpus = 1, .run_ns = 100000000, .wait_ns = 900000000};
    all_is_somebodys();
    assert_int_equal(blame.causes[0].class, BLAME_ALLOCATOR);
    assert_true(fabs(blame.causes[0].share - 0.7) < 1e-9);
    assert_true(fabs(share_of("") - 0.3 * 0.9) < 1e-9);
    /* its owners are known to have waited for a CPU themselves */
    lock->runnable_ns = lock->running_ns = 1000;
    all_is_somebodys();
    assert_true(fabs(share_of("allocator") - 0.35) < 1e-9);
    report_free(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_queue_is_what_its_threads_do),
        cmocka_unit_test(idle_threads_do_not_explain_a_queue),
        cmocka_unit_test(a_lock_behind_a_queue),
        cmocka_unit_test(an_allocator_behind_a_queue),
        cmocka_unit_test(throttles),
        cmocka_unit_test(a_circle_ends),
        cmocka_unit_test(predictions),
        cmocka_unit_test(predictions_of_pools),
        cmocka_unit_test(waiting_for_a_cpu_is_a_cause),
        cmocka_unit_test(waiting_for_a_cpu_at_a_lock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
