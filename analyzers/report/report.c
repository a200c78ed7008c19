/* SPDX-License-Identifier: MIT */
#include "report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"

/* One row more at the end of an array; the row is zeroed. NULL with the message without memory. */
static void *append(void *array_pointer /* T **, whatever T is */, size_t *count, size_t size)
{
    char *bigger;

    memcpy(&bigger, array_pointer, sizeof(bigger));

    /* the arrays grow at powers of two: reallocated only when full */
    if ((*count & (*count - 1)) == 0) {
        size_t capacity = *count ? *count * 2 : 1;
        bigger = reallocarray(bigger, capacity, size);
        if (!bigger) {
            err_no_memory();
            return NULL;
        }
        memcpy(array_pointer, &bigger, sizeof(bigger));
    }
    memset(bigger + *count * size, 0, size);
    return bigger + (*count)++ * size;
}

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
    free(op->type);
    free(op->path);
}

static void free_exemplar(struct report_exemplar *exemplar)
{
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
        free_strings(report->verdicts[i].knobs);
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
    free(report);
}

int report_add_op(struct report *report, const char *type, const char *path, struct report_op **op)
{
    struct report_op *row = append(&report->ops, &report->op_count, sizeof(*row));

    if (!row)
        return -ENOMEM;
    *op = row;
    if (report_set_string(&row->type, type) < 0 || report_set_string(&row->path, path) < 0)
        return -ENOMEM;
    return 0;
}

int report_add_stage(struct report_op *op, const char *name, const char *kind, const char *text,
                     char *const *knobs, struct report_stage **stage)
{
    struct report_stage *row = append(&op->stages, &op->stage_count, sizeof(*row));

    if (!row)
        return -ENOMEM;
    *stage = row;
    if (report_set_string(&row->name, name) < 0 || report_set_string(&row->kind, kind) < 0 ||
        report_set_string(&row->text, text) < 0)
        return -ENOMEM;
    row->knobs = copy_strings(knobs);
    return row->knobs ? 0 : err_no_memory();
}

int report_add_source(struct report *report, struct report_source **source)
{
    struct report_source *row = append(&report->sources, &report->source_count, sizeof(*row));

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
    struct report_peer *row = append(&report->peers, &report->peer_count, sizeof(*row));

    if (!row)
        return -ENOMEM;
    *row = *peer;
    return 0;
}

int report_add_each(struct report *report, struct report *one)
{
    struct report **row = append(&report->each, &report->each_count, sizeof(struct report *));

    if (!row) {
        report_free(one);
        return -ENOMEM;
    }
    *row = one;
    return 0;
}

int report_add_client(struct report *report, struct report_client client)
{
    struct report_client *row = append(&report->clients, &report->client_count, sizeof(*row));

    if (!row)
        return -ENOMEM;
    *row = client;
    return 0;
}

int report_add_exemplar(struct report *report, const char *type, struct report_exemplar **exemplar)
{
    struct report_exemplar *row = append(&report->exemplars, &report->exemplar_count, sizeof(*row));

    if (!row)
        return -ENOMEM;
    *exemplar = row;
    return report_set_string(&row->type, type);
}

int report_add_exemplar_stage(struct report_exemplar *exemplar, const char *name, uint64_t ns)
{
    struct report_exemplar_stage *row =
        append(&exemplar->stages, &exemplar->stage_count, sizeof(*row));

    if (!row)
        return -ENOMEM;
    row->ns = ns;
    return report_set_string(&row->name, name);
}

static int add_count(struct report_count **counts, size_t *count, const char *name, uint64_t value)
{
    struct report_count *row = append(counts, count, sizeof(*row));

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

int report_add_verdict(struct report *report, const struct report_verdict *verdict)
{
    struct report_verdict *row = append(&report->verdicts, &report->verdict_count, sizeof(*row));

    if (!row)
        return -ENOMEM;
    row->rank = verdict->rank;
    row->confidence = verdict->confidence;
    row->gain = verdict->gain;
    if (report_set_string(&row->cause, verdict->cause) < 0 ||
        report_set_string(&row->stage, verdict->stage) < 0 ||
        report_set_string(&row->text, verdict->text) < 0)
        return -ENOMEM;
    row->knobs = copy_strings(verdict->knobs);
    return row->knobs ? 0 : err_no_memory();
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
    row = append(&report->notes, &report->note_count, sizeof(*row));
    if (!row) {
        free(note);
        return -ENOMEM;
    }
    *row = note;
    return 0;
}
