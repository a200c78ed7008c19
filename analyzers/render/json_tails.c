/* SPDX-License-Identifier: MIT */
#include <stddef.h>

#include "json_fields.h"
#include "report.h"

/* What is said of slow ops and of time, as rows of the JSON (json.c). */

static const struct field tail_stage_fields[] = {
    {.key = "name", FIELD_TEXT, offsetof(struct report_tail_stage, name)},
    {.key = "mean_ns", FIELD_ROUNDED, offsetof(struct report_tail_stage, mean_ns)},
    {.key = "slow_ns", FIELD_ROUNDED, offsetof(struct report_tail_stage, slow_ns)},
    {.key = "share", FIELD_REAL, offsetof(struct report_tail_stage, share)},
    {0},
};

static const struct field common_fields[] = {
    {.key = "kind", FIELD_TEXT, offsetof(struct report_common, kind)},
    {.key = "value", FIELD_TEXT, offsetof(struct report_common, value)},
    {.key = "ops", FIELD_UNSIGNED, offsetof(struct report_common, ops)},
    {.key = "slow", FIELD_UNSIGNED, offsetof(struct report_common, slow)},
    {.key = "share", FIELD_REAL, offsetof(struct report_common, share)},
    {.key = "slow_share", FIELD_REAL, offsetof(struct report_common, slow_share)},
    {.key = "probability", FIELD_REAL, offsetof(struct report_common, probability)},
    {0},
};

const struct field tail_fields[] = {
    {.key = "type", FIELD_TEXT, offsetof(struct report_tail, type)},
    {.key = "ops", FIELD_UNSIGNED, offsetof(struct report_tail, ops)},
    {.key = "slow", FIELD_UNSIGNED, offsetof(struct report_tail, slow)},
    {.key = "threshold_ns", FIELD_UNSIGNED, offsetof(struct report_tail, threshold_ns)},
    {.key = "mean_ns", FIELD_ROUNDED, offsetof(struct report_tail, mean_ns)},
    {.key = "slow_ns", FIELD_ROUNDED, offsetof(struct report_tail, slow_ns)},
    {.key = "tests", FIELD_UNSIGNED, offsetof(struct report_tail, tests)},
    {.key = "not_kept", FIELD_UNSIGNED, offsetof(struct report_tail, not_kept)},
    {.key = "stages",
     FIELD_ROWS,
     offsetof(struct report_tail, stages),
     offsetof(struct report_tail, stage_count),
     sizeof(struct report_tail_stage),
     tail_stage_fields},
    {.key = "common",
     FIELD_ROWS,
     offsetof(struct report_tail, common),
     offsetof(struct report_tail, common_count),
     sizeof(struct report_common),
     common_fields},
    {0},
};

const struct field population_fields[] = {
    {.key = "type", FIELD_TEXT, offsetof(struct report_population, type)},
    {.key = "split_ns", FIELD_UNSIGNED, offsetof(struct report_population, split_ns)},
    {.key = "fast_ops", FIELD_UNSIGNED, offsetof(struct report_population, fast_ops)},
    {.key = "slow_ops", FIELD_UNSIGNED, offsetof(struct report_population, slow_ops)},
    {.key = "fast_ns", FIELD_UNSIGNED, offsetof(struct report_population, fast_ns)},
    {.key = "slow_ns", FIELD_UNSIGNED, offsetof(struct report_population, slow_ns)},
    {.key = "separation", FIELD_REAL, offsetof(struct report_population, separation)},
    {.key = "stage", FIELD_TEXT, offsetof(struct report_population, stage)},
    {.key = "stage_share", FIELD_REAL, offsetof(struct report_population, stage_share)},
    {0},
};

static const struct field stall_stage_fields[] = {
    {.key = "name", FIELD_TEXT, offsetof(struct report_stall_stage, name)},
    {.key = "ns", FIELD_UNSIGNED, offsetof(struct report_stall_stage, ns)},
    {.key = "share", FIELD_REAL, offsetof(struct report_stall_stage, share)},
    {0},
};

const struct field stall_fields[] = {
    {.key = "count", FIELD_UNSIGNED, offsetof(struct report_stall, count)},
    {.key = "total_ns", FIELD_UNSIGNED, offsetof(struct report_stall, total_ns)},
    {.key = "longest_ns", FIELD_UNSIGNED, offsetof(struct report_stall, longest_ns)},
    {.key = "longest_at_ns", FIELD_UNSIGNED, offsetof(struct report_stall, longest_at_ns)},
    {.key = "open", FIELD_UNSIGNED, offsetof(struct report_stall, open)},
    {.key = "stages",
     FIELD_ROWS,
     offsetof(struct report_stall, stages),
     offsetof(struct report_stall, stage_count),
     sizeof(struct report_stall_stage),
     stall_stage_fields},
    {0},
};

const struct field rhythm_fields[] = {
    {.key = "period_ns", FIELD_UNSIGNED, offsetof(struct report_rhythm, period_ns)},
    {.key = "window_ns", FIELD_UNSIGNED, offsetof(struct report_rhythm, window_ns)},
    {.key = "correlation", FIELD_REAL, offsetof(struct report_rhythm, correlation)},
    {.key = "probability", FIELD_REAL, offsetof(struct report_rhythm, probability)},
    {.key = "mean_ns", FIELD_ROUNDED, offsetof(struct report_rhythm, mean_ns)},
    {.key = "high_ns", FIELD_ROUNDED, offsetof(struct report_rhythm, high_ns)},
    {0},
};
