/* SPDX-License-Identifier: MIT */
/* Prometheus' text exposition format 0.0.4: the report as metrics. A report is of a span of time
 * that is over, so its counts are told as counters that nobody increments any more. */
#include <inttypes.h>
#include <stdlib.h>

#include "flame_out.h"
#include "renderers.h"

/* Buckets of the latency, each twice the one before: the same for all, so that they can be added.
 */
#define FIRST_OCTAVE 10 /* about 1 us */
#define LAST_OCTAVE  36 /* about 69 s */

/* The value of a label: backslash, quote and line feed are escaped, and it is UTF-8. */
static void write_label(const char *text, FILE *out)
{
    char room[512];
    char *sound = flame_out_utf8(text, room, sizeof(room));
    for (const char *c = sound; *c; c++) {
        if (*c == '\n') {
            fputs("\\n", out);
            continue;
        }
        if (*c == '\\' || *c == '"')
            fputc('\\', out);
        fputc(*c, out);
    }
    if (sound != room)
        free(sound);
}

static void write_head(const char *name, const char *kind, const char *help, FILE *out)
{
    fprintf(out, "# HELP optrail_%s %s\n# TYPE optrail_%s %s\n", name, help, name, kind);
}

/* Name and labels; `stage` may be NULL. */
static void write_op_name(const char *name, const struct report_op *op, const char *stage,
                          FILE *out)
{
    fprintf(out, "optrail_%s{type=\"", name);
    write_label(op->type, out);
    fputs("\",path=\"", out);
    write_label(op->path, out);
    if (stage) {
        fputs("\",stage=\"", out);
        write_label(stage, out);
    }
    fputc('"', out);
}

/* Seconds, to the ns. */
static void write_seconds(uint64_t ns, FILE *out)
{
    fprintf(out, "%" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
}

/* A bucket of Prometheus has the values up to its bound; ours end below theirs, a ns apart. */
static void write_histogram(const struct report_op *op, FILE *out)
{
    uint64_t sum = 0;
    size_t next = 0;
    for (uint32_t octave = FIRST_OCTAVE; octave <= LAST_OCTAVE; octave++) {
        uint64_t bound = (uint64_t)1 << octave;
        for (; next < op->histogram_count && op->histogram[next].below_ns <= bound; next++)
            sum += op->histogram[next].count;
        write_op_name("op_latency_seconds_bucket", op, NULL, out);
        fputs(",le=\"", out);
        write_seconds(bound - 1, out);
        fprintf(out, "\"} %" PRIu64 "\n", sum);
    }
    write_op_name("op_latency_seconds_bucket", op, NULL, out);
    fprintf(out, ",le=\"+Inf\"} %" PRIu64 "\n", op->count);
    write_op_name("op_latency_seconds_sum", op, NULL, out);
    fputs("} ", out);
    write_seconds(op->total_ns, out);
    fputc('\n', out);
    write_op_name("op_latency_seconds_count", op, NULL, out);
    fprintf(out, "} %" PRIu64 "\n", op->count);
}

static void write_ops(const struct report *report, FILE *out)
{
    write_head("op_latency_seconds", "histogram", "From the start of an op to its answer.", out);
    for (size_t i = 0; i < report->op_count; i++)
        write_histogram(&report->ops[i], out);
    write_head("op_bytes_total", "counter", "Data in and out of the ops.", out);
    for (size_t i = 0; i < report->op_count; i++) {
        if (!report_tells_bytes(report, &report->ops[i]))
            continue;
        write_op_name("op_bytes_total", &report->ops[i], NULL, out);
        fprintf(out, "} %" PRIu64 "\n", report->ops[i].bytes);
    }
    write_head("op_failed_total", "counter", "Ops that were answered with an error.", out);
    for (size_t i = 0; i < report->op_count && !report_is_imported(report); i++) {
        write_op_name("op_failed_total", &report->ops[i], NULL, out);
        fprintf(out, "} %" PRIu64 "\n", report->ops[i].failed);
    }
}

static void write_stages(const struct report *report, FILE *out)
{
    write_head("stage_seconds_total", "counter",
               "Time in a stage on the critical path of the ops; all of a type are their latency.",
               out);
    for (size_t i = 0; i < report->op_count; i++) {
        const struct report_op *op = &report->ops[i];
        for (size_t j = 0; j <= op->stage_count; j++) {
            bool last = j == op->stage_count;
            write_op_name("stage_seconds_total", op, last ? "unattributed" : op->stages[j].name,
                          out);
            fputs("} ", out);
            write_seconds(last ? op->unattributed_ns : op->stages[j].total_ns, out);
            fputc('\n', out);
        }
    }
}

static void write_lock_name(const char *name, const struct report_lock *lock, FILE *out)
{
    fprintf(out, "optrail_%s{lock=\"", name);
    write_label(lock->name, out);
    fputs("\"} ", out);
}

static void write_locks(const struct report *report, FILE *out)
{
    write_head("lock_waits_total", "counter", "Waits for a lock.", out);
    for (size_t i = 0; i < report->lock_count; i++) {
        write_lock_name("lock_waits_total", &report->locks[i], out);
        fprintf(out, "%" PRIu64 "\n", report->locks[i].waits);
    }
    write_head("lock_wait_seconds_total", "counter", "Time waited for a lock.", out);
    for (size_t i = 0; i < report->lock_count; i++) {
        write_lock_name("lock_wait_seconds_total", &report->locks[i], out);
        write_seconds(report->locks[i].wait_total_ns, out);
        fputc('\n', out);
    }
}

static void write_counts(const char *name, const struct report_count *counts, size_t count,
                         FILE *out)
{
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "optrail_%s{reason=\"", name);
        write_label(counts[i].name, out);
        fprintf(out, "\"} %" PRIu64 "\n", counts[i].value);
    }
}

static void write_losses(const struct report *report, FILE *out)
{
    write_head("lost_events", "gauge", "Events that the tracer lost.", out);
    fprintf(out, "optrail_lost_events %" PRIu64 "\n", report->counts.lost_events);
    write_head("unmatched_events", "gauge", "Events that belong to no op that is known.", out);
    fprintf(out, "optrail_unmatched_events %" PRIu64 "\n", report->counts.unmatched_events);
    write_head("incomplete_ops", "gauge", "Ops whose end was not seen, by reason.", out);
    write_counts("incomplete_ops", report->counts.incomplete, report->counts.incomplete_count, out);
    write_head("other_losses", "gauge", "What else was lost or left out, by reason.", out);
    write_counts("other_losses", report->counts.others, report->counts.other_count, out);
}

int render_prometheus(const struct report *report, const struct render_options *options, FILE *out)
{
    (void)options;
    write_head("observed_seconds", "gauge", "The span of time that the report is of.", out);
    if (!report_is_imported(report))
        fprintf(out, "optrail_observed_seconds %.9g\n", report->source.seconds);
    write_ops(report, out);
    write_stages(report, out);
    write_locks(report, out);
    write_losses(report, out);
    return flame_out_check(out);
}
