/* SPDX-License-Identifier: MIT */
#include <stddef.h>

#include "json_object.h"
#include "scale_render.h"

/* The sweeps as JSON: one row a field, docs/scale.md is the manual. Rows are only appended. */

static const struct field figure_fields[] = {
    {.key = "value", FIELD_REAL, offsetof(struct scaling_figure, value)},
    {.key = "low", FIELD_REAL, offsetof(struct scaling_figure, low)},
    {.key = "high", FIELD_REAL, offsetof(struct scaling_figure, high)},
    {0},
};

static const struct field point_fields[] = {
    {.key = "depth", FIELD_REAL, offsetof(struct scaling_point, depth)},
    {.key = "ops_per_s", FIELD_REAL, offsetof(struct scaling_point, rate)},
    {.key = "latency_ns", FIELD_ROUNDED, offsetof(struct scaling_point, latency_ns)},
    {.key = "in_flight", FIELD_REAL, offsetof(struct scaling_point, in_flight)},
    {.key = "fitted_ops_per_s", FIELD_REAL, offsetof(struct scaling_point, fitted)},
    {.key = "outside_fit", FIELD_BOOL, offsetof(struct scaling_point, outside)},
    {.key = "against_littles_law", FIELD_BOOL, offsetof(struct scaling_point, against_littles)},
    {0},
};

static const struct field cause_fields[] = {
    {.key = "kind", FIELD_TEXT, offsetof(struct scaling_cause, kind)},
    {.key = "name", FIELD_TEXT, offsetof(struct scaling_cause, name)},
    {.key = "busy", FIELD_REAL, offsetof(struct scaling_cause, busy)},
    {.key = "demand_ns", FIELD_ROUNDED, offsetof(struct scaling_cause, demand_ns)},
    {0},
};

static const struct field stage_fields[] = {
    {.key = "name", FIELD_TEXT, offsetof(struct scaling_stage, name)},
    {.key = "low_ns", FIELD_ROUNDED, offsetof(struct scaling_stage, low_ns)},
    {.key = "high_ns", FIELD_ROUNDED, offsetof(struct scaling_stage, high_ns)},
    {.key = "growth_share", FIELD_REAL, offsetof(struct scaling_stage, growth_share)},
    {0},
};

#define SERIES(member) offsetof(struct scaling_series, member)

static const struct field series_fields[] = {
    {.key = "group", FIELD_TEXT, SERIES(group)},
    {.key = "name", FIELD_TEXT, SERIES(name)},
    {.key = "flat", FIELD_BOOL, SERIES(flat)},
    {.key = "knee_depth", FIELD_REAL, SERIES(knee)},
    {.key = "ceiling_ops_per_s", FIELD_OBJECT, SERIES(ceiling), .fields = figure_fields},
    {.key = "serial_ns", FIELD_OBJECT, SERIES(demand_ns), .fields = figure_fields},
    {.key = "fitted", FIELD_BOOL, SERIES(fitted)},
    {.key = "fit_from_depth", FIELD_REAL, SERIES(fit_from)},
    {.key = "fit_error", FIELD_REAL, SERIES(fit_error)},
    {.key = "rate_at_depth_1", FIELD_OBJECT, SERIES(rate1), .fields = figure_fields},
    {.key = "contention", FIELD_OBJECT, SERIES(contention), .fields = figure_fields},
    {.key = "coherency", FIELD_OBJECT, SERIES(coherency), .fields = figure_fields},
    {.key = "peak_depth", FIELD_REAL, SERIES(peak_depth)},
    {.key = "peak_ops_per_s", FIELD_REAL, SERIES(peak_rate)},
    {.key = "limit_ops_per_s", FIELD_REAL, SERIES(limit_rate)},
    {.key = "points",
     FIELD_ROWS,
     SERIES(points),
     SERIES(point_count),
     sizeof(struct scaling_point),
     point_fields},
    {.key = "causes",
     FIELD_ROWS,
     SERIES(causes),
     SERIES(cause_count),
     sizeof(struct scaling_cause),
     cause_fields},
    {.key = "stages",
     FIELD_ROWS,
     SERIES(stages),
     SERIES(stage_count),
     sizeof(struct scaling_stage),
     stage_fields},
    {0},
};

/* The series, each with its sentences. */
static json_t *all_series(const struct scaling *scaling)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < scaling->series_count; i++) {
        const struct scaling_series *series = &scaling->series[i];
        json_t *object = object_json((const char *)series, series_fields);
        if (!object ||
            json_object_set_new(object, "sentences",
                                strings_json(series->sentences, series->sentence_count)) < 0 ||
            json_array_append(array, object) < 0) {
            json_decref(array);
            array = NULL;
        }
        json_decref(object);
    }
    return array;
}

int render_scale_json(const struct scaling *scaling, FILE *out)
{
    json_t *json = json_object();
    if (!json || json_object_set_new(json, "schema", json_string("optrail.scale/1")) < 0 ||
        json_object_set_new(json, "notes", strings_json(scaling->notes, scaling->note_count)) < 0 ||
        json_object_set_new(json, "series", all_series(scaling)) < 0) {
        json_decref(json);
        json = NULL;
    }
    return json_write(json, "the JSON report", out);
}
