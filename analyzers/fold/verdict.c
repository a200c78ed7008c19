/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "blame.h"
#include "err.h"
#include "fold.h"
#include "knots.h"
#include "predict.h"
#include "verdict_words.h"

/*
 * Says in plain words, for each op type, what its time goes to in the end, and what would be gained
 * without it. It looks at the rows of the report and at nothing else, so it comes last.
 *
 * A cause is named only if its share is large and it is more than such a thing usually takes
 * (verdict_words.c has the norms); else nothing stands out, which is said.
 */

/* A type with less than this part of all time is not worth a sentence. */
#define WORTH_A_SENTENCE 0.05
/* Below this share of the time a cause does not stand out. */
#define STANDS_OUT 0.25
/* A second cause must have this much. */
#define SECOND 0.20
/* Below this many ops the shares are accidents. */
#define ENOUGH_OPS 50

static int create(const struct fold_options *options, void **state)
{
    (void)options;
    *state = NULL;
    return 0;
}

/* How much larger than the next one, and of how many ops. */
static double confidence(const struct blame *blame, size_t number, const struct report_op *op)
{
    double next = 0;
    for (size_t i = 0; i < blame->count; i++)
        if (i != number && blame->causes[i].share <= blame->causes[number].share)
            next = next > blame->causes[i].share ? next : blame->causes[i].share;
    double share = blame->causes[number].share;
    double ops = op->count < 4 * (uint64_t)ENOUGH_OPS ? (double)op->count / (4 * ENOUGH_OPS) : 1;
    return share > 0 ? (share - next) / share * ops : 0;
}

static int add(struct report *report, const struct report_op *op, const struct blame *blame,
               size_t number)
{
    const struct blame_cause *cause = &blame->causes[number];
    struct verdict_words words;
    char name[256];
    struct prediction prediction = predict_without(report, cause);
    verdict_words(report, op, cause, &prediction, &words);
    snprintf(name, sizeof(name), "%s%s%s", blame_class_names[cause->class], *cause->name ? ":" : "",
             cause->name);
    struct report_verdict verdict = {
        .rank = (int)report->verdict_count + 1,
        .cause = name,
        .stage = cause->stage ? cause->stage->name : "",
        .confidence = confidence(blame, number, op),
        .gain = cause->share,
        .text = words.text,
        .knobs = words.knobs,
        .type = op->type,
        .share = cause->share,
        .predicted_ops_per_s = prediction.ops_per_s,
        .next = prediction.ceiling,
        .evidence = words.evidence,
    };
    return report_add_verdict(report, &verdict);
}

static int add_nothing(struct report *report, const struct report_op *op)
{
    struct verdict_words words;
    verdict_words_nothing(report, op, &words);
    struct report_verdict verdict = {.rank = (int)report->verdict_count + 1,
                                     .cause = "none",
                                     .stage = "",
                                     .text = words.text,
                                     .knobs = words.knobs,
                                     .type = op->type,
                                     .evidence = words.evidence};
    return report_add_verdict(report, &verdict);
}

static int judge(struct report *report, const struct report_op *op)
{
    static struct blame blame;
    if (op->count < ENOUGH_OPS)
        return report_add_note(report, "%s: only %llu op%s, too few to say what is typical",
                               op->type, (unsigned long long)op->count, op->count == 1 ? "" : "s");
    blame_find(report, op, &blame);
    int rc = 0, named = 0;
    for (size_t i = 0; rc == 0 && i < blame.count && named < 2; i++) {
        const struct blame_cause *cause = &blame.causes[i];
        if (cause->share < (named ? SECOND : STANDS_OUT))
            break;
        if (!verdict_beyond_norm(report, op, cause))
            continue;
        rc = add(report, op, &blame, i);
        named++;
    }
    return rc == 0 && named == 0 ? add_nothing(report, op) : rc;
}

static int fill(void *state, struct report *report)
{
    (void)state;
    double all = 0;
    for (size_t i = 0; i < report->op_count; i++)
        all += (double)report->ops[i].total_ns;
    int rc = knots_note(report);
    for (size_t i = 0; rc == 0 && i < report->op_count; i++)
        if (report->ops[i].count > 0 && *report->ops[i].path &&
            (double)report->ops[i].total_ns >= WORTH_A_SENTENCE * all)
            rc = judge(report, &report->ops[i]);
    return rc;
}

const struct fold_class fold_verdict = {.name = "verdict", .create = create, .fill = fill};
