/* SPDX-License-Identifier: MIT */
/* The figures as one table (RFC 4180): a line is one figure of one thing. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "flame_out.h"
#include "renderers.h"

/* What a line is about. */
struct subject {
    const char *table; /* "op", "stage", "lock", "loss", ... */
    const char *type;  /* of the ops; "" if of all */
    const char *name;  /* of the stage, the lock, the loss; "" if there is none */
};

/* A text that a spreadsheet would take for a formula stays a text: it gets an apostrophe. */
static void write_text(const char *text, FILE *out)
{
    char room[512];
    char *sound = flame_out_utf8(text, room, sizeof(room));
    bool quoted = strpbrk(sound, ",\"\r\n") != NULL;
    if (quoted)
        fputc('"', out);
    if (*sound && strchr("=+-@\t\r", *sound))
        fputc('\'', out);
    for (const char *c = sound; *c; c++) {
        if (*c == '"')
            fputc('"', out);
        fputc(*c, out);
    }
    if (quoted)
        fputc('"', out);
    if (sound != room)
        free(sound);
}

static void write_key(const struct subject *subject, const char *figure, FILE *out)
{
    write_text(subject->table, out);
    fputc(',', out);
    write_text(subject->type, out);
    fputc(',', out);
    write_text(subject->name, out);
    fprintf(out, ",%s,", figure);
}

static void write_whole(const struct subject *subject, const char *figure, uint64_t value,
                        FILE *out)
{
    write_key(subject, figure, out);
    fprintf(out, "%" PRIu64 "\r\n", value);
}

/* What was not told is an empty cell: nobody adds it up as a zero. */
static void write_unknown(const struct subject *subject, const char *figure, FILE *out)
{
    write_key(subject, figure, out);
    fputs("\r\n", out);
}

static void write_part(const struct subject *subject, const char *figure, double value, FILE *out)
{
    write_key(subject, figure, out);
    fprintf(out, "%.9g\r\n", value);
}

static void write_latency(const struct subject *subject, const struct report_latency *latency,
                          FILE *out)
{
    write_part(subject, "mean_ns", latency->mean, out);
    write_whole(subject, "p50_ns", latency->p50, out);
    write_whole(subject, "p90_ns", latency->p90, out);
    write_whole(subject, "p99_ns", latency->p99, out);
    write_whole(subject, "p999_ns", latency->p999, out);
    write_whole(subject, "max_ns", latency->max, out);
}

/* A part in the tail: what was imported has none. */
static void write_tail_share(const struct subject *subject, bool imported, double share, FILE *out)
{
    if (imported)
        write_unknown(subject, "tail_share", out);
    else
        write_part(subject, "tail_share", share, out);
}

static void write_op(const struct report *report, const struct report_op *op, FILE *out)
{
    bool imported = report_is_imported(report);
    struct subject subject = {"op", op->type, ""};
    write_whole(&subject, "count", op->count, out);
    if (imported)
        write_unknown(&subject, "failed", out);
    else
        write_whole(&subject, "failed", op->failed, out);
    if (report_tells_bytes(report, op))
        write_whole(&subject, "bytes", op->bytes, out);
    else
        write_unknown(&subject, "bytes", out);
    write_whole(&subject, "total_ns", op->total_ns, out);
    write_latency(&subject, &op->latency, out);
    for (size_t i = 0; i < op->stage_count; i++) {
        const struct report_stage *stage = &op->stages[i];
        struct subject one = {"stage", op->type, stage->name};
        write_whole(&one, "count", stage->count, out);
        write_whole(&one, "total_ns", stage->total_ns, out);
        write_part(&one, "share", stage->share, out);
        write_tail_share(&one, imported, stage->tail_share, out);
        write_latency(&one, &stage->latency, out);
    }
    subject = (struct subject){"stage", op->type, "unattributed"};
    write_whole(&subject, "total_ns", op->unattributed_ns, out);
    write_part(&subject, "share", op->unattributed_share, out);
    write_tail_share(&subject, imported, op->unattributed_tail_share, out);
}

static void write_lock(const struct report_lock *lock, FILE *out)
{
    struct subject subject = {"lock", "", lock->name};
    write_whole(&subject, "waits", lock->waits, out);
    write_whole(&subject, "wait_total_ns", lock->wait_total_ns, out);
    write_latency(&subject, &lock->wait, out);
    write_whole(&subject, "hold_total_ns", lock->hold_total_ns, out);
    write_part(&subject, "busy", lock->busy, out);
    write_part(&subject, "ceiling_ops_per_s", lock->ceiling_ops_per_s, out);
}

static void write_losses(const struct report *report, FILE *out)
{
    struct subject subject = {"loss", "", "lost_events"};
    write_whole(&subject, "count", report->counts.lost_events, out);
    subject.name = "unmatched_events";
    write_whole(&subject, "count", report->counts.unmatched_events, out);
    subject.table = "incomplete";
    for (size_t i = 0; i < report->counts.incomplete_count; i++) {
        subject.name = report->counts.incomplete[i].name;
        write_whole(&subject, "count", report->counts.incomplete[i].value, out);
    }
    subject.table = "other";
    for (size_t i = 0; i < report->counts.other_count; i++) {
        subject.name = report->counts.others[i].name;
        write_whole(&subject, "count", report->counts.others[i].value, out);
    }
}

int render_csv(const struct report *report, const struct render_options *options, FILE *out)
{
    (void)options;
    fputs("table,type,name,figure,value\r\n", out);
    for (size_t i = 0; i < report->op_count; i++)
        write_op(report, &report->ops[i], out);
    for (size_t i = 0; i < report->lock_count; i++)
        write_lock(&report->locks[i], out);
    write_losses(report, out);
    return flame_out_check(out);
}
