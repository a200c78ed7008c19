/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "report.h"
#include "report_rows.h"

int report_add_tail(struct report *report, const char *type, struct report_tail **tail)
{
    struct report_tail *row = report_append(&report->tails, &report->tail_count, sizeof(*row));
    if (!row)
        return err_no_memory();
    *tail = row;
    return report_set_string(&(*tail)->type, type);
}

int report_add_tail_stage(struct report_tail *tail, const struct report_tail_stage *stage)
{
    struct report_tail_stage *row = report_append(&tail->stages, &tail->stage_count, sizeof(*row));
    if (!row)
        return err_no_memory();
    *row = *stage;
    row->name = NULL;
    return report_set_string(&row->name, stage->name);
}

int report_add_common(struct report_tail *tail, const struct report_common *common)
{
    struct report_common *row = report_append(&tail->common, &tail->common_count, sizeof(*row));
    if (!row)
        return err_no_memory();
    *row = *common;
    row->kind = row->value = NULL;
    int result = report_set_string(&row->kind, common->kind);
    return result == 0 ? report_set_string(&row->value, common->value) : result;
}

int report_add_population(struct report *report, const struct report_population *population)
{
    struct report_population *row =
        report_append(&report->populations, &report->population_count, sizeof(*row));
    if (!row)
        return err_no_memory();
    *row = *population;
    row->type = row->stage = NULL;
    int result = report_set_string(&row->type, population->type);
    return result == 0 ? report_set_string(&row->stage, population->stage) : result;
}

int report_add_stall(struct report *report, struct report_stall **stall)
{
    struct report_stall *row = report_append(&report->stalls, &report->stall_count, sizeof(*row));
    if (!row)
        return err_no_memory();
    *stall = row;
    return 0;
}

int report_add_stall_stage(struct report_stall *stall, const char *name, uint64_t ns)
{
    struct report_stall_stage *row =
        report_append(&stall->stages, &stall->stage_count, sizeof(*row));
    if (!row)
        return err_no_memory();
    row->ns = ns;
    return report_set_string(&row->name, name);
}

int report_add_rhythm(struct report *report, const struct report_rhythm *rhythm)
{
    struct report_rhythm *row =
        report_append(&report->rhythms, &report->rhythm_count, sizeof(*row));
    if (!row)
        return err_no_memory();
    *row = *rhythm;
    return 0;
}

static void free_tail(struct report_tail *tail)
{
    for (size_t i = 0; i < tail->stage_count; i++)
        free(tail->stages[i].name);
    for (size_t i = 0; i < tail->common_count; i++) {
        free(tail->common[i].kind);
        free(tail->common[i].value);
    }
    free(tail->stages);
    free(tail->common);
    free(tail->type);
}

void report_free_tails(struct report *report)
{
    for (size_t i = 0; i < report->tail_count; i++)
        free_tail(&report->tails[i]);
    for (size_t i = 0; i < report->population_count; i++) {
        free(report->populations[i].type);
        free(report->populations[i].stage);
    }
    for (size_t i = 0; i < report->stall_count; i++) {
        for (size_t j = 0; j < report->stalls[i].stage_count; j++)
            free(report->stalls[i].stages[j].name);
        free(report->stalls[i].stages);
    }
    free(report->tails);
    free(report->populations);
    free(report->stalls);
    free(report->rhythms);
}
