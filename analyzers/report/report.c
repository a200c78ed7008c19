/* SPDX-License-Identifier: MIT */
#include "report.h"

#include "report_rows.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"

static void free_strings(char **strings)
{
    for (char **string = strings; string && *string; string++)
        free(*string);
    free(strings);
}

/* A copy of a NULL-terminated list; NULL counts as the empty one. */
static char **copy_strings(char *const *strings)
{
    size_t count = 0;
    char **copy;

    while (strings && strings[count])
        count++;
    copy = calloc(count + 1, sizeof(*copy));
    for (size_t i = 0; copy && i < count; i++) {
        copy[i] = strdup(strings[i]);
        if (!copy[i]) {
            free_strings(copy);
            return NULL;
        }
    }
    return copy;
}

int report_set_string(char **field, const char *value)
{
    char *copy = strdup(value ? value : "");

    if (!copy)
        return err_no_memory();
    free(*field);
    *field = copy;
    return 0;
}

int report_new(struct report **report)
{
    struct report *made = calloc(1, sizeof(*made));

    if (!made)
        return err_no_memory();
    if (report_set_string(&made->source.kind, "") < 0 ||
        report_set_string(&made->source.daemon, "") < 0 ||
        report_set_string(&made->source.id, "") < 0 ||
        report_set_string(&made->source.version, "") < 0 ||
        report_set_string(&made->source.store, "") < 0) {
        report_free(made);
        return -ENOMEM;
    }
    *report = made;
    return 0;
}

static void free_counts(struct report_count *counts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(counts[i].name);
    free(counts);
}

static void free_op(struct report_op *op)
{
    for (size_t i = 0; i < op->stage_count; i++) {
        free(op->stages[i].name);
        free(op->stages[i].kind);
        free(op->stages[i].text);
        free_strings(op->stages[i].knobs);
    }
    free(op->stages);
    free(op->histogram);
    free(op->curve);
    free(op->type);
    free(op->path);
    free(op->daemon);
}

static void free_parts(struct report_part *parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(parts[i].name);
    free(parts);
}

static void free_lock(struct report_lock *lock)
{
    free(lock->name);
    free(lock->kind);
    free(lock->class);
    free(lock->member);
    free(lock->stage);
    free(lock->instance);
    free_parts(lock->waiters, lock->waiter_count);
    free_parts(lock->holders, lock->holder_count);
    free(lock->threads);
    for (size_t i = 0; i < lock->hottest_count; i++)
        free(lock->hottest[i].name);
    free(lock->hottest);
    for (size_t i = 0; i < lock->site_count; i++)
        free(lock->sites[i].frames);
    free(lock->sites);
}

static void free_contention(struct report *report)
{
    for (size_t i = 0; i < report->lock_count; i++)
        free_lock(&report->locks[i]);
    free(report->locks);
    for (size_t i = 0; i < report->queue_count; i++) {
        free(report->queues[i].stage);
        free_parts(report->queues[i].parts, report->queues[i].part_count);
    }
    free(report->queues);
    for (size_t i = 0; i < report->activity_count; i++) {
        free(report->activities[i].stage);
        free_parts(report->activities[i].parts, report->activities[i].part_count);
    }
    free(report->activities);
}

static void free_exemplar(struct report_exemplar *exemplar)
{
    for (size_t i = 0; i < exemplar->span_count; i++)
        free(exemplar->spans[i].stage);
    free(exemplar->spans);
    for (size_t i = 0; i < exemplar->stage_count; i++)
        free(exemplar->stages[i].name);
    free(exemplar->stages);
    free(exemplar->type);
}

void report_free(struct report *report)
{
    if (!report)
        return;
    free(report->source.kind);
    free(report->source.daemon);
    free(report->source.id);
    free(report->source.version);
    free(report->source.store);
    free_counts(report->counts.incomplete, report->counts.incomplete_count);
    free_counts(report->counts.others, report->counts.other_count);
    for (size_t i = 0; i < report->op_count; i++)
        free_op(&report->ops[i]);
    free(report->ops);
    free(report->clients);
    free(report->peers);
    for (size_t i = 0; i < report->verdict_count; i++) {
        free(report->verdicts[i].cause);
        free(report->verdicts[i].stage);
        free(report->verdicts[i].text);
        free(report->verdicts[i].type);
        free(report->verdicts[i].next);
        free_strings(report->verdicts[i].knobs);
        free_strings(report->verdicts[i].evidence);
    }
    free(report->verdicts);
    for (size_t i = 0; i < report->source_count; i++) {
        free(report->sources[i].daemon);
        free(report->sources[i].id);
        free(report->sources[i].version);
        free(report->sources[i].store);
        free(report->sources[i].type);
    }
    free(report->sources);
    for (size_t i = 0; i < report->each_count; i++)
        report_free(report->each[i]);
    free(report->each);
    for (size_t i = 0; i < report->note_count; i++)
        free(report->notes[i]);
    free(report->notes);
    for (size_t i = 0; i < report->exemplar_count; i++)
        free_exemplar(&report->exemplars[i]);
    free(report->exemplars);
    for (size_t i = 0; i < report->figure_count; i++) {
        free(report->figures[i].source);
        free(report->figures[i].name);
        free(report->figures[i].unit);
    }
    free(report->figures);
    free(report->heat.row_low_ns);
    free(report->heat.cells);
    free_contention(report);
    report_free_tails(report);
    free(report);
}

int report_add_op(struct report *report, const char *type, const char *path, struct report_op **op)
{
    struct report_op *row = report_append(&report->ops, &report->op_count, sizeof(*row));

    if (!row)
        return -ENOMEM;
    *op = row;
    if (report_set_string(&row->type, type) < 0 || report_set_string(&row->path, path) < 0 ||
        report_set_string(&row->daemon, "") < 0)
        return -ENOMEM;
    return 0;
}

int report_add_stage(struct report_op *op, const char *name, const char *kind, const char *text,
                     char *const *knobs, struct report_stage **stage)
{
    struct report_stage *row = report_append(&op->stages, &op->stage_count, sizeof(*row));

    if (!row)
        return -ENOMEM;
    row->typical = 1;
    *stage = row;
    if (report_set_string(&row->name, name) < 0 || report_set_string(&row->kind, kind) < 0 ||
        report_set_string(&row->text, text) < 0)
        return -ENOMEM;
    row->knobs = copy_strings(knobs);
    return row->knobs ? 0 : err_no_memory();
}

int report_add_source(struct report *report, struct report_source **source)
{
    struct report_source *row =
        report_append(&report->sources, &report->source_count, sizeof(*row));

    if (!row)
        return -ENOMEM;
    *source = row;
    if (report_set_string(&row->daemon, "") < 0 || report_set_string(&row->id, "") < 0 ||
        report_set_string(&row->version, "") < 0 || report_set_string(&row->store, "") < 0 ||
        report_set_string(&row->type, "") < 0)
        return -ENOMEM;
    return 0;
}

int report_add_peer(struct report *report, const struct report_peer *peer)
{
    struct report_peer *row = report_append(&report->peers, &report->peer_count, sizeof(*row));

    if (!row)
        return -ENOMEM;
    *row = *peer;
    return 0;
}

int report_add_each(struct report *report, struct report *one)
{
    struct report **row =
        report_append(&report->each, &report->each_count, sizeof(struct report *));

    if (!row) {
        report_free(one);
        return -ENOMEM;
    }
    *row = one;
    return 0;
}

int report_add_bucket(struct report_op *op, uint64_t below_ns, uint64_t count)
{
    struct report_bucket *row = report_append(&op->histogram, &op->histogram_count, sizeof(*row));

    if (!row)
        return -ENOMEM;
    *row = (struct report_bucket){below_ns, count};
    return 0;
}

int report_add_quantile(struct report_op *op, double quantile, uint64_t ns)
{
    struct report_quantile *row = report_append(&op->curve, &op->curve_count, sizeof(*row));

    if (!row)
        return -ENOMEM;
    *row = (struct report_quantile){quantile, ns};
    return 0;
}

int report_make_heat(struct report *report, size_t windows, size_t rows)
{
    struct report_heat *heat = &report->heat;

    heat->row_low_ns = calloc(rows, sizeof(*heat->row_low_ns));
    heat->cells = calloc(windows * rows, sizeof(*heat->cells));
    if (!heat->row_low_ns || !heat->cells)
        return err_no_memory();
    heat->window_count = windows;
    heat->row_count = rows;
    return 0;
}

int report_add_client(struct report *report, struct report_client client)
{
    struct report_client *row =
        report_append(&report->clients, &report->client_count, sizeof(*row));

    if (!row)
        return -ENOMEM;
    *row = client;
    return 0;
}

int report_add_exemplar(struct report *report, const char *type, struct report_exemplar **exemplar)
{
    struct report_exemplar *row =
        report_append(&report->exemplars, &report->exemplar_count, sizeof(*row));

    if (!row)
        return -ENOMEM;
    *exemplar = row;
    return report_set_string(&row->type, type);
}

int report_add_exemplar_stage(struct report_exemplar *exemplar, const char *name, uint64_t ns)
{
    struct report_exemplar_stage *row =
        report_append(&exemplar->stages, &exemplar->stage_count, sizeof(*row));

    if (!row)
        return -ENOMEM;
    row->ns = ns;
    return report_set_string(&row->name, name);
}

int report_add_exemplar_span(struct report_exemplar *exemplar,
                             const struct report_exemplar_span *span)
{
    struct report_exemplar_span *row =
        report_append(&exemplar->spans, &exemplar->span_count, sizeof(*row));

    if (!row)
        return -ENOMEM;
    *row = *span;
    row->stage = NULL;
    return report_set_string(&row->stage, span->stage);
}

static int add_count(struct report_count **counts, size_t *count, const char *name, uint64_t value)
{
    struct report_count *row = report_append(counts, count, sizeof(*row));

    if (!row)
        return -ENOMEM;
    row->value = value;
    return report_set_string(&row->name, name);
}

int report_add_incomplete(struct report *report, const char *name, uint64_t value)
{
    return add_count(&report->counts.incomplete, &report->counts.incomplete_count, name, value);
}

int report_add_other(struct report *report, const char *name, uint64_t value)
{
    return add_count(&report->counts.others, &report->counts.other_count, name, value);
}

struct report_count *report_find_other(const struct report *report, const char *name)
{
    for (size_t i = 0; i < report->counts.other_count; i++)
        if (strcmp(report->counts.others[i].name, name) == 0)
            return &report->counts.others[i];
    return NULL;
}

int report_add_verdict(struct report *report, const struct report_verdict *verdict)
{
    struct report_verdict *row =
        report_append(&report->verdicts, &report->verdict_count, sizeof(*row));

    if (!row)
        return -ENOMEM;
    row->rank = verdict->rank;
    row->confidence = verdict->confidence;
    row->gain = verdict->gain;
    if (report_set_string(&row->cause, verdict->cause) < 0 ||
        report_set_string(&row->stage, verdict->stage) < 0 ||
        report_set_string(&row->text, verdict->text) < 0)
        return -ENOMEM;
    if (report_set_string(&row->type, verdict->type) < 0 ||
        report_set_string(&row->next, verdict->next) < 0)
        return -ENOMEM;
    row->share = verdict->share;
    row->predicted_ops_per_s = verdict->predicted_ops_per_s;
    row->knobs = copy_strings(verdict->knobs);
    row->evidence = copy_strings(verdict->evidence);
    return row->knobs && row->evidence ? 0 : err_no_memory();
}

int report_add_figure(struct report *report, const char *source, const char *name, double value,
                      const char *unit)
{
    struct report_figure *row =
        report_append(&report->figures, &report->figure_count, sizeof(*row));

    if (!row)
        return -ENOMEM;
    row->value = value;
    if (report_set_string(&row->source, source) < 0 || report_set_string(&row->name, name) < 0 ||
        report_set_string(&row->unit, unit) < 0) {
        free(row->source);
        free(row->name);
        free(row->unit);
        report->figure_count--;
        return -ENOMEM;
    }
    return 0;
}

bool report_is_imported(const struct report *report)
{
    return report->source.kind && strcmp(report->source.kind, "import") == 0;
}

bool report_tells_bytes(const struct report *report, const struct report_op *op)
{
    return op->bytes > 0 || !report_is_imported(report);
}

int report_add_note(struct report *report, const char *format, ...)
{
    va_list arguments;
    char *note = NULL;
    char **row;
    int length;

    va_start(arguments, format);
    length = vasprintf(&note, format, arguments);
    va_end(arguments);
    if (length < 0)
        return err_no_memory();
    row = report_append(&report->notes, &report->note_count, sizeof(*row));
    if (!row) {
        free(note);
        return -ENOMEM;
    }
    *row = note;
    return 0;
}
