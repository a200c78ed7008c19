/* SPDX-License-Identifier: MIT */
#include <stddef.h>

#include "diff_render.h"
#include "err.h"
#include "json_object.h"

/* The comparison as JSON: one row a field, docs/diff.md is the manual. Rows are only appended. */

static const struct field value_fields[] = {
    {.key = "before_ns", FIELD_ROUNDED, offsetof(struct diff_value, before)},
    {.key = "after_ns", FIELD_ROUNDED, offsetof(struct diff_value, after)},
    {.key = "change_ns", FIELD_REAL, offsetof(struct diff_value, change)},
    {.key = "low_ns", FIELD_REAL, offsetof(struct diff_value, low)},
    {.key = "high_ns", FIELD_REAL, offsetof(struct diff_value, high)},
    {.key = "freedom", FIELD_REAL, offsetof(struct diff_value, freedom)},
    {.key = "p", FIELD_REAL, offsetof(struct diff_value, p)},
    {.key = "tested", FIELD_BOOL, offsetof(struct diff_value, tested)},
    {.key = "significant", FIELD_BOOL, offsetof(struct diff_value, significant)},
    {.key = "detectable_ns", FIELD_REAL, offsetof(struct diff_value, detectable)},
    {0},
};

#define VALUE(statistic)                                                                           \
    (offsetof(struct diff_row, values) + (statistic) * sizeof(struct diff_value))

static const struct field row_fields[] = {
    {.key = "stage", FIELD_TEXT, offsetof(struct diff_row, stage)},
    {.key = "kind", FIELD_TEXT, offsetof(struct diff_row, kind)},
    {.key = "effect_size", FIELD_REAL, offsetof(struct diff_row, effect)},
    {.key = "part_of_change", FIELD_REAL, offsetof(struct diff_row, part)},
    {.key = "mean", FIELD_OBJECT, VALUE(DIFF_MEAN), .fields = value_fields},
    {.key = "p50", FIELD_OBJECT, VALUE(DIFF_P50), .fields = value_fields},
    {.key = "p90", FIELD_OBJECT, VALUE(DIFF_P90), .fields = value_fields},
    {.key = "p99", FIELD_OBJECT, VALUE(DIFF_P99), .fields = value_fields},
    {0},
};

static const struct field type_fields[] = {
    {.key = "type", FIELD_TEXT, offsetof(struct diff_type, type)},
    {.key = "ops_before", FIELD_UNSIGNED, offsetof(struct diff_type, ops_before)},
    {.key = "ops_after", FIELD_UNSIGNED, offsetof(struct diff_type, ops_after)},
    {.key = "ops_per_s_before", FIELD_REAL, offsetof(struct diff_type, rate_before)},
    {.key = "ops_per_s_after", FIELD_REAL, offsetof(struct diff_type, rate_after)},
    {.key = "changed", FIELD_BOOL, offsetof(struct diff_type, changed)},
    {.key = "cause", FIELD_TEXT, offsetof(struct diff_type, cause)},
    {.key = "text", FIELD_TEXT, offsetof(struct diff_type, text)},
    {.key = "rows",
     FIELD_ROWS,
     offsetof(struct diff_type, rows),
     .count_offset = offsetof(struct diff_type, row_count),
     .size = sizeof(struct diff_row),
     .fields = row_fields},
    {0},
};

static const struct field condition_fields[] = {
    {.key = "condition", FIELD_TEXT, offsetof(struct diff_condition, text)},
    {.key = "holds", FIELD_BOOL, offsetof(struct diff_condition, holds)},
    {.key = "why", FIELD_TEXT, offsetof(struct diff_condition, why)},
    {0},
};

#define DIFF(member) offsetof(struct report_diff, member)

static const struct field diff_fields[] = {
    {.key = "between_runs", FIELD_BOOL, DIFF(between_runs)},
    {.key = "types",
     FIELD_ROWS,
     DIFF(types),
     .count_offset = DIFF(type_count),
     .size = sizeof(struct diff_type),
     .fields = type_fields},
    {.key = "conditions",
     FIELD_ROWS,
     DIFF(conditions),
     .count_offset = DIFF(condition_count),
     .size = sizeof(struct diff_condition),
     .fields = condition_fields},
    {.key = "assumed_part", FIELD_REAL, DIFF(assumed_part)},
    {.key = "assumed_ns", FIELD_REAL, DIFF(assumed_ns)},
    {0},
};

int render_diff_json(const struct report_diff *diff, FILE *out)
{
    json_t *rest = object_json((const char *)diff, diff_fields);
    json_t *warnings = strings_json(diff->warnings, diff->warning_count);
    json_t *json = json_pack("{s:s, s:i, s:i, s:i}", "schema", "optrail.diff/1", "runs_before",
                             (int)diff->runs_before, "runs_after", (int)diff->runs_after, "tests",
                             (int)diff->tests);
    if (!rest || !warnings || !json || json_object_set(json, "warnings", warnings) < 0 ||
        json_object_update(json, rest) < 0) {
        json_decref(json);
        json = NULL;
    }
    json_decref(rest);
    json_decref(warnings);
    return json_write(json, "the comparison", out);
}
