/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "escape.h"
#include "json_fields.h"
#include "json_object.h"
#include "renderers.h"

/*
 * The report as JSON: one row a field, docs/report-json.md is the manual. Rows are only appended,
 * never renamed. There is no null: what is not known is "" or 0.
 */
const struct field latency_fields[] = {
    {.key = "count", FIELD_UNSIGNED, offsetof(struct report_latency, count)},
    {.key = "mean", FIELD_ROUNDED, offsetof(struct report_latency, mean)},
    {.key = "p50", FIELD_UNSIGNED, offsetof(struct report_latency, p50)},
    {.key = "p90", FIELD_UNSIGNED, offsetof(struct report_latency, p90)},
    {.key = "p99", FIELD_UNSIGNED, offsetof(struct report_latency, p99)},
    {.key = "p999", FIELD_UNSIGNED, offsetof(struct report_latency, p999)},
    {.key = "max", FIELD_UNSIGNED, offsetof(struct report_latency, max)},
    {0},
};

static const struct field stage_fields[] = {
    {.key = "name", FIELD_TEXT, offsetof(struct report_stage, name)},
    {.key = "kind", FIELD_TEXT, offsetof(struct report_stage, kind)},
    {.key = "text", FIELD_TEXT, offsetof(struct report_stage, text)},
    {.key = "knobs", FIELD_STRINGS, offsetof(struct report_stage, knobs)},
    {.key = "count", FIELD_UNSIGNED, offsetof(struct report_stage, count)},
    {.key = "latency_ns",
     FIELD_OBJECT,
     offsetof(struct report_stage, latency),
     .fields = latency_fields},
    {.key = "total_ns", FIELD_UNSIGNED, offsetof(struct report_stage, total_ns)},
    {.key = "beside_ns", FIELD_UNSIGNED, offsetof(struct report_stage, beside_ns)},
    {.key = "share", FIELD_REAL, offsetof(struct report_stage, share)},
    {.key = "tail_share", FIELD_REAL, offsetof(struct report_stage, tail_share)},
    {.key = "largest_share", FIELD_REAL, offsetof(struct report_stage, largest_share)},
    {0},
};

static const struct field bucket_fields[] = {
    {.key = "below_ns", FIELD_UNSIGNED, offsetof(struct report_bucket, below_ns)},
    {.key = "count", FIELD_UNSIGNED, offsetof(struct report_bucket, count)},
    {0},
};

static const struct field quantile_fields[] = {
    {.key = "quantile", FIELD_REAL, offsetof(struct report_quantile, quantile)},
    {.key = "ns", FIELD_UNSIGNED, offsetof(struct report_quantile, ns)},
    {0},
};

static const struct field op_fields[] = {
    {.key = "type", FIELD_TEXT, offsetof(struct report_op, type)},
    {.key = "path", FIELD_TEXT, offsetof(struct report_op, path)},
    {.key = "count", FIELD_UNSIGNED, offsetof(struct report_op, count)},
    {.key = "failed", FIELD_UNSIGNED, offsetof(struct report_op, failed)},
    {.key = "bytes", FIELD_UNSIGNED, offsetof(struct report_op, bytes)},
    {.key = "latency_ns",
     FIELD_OBJECT,
     offsetof(struct report_op, latency),
     .fields = latency_fields},
    {.key = "total_ns", FIELD_UNSIGNED, offsetof(struct report_op, total_ns)},
    {.key = "stages",
     FIELD_ROWS,
     offsetof(struct report_op, stages),
     offsetof(struct report_op, stage_count),
     sizeof(struct report_stage),
     stage_fields},
    {.key = "unattributed_ns", FIELD_UNSIGNED, offsetof(struct report_op, unattributed_ns)},
    {.key = "unattributed_share", FIELD_REAL, offsetof(struct report_op, unattributed_share)},
    {.key = "unattributed_tail_share",
     FIELD_REAL,
     offsetof(struct report_op, unattributed_tail_share)},
    {.key = "histogram",
     FIELD_ROWS,
     offsetof(struct report_op, histogram),
     offsetof(struct report_op, histogram_count),
     sizeof(struct report_bucket),
     bucket_fields},
    {.key = "curve",
     FIELD_ROWS,
     offsetof(struct report_op, curve),
     offsetof(struct report_op, curve_count),
     sizeof(struct report_quantile),
     quantile_fields},
    {0},
};

static const struct field client_fields[] = {
    {.key = "client", FIELD_UNSIGNED, offsetof(struct report_client, client)},
    {.key = "ops", FIELD_UNSIGNED, offsetof(struct report_client, ops)},
    {.key = "bytes", FIELD_UNSIGNED, offsetof(struct report_client, bytes)},
    {0},
};

static const struct field peer_fields[] = {
    {.key = "pid", FIELD_INT, offsetof(struct report_peer, pid)},
    {.key = "peer", FIELD_UNSIGNED, offsetof(struct report_peer, peer)},
    {.key = "asked", FIELD_UNSIGNED, offsetof(struct report_peer, asked)},
    {.key = "last", FIELD_UNSIGNED, offsetof(struct report_peer, last)},
    {.key = "last_share", FIELD_REAL, offsetof(struct report_peer, last_share)},
    {.key = "latency_ns",
     FIELD_OBJECT,
     offsetof(struct report_peer, latency),
     .fields = latency_fields},
    {0},
};

static const struct field figure_fields[] = {
    {.key = "source", FIELD_TEXT, offsetof(struct report_figure, source)},
    {.key = "name", FIELD_TEXT, offsetof(struct report_figure, name)},
    {.key = "value", FIELD_REAL, offsetof(struct report_figure, value)},
    {.key = "unit", FIELD_TEXT, offsetof(struct report_figure, unit)},
    {0},
};

static const struct field verdict_fields[] = {
    {.key = "rank", FIELD_INT, offsetof(struct report_verdict, rank)},
    {.key = "cause", FIELD_TEXT, offsetof(struct report_verdict, cause)},
    {.key = "stage", FIELD_TEXT, offsetof(struct report_verdict, stage)},
    {.key = "confidence", FIELD_REAL, offsetof(struct report_verdict, confidence)},
    {.key = "gain", FIELD_REAL, offsetof(struct report_verdict, gain)},
    {.key = "text", FIELD_TEXT, offsetof(struct report_verdict, text)},
    {.key = "knobs", FIELD_STRINGS, offsetof(struct report_verdict, knobs)},
    {.key = "type", FIELD_TEXT, offsetof(struct report_verdict, type)},
    {.key = "share", FIELD_REAL, offsetof(struct report_verdict, share)},
    {.key = "predicted_ops_per_s",
     FIELD_ROUNDED,
     offsetof(struct report_verdict, predicted_ops_per_s)},
    {.key = "next", FIELD_TEXT, offsetof(struct report_verdict, next)},
    {.key = "evidence", FIELD_STRINGS, offsetof(struct report_verdict, evidence)},
    {0},
};

static const struct field source_fields[] = {
    {.key = "kind", FIELD_TEXT, offsetof(struct report, source.kind)},
    {.key = "daemon", FIELD_TEXT, offsetof(struct report, source.daemon)},
    {.key = "id", FIELD_TEXT, offsetof(struct report, source.id)},
    {.key = "pid", FIELD_INT, offsetof(struct report, source.pid)},
    {.key = "version", FIELD_TEXT, offsetof(struct report, source.version)},
    {.key = "store", FIELD_TEXT, offsetof(struct report, source.store)},
    {.key = "seconds", FIELD_REAL, offsetof(struct report, source.seconds)},
    {.key = "traced_seconds", FIELD_REAL, offsetof(struct report, source.traced_seconds)},
    {0},
};

static const struct field sources_fields[] = {
    {.key = "daemon", FIELD_TEXT, offsetof(struct report_source, daemon)},
    {.key = "id", FIELD_TEXT, offsetof(struct report_source, id)},
    {.key = "pid", FIELD_INT, offsetof(struct report_source, pid)},
    {.key = "version", FIELD_TEXT, offsetof(struct report_source, version)},
    {.key = "store", FIELD_TEXT, offsetof(struct report_source, store)},
    {.key = "restarts", FIELD_UNSIGNED, offsetof(struct report_source, restarts)},
    {.key = "events", FIELD_UNSIGNED, offsetof(struct report_source, events)},
    {.key = "ops", FIELD_UNSIGNED, offsetof(struct report_source, ops)},
    {.key = "incomplete", FIELD_UNSIGNED, offsetof(struct report_source, incomplete)},
    {.key = "lost_events", FIELD_UNSIGNED, offsetof(struct report_source, lost_events)},
    {.key = "type", FIELD_TEXT, offsetof(struct report_source, type)},
    {.key = "latency_ns",
     FIELD_OBJECT,
     offsetof(struct report_source, latency),
     .fields = latency_fields},
    {0},
};

static const struct field counts_fields[] = {
    {.key = "events", FIELD_UNSIGNED, offsetof(struct report, counts.events)},
    {.key = "ops", FIELD_UNSIGNED, offsetof(struct report, counts.ops)},
    {.key = "incomplete",
     FIELD_COUNTS,
     offsetof(struct report, counts.incomplete),
     offsetof(struct report, counts.incomplete_count)},
    {.key = "lost_events", FIELD_UNSIGNED, offsetof(struct report, counts.lost_events)},
    {.key = "unmatched_events", FIELD_UNSIGNED, offsetof(struct report, counts.unmatched_events)},
    {.key = "other",
     FIELD_COUNTS,
     offsetof(struct report, counts.others),
     offsetof(struct report, counts.other_count)},
    {0},
};

static const struct field exemplar_stage_fields[] = {
    {.key = "name", FIELD_TEXT, offsetof(struct report_exemplar_stage, name)},
    {.key = "ns", FIELD_UNSIGNED, offsetof(struct report_exemplar_stage, ns)},
    {0},
};

static const struct field exemplar_span_fields[] = {
    {.key = "stage", FIELD_TEXT, offsetof(struct report_exemplar_span, stage)},
    {.key = "begin_ns", FIELD_UNSIGNED, offsetof(struct report_exemplar_span, begin_ns)},
    {.key = "ns", FIELD_UNSIGNED, offsetof(struct report_exemplar_span, ns)},
    {0},
};

static const struct field exemplar_fields[] = {
    {.key = "type", FIELD_TEXT, offsetof(struct report_exemplar, type)},
    {.key = "client", FIELD_UNSIGNED, offsetof(struct report_exemplar, client)},
    {.key = "tid", FIELD_UNSIGNED, offsetof(struct report_exemplar, tid)},
    {.key = "start_ns", FIELD_UNSIGNED, offsetof(struct report_exemplar, start_ns)},
    {.key = "latency_ns", FIELD_UNSIGNED, offsetof(struct report_exemplar, latency_ns)},
    {.key = "stages",
     FIELD_ROWS,
     offsetof(struct report_exemplar, stages),
     offsetof(struct report_exemplar, stage_count),
     sizeof(struct report_exemplar_stage),
     exemplar_stage_fields},
    {.key = "unattributed_ns", FIELD_UNSIGNED, offsetof(struct report_exemplar, unattributed_ns)},
    {.key = "spans",
     FIELD_ROWS,
     offsetof(struct report_exemplar, spans),
     offsetof(struct report_exemplar, span_count),
     sizeof(struct report_exemplar_span),
     exemplar_span_fields},
    {0},
};

/* `source` and `counts` have their fields counted from the report's start, hence the offset 0. */
static const struct field report_fields[] = {
    {.key = "source", FIELD_OBJECT, 0, .fields = source_fields},
    {.key = "counts", FIELD_OBJECT, 0, .fields = counts_fields},
    {.key = "ops",
     FIELD_ROWS,
     offsetof(struct report, ops),
     offsetof(struct report, op_count),
     sizeof(struct report_op),
     op_fields},
    {.key = "clients",
     FIELD_ROWS,
     offsetof(struct report, clients),
     offsetof(struct report, client_count),
     sizeof(struct report_client),
     client_fields},
    {.key = "peers",
     FIELD_ROWS,
     offsetof(struct report, peers),
     offsetof(struct report, peer_count),
     sizeof(struct report_peer),
     peer_fields},
    {.key = "verdict",
     FIELD_ROWS,
     offsetof(struct report, verdicts),
     offsetof(struct report, verdict_count),
     sizeof(struct report_verdict),
     verdict_fields},
    {.key = "sources",
     FIELD_ROWS,
     offsetof(struct report, sources),
     offsetof(struct report, source_count),
     sizeof(struct report_source),
     sources_fields},
    {.key = "exemplars",
     FIELD_ROWS,
     offsetof(struct report, exemplars),
     offsetof(struct report, exemplar_count),
     sizeof(struct report_exemplar),
     exemplar_fields},
    {.key = "locks",
     FIELD_ROWS,
     offsetof(struct report, locks),
     offsetof(struct report, lock_count),
     sizeof(struct report_lock),
     lock_fields},
    {.key = "queues",
     FIELD_ROWS,
     offsetof(struct report, queues),
     offsetof(struct report, queue_count),
     sizeof(struct report_queue),
     queue_fields},
    {.key = "activities",
     FIELD_ROWS,
     offsetof(struct report, activities),
     offsetof(struct report, activity_count),
     sizeof(struct report_activity),
     activity_fields},
    {.key = "load", FIELD_OBJECT, 0, .fields = load_fields},
    {.key = "cpu", FIELD_OBJECT, 0, .fields = cpu_fields},
    {.key = "tails",
     FIELD_ROWS,
     offsetof(struct report, tails),
     offsetof(struct report, tail_count),
     sizeof(struct report_tail),
     tail_fields},
    {.key = "populations",
     FIELD_ROWS,
     offsetof(struct report, populations),
     offsetof(struct report, population_count),
     sizeof(struct report_population),
     population_fields},
    {.key = "stalls",
     FIELD_ROWS,
     offsetof(struct report, stalls),
     offsetof(struct report, stall_count),
     sizeof(struct report_stall),
     stall_fields},
    {.key = "rhythms",
     FIELD_ROWS,
     offsetof(struct report, rhythms),
     offsetof(struct report, rhythm_count),
     sizeof(struct report_rhythm),
     rhythm_fields},
    {.key = "figures",
     FIELD_ROWS,
     offsetof(struct report, figures),
     offsetof(struct report, figure_count),
     sizeof(struct report_figure),
     figure_fields},
    {0},
};

static json_t *text_json(const char *text)
{
    size_t size = 4 * strlen(text) + 8;
    char *escaped = malloc(size);
    json_t *json = NULL;

    if (escaped) {
        escape_for_json(text, escaped, size);
        json = json_string(escaped);
    }
    free(escaped);
    return json;
}

/* JSON integers are signed here: what is larger (no figure of ours can be) stops at the limit. */
static json_t *unsigned_json(uint64_t value)
{
    return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

json_t *strings_json(char *const *strings, size_t count)
{
    json_t *array = json_array();

    for (size_t i = 0; array && i < count && strings[i]; i++) {
        if (json_array_append_new(array, text_json(strings[i])) < 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static json_t *counts_json(const struct report_count *counts, size_t count)
{
    json_t *object = json_object();

    for (size_t i = 0; object && i < count; i++) {
        if (json_object_set_new(object, counts[i].name, unsigned_json(counts[i].value)) < 0) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

static json_t *rows_json(const char *rows, size_t count, const struct field *field)
{
    json_t *array = json_array();

    for (size_t i = 0; array && i < count; i++) {
        if (json_array_append_new(array, object_json(rows + i * field->size, field->fields)) < 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

/* The value of a field of the struct that begins at `base`. */
static json_t *value_json(const char *base, const struct field *field)
{
    const void *at = base + field->offset;
    const size_t *count = (const void *)(base + field->count_offset);
    const void *const *pointer = at;
    double real;

    switch (field->kind) {
    case FIELD_TEXT:
        return text_json(*(char *const *)at);
    case FIELD_UNSIGNED:
        return unsigned_json(*(const uint64_t *)at);
    case FIELD_INT:
        return json_integer(*(const int *)at);
    case FIELD_REAL:
    case FIELD_ROUNDED:
        memcpy(&real, at, sizeof(real));
        if (!isfinite(real))
            real = 0;
        return field->kind == FIELD_REAL ? json_real(real) : json_integer(llround(real));
    case FIELD_BOOL:
        return json_boolean(*(const bool *)at);
    case FIELD_STRINGS:
        return strings_json(*(char *const *const *)at, SIZE_MAX);
    case FIELD_OBJECT:
        return object_json(at, field->fields);
    case FIELD_ROWS:
        return rows_json(*pointer, *count, field);
    case FIELD_COUNTS:
        return counts_json(*pointer, *count);
    }
    return NULL;
}

json_t *object_json(const char *base, const struct field *fields)
{
    json_t *object = json_object();

    for (const struct field *field = fields; object && field->key; field++) {
        if (json_object_set_new(object, field->key, value_json(base, field)) < 0) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

static json_t *report_json(const struct report *report);

static json_t *each_json(const struct report *report)
{
    json_t *array = json_array();

    for (size_t i = 0; array && i < report->each_count; i++) {
        if (json_array_append_new(array, report_json(report->each[i])) < 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

/* Reports of several daemons hold one of each; those hold none, so the recursion ends. */
static json_t *report_json(const struct report *report) // NOLINT(misc-no-recursion)
{
    json_t *json = json_object();
    json_t *body = object_json((const char *)report, report_fields);
    bool fine =
        json && body && json_object_set_new(json, "schema", json_string("optrail.report/1")) == 0 &&
        json_object_update(json, body) == 0 &&
        json_object_set_new(json, "notes", strings_json(report->notes, report->note_count)) == 0 &&
        json_object_set_new(json, "each", each_json(report)) == 0;

    json_decref(body);
    if (!fine) {
        json_decref(json);
        return NULL;
    }
    return json;
}

int json_write(json_t *json, const char *what, FILE *out)
{
    int result = 0;

    if (!json)
        return err_no_memory();
    errno = 0;
    if (json_dumpf(json, out, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) < 0 ||
        fputc('\n', out) == EOF || fflush(out) == EOF)
        result = err_set(errno ? errno : EIO, "%s cannot be written: %s", what,
                         strerror(errno ? errno : EIO));
    json_decref(json);
    return result;
}

int render_json(const struct report *report, const struct render_options *options, FILE *out)
{
    (void)options;
    return json_write(report_json(report), "the JSON report", out);
}
