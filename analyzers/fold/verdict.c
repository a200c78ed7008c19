/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "err.h"
#include "fold.h"

/*
 * Says in plain words what the stage table shows: for each op type, where most of its time goes.
 * It looks at the rows of the report and at nothing else, so it comes last.
 *
 * Confidence is the share of the ops in which the named stage took the most time: a stage that is
 * large on average only because of a few ops gets a low one. The gain is what vanishes if the
 * stage does, an upper bound: ops may wait elsewhere instead.
 */

/* A type with less than this part of all time is not worth a sentence. */
#define WORTH_A_SENTENCE 0.05
/* A stage below this share does not stand out. */
#define STANDS_OUT 0.20
/* Below this many ops the shares are accidents. */
#define ENOUGH_OPS 50

static int create(const struct fold_options *options, void **state)
{
    (void)options;
    *state = NULL;
    return 0;
}

static const struct report_stage *largest_stage(const struct report_op *op)
{
    const struct report_stage *largest = NULL;
    for (size_t i = 0; i < op->stage_count; i++)
        if (!largest || op->stages[i].share > largest->share)
            largest = &op->stages[i];
    return largest;
}

/* What makes the slowest ops slow may be another stage than the one that is large on average. */
static void describe_tail(const struct report_op *op, const struct report_stage *stage, char *text,
                          size_t size)
{
    const struct report_stage *slowest = stage;
    for (size_t i = 0; i < op->stage_count; i++)
        if (op->stages[i].tail_share > slowest->tail_share)
            slowest = &op->stages[i];
    if (slowest == stage)
        snprintf(text, size, "and %.0f %% of the time of the slowest 1 %%.",
                 100 * stage->tail_share);
    else
        snprintf(text, size,
                 "but %.0f %% of the time of the slowest 1 %%, which is in %s for %.0f %%.",
                 100 * stage->tail_share, slowest->name, 100 * slowest->tail_share);
}

static int add(struct report *report, const struct report_stage *stage, const char *text)
{
    char cause[256] = "unattributed";
    if (stage)
        snprintf(cause, sizeof(cause), "stage:%s", stage->name);
    struct report_verdict verdict = {
        .rank = (int)report->verdict_count + 1,
        .cause = cause,
        .stage = stage ? stage->name : "",
        .confidence = stage ? stage->largest_share : 0,
        .gain = stage ? stage->share : 0,
        .text = (char *)text,
        .knobs = stage ? stage->knobs : (char *[]){NULL},
    };
    return report_add_verdict(report, &verdict);
}

static int judge(struct report *report, const struct report_op *op)
{
    char text[1024], tail[320];
    const struct report_stage *stage = largest_stage(op);
    if (op->count < ENOUGH_OPS)
        return report_add_note(report, "%s: only %llu op%s, too few to say what is typical",
                               op->type, (unsigned long long)op->count, op->count == 1 ? "" : "s");
    if (!stage || op->unattributed_share > stage->share) {
        snprintf(text, sizeof(text),
                 "%s: %.0f %% of the time lies in no stage that the path '%s' knows: what the "
                 "daemon does then is not traced.",
                 op->type, 100 * op->unattributed_share, op->path);
        return add(report, NULL, text);
    }
    if (stage->share < STANDS_OUT) {
        snprintf(text, sizeof(text),
                 "%s: no stage stands out; the largest, %s, has %.0f %% of the time.", op->type,
                 stage->name, 100 * stage->share);
        return add(report, stage, text);
    }
    describe_tail(op, stage, tail, sizeof(tail));
    snprintf(text, sizeof(text),
             "%s: %.0f %% of the time goes to %s: %s. It is the largest part of %.0f %% of these "
             "ops, %s",
             op->type, 100 * stage->share, stage->name, *stage->text ? stage->text : stage->kind,
             100 * stage->largest_share, tail);
    return add(report, stage, text);
}

static int fill(void *state, struct report *report)
{
    (void)state;
    double all = 0;
    for (size_t i = 0; i < report->op_count; i++)
        all += (double)report->ops[i].total_ns;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < report->op_count; i++)
        if (report->ops[i].count > 0 && *report->ops[i].path &&
            (double)report->ops[i].total_ns >= WORTH_A_SENTENCE * all)
            rc = judge(report, &report->ops[i]);
    return rc;
}

const struct fold_class fold_verdict = {.name = "verdict", .create = create, .fill = fill};
