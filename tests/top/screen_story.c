/* SPDX-License-Identifier: MIT */
#include "screen_story.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* The stages of a write of 10 ms in the last second; the lock's part grew over the minute. */
static const struct {
    const char *name, *kind;
    uint64_t ns; /* an op */
    uint64_t p99;
} stages[] = {
    {"messenger.recv", "net", 21000, 90000},        {"opqueue.wait", "wait", 610000, 4100000},
    {"journal.write", "io", 1100000, 2300000},      {"filestore.index", "lock", 7000000, 24000000},
    {"filestore.lfn_open", "io", 900000, 1200000},  {"osd.prepare", "work", 150000, 230000},
    {"wbthrottle.wait", "throttle", 19000, 800000},
};
#define STAGES (sizeof(stages) / sizeof(stages[0]))
#define LOCK   3

static void add_stages(struct report_op *op, uint64_t ops, uint64_t lock_ns)
{
    op->total_ns = 0;
    for (size_t i = 0; i < STAGES; i++) {
        struct report_stage *stage;
        uint64_t ns = i == LOCK ? lock_ns : stages[i].ns;
        assert_int_equal(report_add_stage(op, stages[i].name, stages[i].kind, "", NULL, &stage), 0);
        stage->count = ops;
        stage->total_ns = ops * ns;
        stage->latency = (struct report_latency){.count = ops, .p50 = ns, .p99 = stages[i].p99};
        op->total_ns += ops * ns;
    }
    op->unattributed_ns = ops * 200000;
    op->total_ns += op->unattributed_ns;
    op->unattributed_share = (double)op->unattributed_ns / (double)op->total_ns;
    for (size_t i = 0; i < STAGES; i++)
        op->stages[i].share = (double)op->stages[i].total_ns / (double)op->total_ns;
}

static void add_ops(struct report *report, uint64_t writes, uint64_t reads, uint64_t lock_ns)
{
    struct report_op *op;
    assert_int_equal(report_add_op(report, "write", "test", &op), 0);
    op->count = writes;
    op->bytes = writes * 4096;
    op->latency = (struct report_latency){.p50 = 9800000, .p99 = 31000000, .max = 54100000};
    add_stages(op, writes, lock_ns);
    assert_int_equal(report_add_op(report, "read", "test", &op), 0);
    op->count = reads;
    op->bytes = reads * 8192;
    op->failed = 3;
    op->total_ns = reads * 100000;
    op->latency = (struct report_latency){.p50 = 98000, .p99 = 310000, .max = 541000};
    report->counts.ops += writes + reads;
}

static void add_exemplars(struct report *report)
{
    static const uint64_t latencies[] = {54100000, 41000000, 40500000, 39000000};
    for (size_t i = 0; i < 4; i++) {
        struct report_exemplar *exemplar;
        assert_int_equal(report_add_exemplar(report, "write", &exemplar), 0);
        exemplar->client = i == 3 ? 0 : 4123 + i;
        exemplar->tid = 77 + i;
        exemplar->latency_ns = latencies[i];
        assert_int_equal(report_add_exemplar_stage(exemplar, "opqueue.wait", 2000000), 0);
        assert_int_equal(
            report_add_exemplar_stage(exemplar, "filestore.index", latencies[i] - 6000000), 0);
        exemplar->unattributed_ns = 4000000;
    }
}

static struct report *new_report(double seconds)
{
    struct report *report;
    assert_int_equal(report_new(&report), 0);
    assert_int_equal(report_set_string(&report->source.daemon, "ceph-osd"), 0);
    assert_int_equal(report_set_string(&report->source.id, "0"), 0);
    assert_int_equal(report_set_string(&report->source.version, "16.2.15"), 0);
    assert_int_equal(report_set_string(&report->source.store, "filestore"), 0);
    report->source.pid = 5138;
    report->source.seconds = report->source.traced_seconds = seconds;
    return report;
}

void screen_story_tell(struct screen_story *story)
{
    assert_int_equal(screen_history_new(&story->history), 0);
    for (uint64_t second = 0; second < 65; second++) {
        struct report *report = new_report(1);
        /* ten seconds of silence in between */
        if (second < 20 || second >= 30)
            add_ops(report, 400, 100, 7000000 * second / 64);
        assert_int_equal(screen_history_add(story->history, report), 0);
        report_free(report);
    }
    story->whole = new_report(3725);
    add_ops(story->whole, 1600000, 400000, 4000000);
    add_exemplars(story->whole);
    story->whole->counts.lost_events = 1234;
    assert_int_equal(report_add_incomplete(story->whole, "timeout", 2), 0);
    assert_int_equal(report_add_incomplete(story->whole, "evicted", 0), 0);
    story->interval = new_report(1);
    add_ops(story->interval, 400, 100, 7000000);
    add_exemplars(story->interval);
}

void screen_story_free(struct screen_story *story)
{
    report_free(story->whole);
    report_free(story->interval);
    screen_history_free(story->history);
}
