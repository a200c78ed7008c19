/* SPDX-License-Identifier: MIT */
#include "compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare_private.h"
#include "err.h"
#include "statistics.h"

#define SIGNIFICANT 0.05
/* Fewer values tell nothing of a mean, or of what lies behind a quantile. */
#define FEWEST_OPS    30
#define FEWEST_BEYOND 10
static const double beyond[DIFF_STATISTICS] = {1, 0.5, 0.1, 0.01};

/* One type on one side. */
struct type_side {
    const struct compare_side *side;
    struct spread *spreads;         /* owned: one a run */
    struct compare_between between; /* how runs are taken to differ; 0: their values tell */
};

/* What is compared: an op type's latency, a stage, or what no stage covers. */
struct target_name {
    const char *type;
    const char *stage; /* ""; "unattributed" */
};

/* A value and how it is distributed. */
struct estimate {
    bool there; /* the op type is */
    bool enough;
    double value, variance, freedom;
    double assumed; /* variance between runs that is taken for granted */
    /* of a percentile: the part of the ops below the one of all runs together */
    double fraction, fraction_variance;
};

static const struct report_op *op_of(const struct report *report, const char *type)
{
    for (size_t i = 0; i < report->op_count; i++)
        if (strcmp(report->ops[i].type, type) == 0)
            return &report->ops[i];
    return NULL;
}

static const struct report_stage *stage_of(const struct report_op *op, const char *name)
{
    for (size_t i = 0; i < op->stage_count; i++)
        if (strcmp(op->stages[i].name, name) == 0)
            return &op->stages[i];
    return NULL;
}

static double quantile_in(const struct report_latency *latency, enum diff_statistic statistic)
{
    return (double)(statistic == DIFF_P50   ? latency->p50
                    : statistic == DIFF_P90 ? latency->p90
                                            : latency->p99);
}

/* One run's value; false: there are too few ops. */
static bool run_value(const struct report_op *op, const char *stage, enum diff_statistic statistic,
                      double *value)
{
    const struct report_stage *row = *stage ? stage_of(op, stage) : NULL;
    double ops = (double)op->count;
    *value = 0;
    if (statistic == DIFF_MEAN) {
        bool rest = strcmp(stage, "unattributed") == 0;
        uint64_t total = !*stage ? op->total_ns
                         : rest  ? op->unattributed_ns
                         : row   ? row->total_ns
                                 : 0;
        *value = ops > 0 ? (double)total / ops : 0;
        return ops >= FEWEST_OPS;
    }
    if (*stage && !row)
        return false;
    const struct report_latency *latency = row ? &row->latency : &op->latency;
    *value = quantile_in(latency, statistic);
    return (double)latency->count * beyond[statistic] >= FEWEST_BEYOND;
}

static size_t target_number(const struct window_row *row, const char *stage)
{
    if (!*stage)
        return row->stage_count + 1;
    for (size_t i = 0; i < row->stage_count; i++)
        if (strcmp(row->path->stages[i].name, stage) == 0)
            return i;
    return row->stage_count;
}

/* Of one run: its own windows tell how far it may be off. */
static struct estimate estimate_run(const struct compare_run *run, const struct spread *spread,
                                    const struct target_name *name, enum diff_statistic statistic)
{
    const struct report_op *op = op_of(run->report, name->type);
    const struct window_row *row = windows_of(run->windows, name->type);
    struct estimate estimate = {.there = op != NULL};
    if (!op)
        return estimate;
    estimate.enough = run_value(op, name->stage, statistic, &estimate.value) && spread->known;
    if (!row || !spread->known)
        return estimate;
    size_t target = target_number(row, name->stage);
    double error = spread->errors[target][statistic];
    if (statistic != DIFF_MEAN && (!*name->stage || stage_of(op, name->stage)))
        estimate.value = spread->values[target][statistic];
    if (strcmp(name->stage, "unattributed") != 0 && *name->stage && !stage_of(op, name->stage))
        error = 0; /* it never passes the stage */
    estimate.variance = error * error;
    estimate.fraction = spread->fractions[target][statistic];
    estimate.fraction_variance = pow(spread->fraction_errors[target][statistic], 2);
    estimate.freedom = spread->freedom;
    return estimate;
}

/* The variance of the mean of `count` values, from how they differ. Few runs may agree by chance,
 * but no better than each of them agrees with itself: `within` is the sum of what they say of that.
 */
static double variance_of_mean(double sum, double squares, double within, double count)
{
    double variance = (squares - sum * sum / count) / (count - 1);
    return fmax(variance, within / count) / count;
}

/* Of several runs: their mean, and how they differ. */
static struct estimate estimate_side(const struct type_side *side, const struct target_name *name,
                                     enum diff_statistic statistic)
{
    struct estimate all = {.enough = true};
    double squares = 0, within = 0, fraction_squares = 0, fraction_within = 0;
    double count = (double)side->side->count;
    for (size_t i = 0; i < side->side->count; i++) {
        struct estimate one =
            estimate_run(&side->side->runs[i], &side->spreads[i], name, statistic);
        const struct report_op *op = op_of(side->side->runs[i].report, name->type);
        double value;
        if (side->side->count == 1)
            return one;
        all.there = all.there || one.there;
        all.enough = all.enough && op && run_value(op, name->stage, statistic, &value) &&
                     (statistic == DIFF_MEAN || side->spreads[i].known);
        all.value += one.value;
        squares += one.value * one.value;
        within += one.variance;
        all.fraction += one.fraction;
        fraction_squares += one.fraction * one.fraction;
        fraction_within += one.fraction_variance;
    }
    all.variance = variance_of_mean(all.value, squares, within, count);
    all.fraction_variance =
        variance_of_mean(all.fraction, fraction_squares, fraction_within, count);
    all.value /= count;
    all.fraction /= count;
    all.freedom = count - 1;
    return all;
}

static double assumed_variance(const struct compare_between *between, double value)
{
    return pow(between->part * value, 2) + between->ns * between->ns;
}

/* One run against several: it is taken to vary as each of these does. */
static void lend_variance(struct estimate *one, const struct estimate *several, double count)
{
    one->enough = one->there && several->enough;
    one->variance = fmax(one->variance, several->variance * count);
    one->fraction_variance = fmax(one->fraction_variance, several->fraction_variance * count);
    one->freedom = several->freedom;
}

/* Welch's and Satterthwaite's degrees of freedom. Beside variances that were estimated, one that is
 * taken as known has any number of them. */
static double freedom_of(double a, double freedom_a, double b, double freedom_b, double known)
{
    if (!(a + b > 0))
        return 1000;
    return (a + b + known) * (a + b + known) /
           ((freedom_a > 0 ? a * a / freedom_a : 0) + (freedom_b > 0 ? b * b / freedom_b : 0));
}

static double p_of(double change, double error, double freedom)
{
    return error > 0 ? student_two_sided(change / error, freedom) : change == 0;
}

/* Of a percentile. What is assumed between runs is a variance of the percentile, not of the part
 * below it. But in units of the change, variances add up: change / error is what a part's change
 * and error say, too. */
static double p_of_fraction(double change, const struct estimate *before,
                            const struct estimate *after)
{
    double a = before->fraction_variance, b = after->fraction_variance;
    double known = before->assumed + after->assumed;
    double by = after->fraction - before->fraction;
    if (!(known > 0))
        return p_of(by, sqrt(a + b), freedom_of(a, before->freedom, b, after->freedom, 0));
    if (by == 0 || change == 0)
        return 1;
    a /= by * by;
    b /= by * by;
    known /= change * change;
    return p_of(1, sqrt(a + b + known), freedom_of(a, before->freedom, b, after->freedom, known));
}

/* The mean by its change; a percentile by which part of the ops lies below the one of all runs
 * together, since that has a well-behaved error even where times are lumped at a few values,
 * between which a percentile jumps. */
static void test(struct diff_value *value, const struct estimate *before,
                 const struct estimate *after, enum diff_statistic statistic)
{
    *value = (struct diff_value){.before = before->value, .after = after->value, .p = 1};
    value->change = after->value - before->value;
    if (!before->enough || !after->enough)
        return;
    double known = before->assumed + after->assumed;
    double error = sqrt(before->variance + after->variance + known);
    double freedom =
        freedom_of(before->variance, before->freedom, after->variance, after->freedom, known);
    double reach = student_quantile(SIGNIFICANT, freedom) * error;
    value->tested = true;
    value->freedom = freedom;
    value->low = value->change - reach;
    value->high = value->change + reach;
    value->detectable = error; /* for now: how many of it, the number of tests tells */
    value->p = p_of(value->change, error, freedom);
    if (statistic == DIFF_MEAN)
        return;
    value->p = p_of_fraction(value->change, before, after);
    if (value->p > SIGNIFICANT) { /* then no change at all is possible, too */
        value->low = fmin(value->low, 0);
        value->high = fmax(value->high, 0);
    }
}

static double effect_of(const struct type_side *before, const struct target_name *name,
                        double change)
{
    const struct compare_run *run = &before->side->runs[0];
    const struct window_row *row = windows_of(run->windows, name->type);
    if (!row || !before->spreads[0].known)
        return 0;
    double deviation = before->spreads[0].deviation[target_number(row, name->stage)];
    return deviation > 0 ? change / deviation : 0;
}

static int add_row(const struct type_side *before, const struct type_side *after,
                   struct diff_type *type, const char *stage, const char *kind)
{
    const struct target_name name = {type->type, stage};
    struct diff_row *row;
    int rc = report_diff_add_row(type, stage, kind, &row);
    for (int s = 0; rc == 0 && s < DIFF_STATISTICS; s++) {
        struct estimate a = estimate_side(before, &name, (enum diff_statistic)s);
        struct estimate b = estimate_side(after, &name, (enum diff_statistic)s);
        a.assumed = assumed_variance(&before->between, a.value);
        b.assumed = assumed_variance(&after->between, b.value);
        if (before->side->count == 1 && after->side->count > 1)
            lend_variance(&a, &b, (double)after->side->count);
        else if (before->side->count > 1 && after->side->count == 1)
            lend_variance(&b, &a, (double)before->side->count);
        if (strcmp(stage, "unattributed") == 0 && s != DIFF_MEAN)
            a.enough = false;
        test(&row->values[s], &a, &b, (enum diff_statistic)s);
    }
    if (rc == 0)
        row->effect = effect_of(before, &name, row->values[DIFF_MEAN].change);
    return rc;
}

/* The stages of both sides, in the order of the path. */
static int add_stages(const struct type_side *before, const struct type_side *after,
                      struct diff_type *type)
{
    int rc = 0;
    for (int side = 0; side < 2; side++) {
        const struct compare_side *runs = side ? after->side : before->side;
        for (size_t i = 0; i < runs->count; i++) {
            const struct report_op *op = op_of(runs->runs[i].report, type->type);
            for (size_t j = 0; op && rc == 0 && j < op->stage_count; j++) {
                bool known = false;
                for (size_t k = 0; k < type->row_count; k++)
                    known = known || strcmp(type->rows[k].stage, op->stages[j].name) == 0;
                if (!known)
                    rc = add_row(before, after, type, op->stages[j].name, op->stages[j].kind);
            }
        }
    }
    return rc;
}

static void pool_side(const char *type, const struct type_side *side, struct pool *pool)
{
    for (size_t i = 0; i < side->side->count; i++) {
        const struct compare_run *run = &side->side->runs[i];
        const struct window_row *row = windows_of(run->windows, type);
        if (row)
            pool_add(pool, run->windows, row);
    }
}

static int make_spreads(const char *type, const struct pool *pool, struct type_side *side)
{
    int rc = 0;
    side->spreads = calloc(side->side->count + 1, sizeof(*side->spreads));
    if (!side->spreads)
        return err_no_memory();
    for (size_t i = 0; rc == 0 && i < side->side->count; i++) {
        const struct compare_run *run = &side->side->runs[i];
        const struct window_row *row = windows_of(run->windows, type);
        if (row)
            rc = spread_of(run->windows, row, pool, &side->spreads[i]);
    }
    return rc;
}

static uint64_t count_ops(const struct compare_side *side, const char *type, double *rate)
{
    uint64_t ops = 0;
    double seconds = 0;
    for (size_t i = 0; i < side->count; i++) {
        const struct report_op *op = op_of(side->runs[i].report, type);
        ops += op ? op->count : 0;
        seconds += side->runs[i].report->source.seconds;
    }
    *rate = seconds > 0 ? (double)ops / seconds : 0;
    return ops;
}

static int add_type(const struct compare_side *before, const struct compare_side *after,
                    const char *name, struct report_diff *diff)
{
    const struct compare_between between = {diff->assumed_part, diff->assumed_ns};
    struct type_side a = {.side = before, .between = between};
    struct type_side b = {.side = after, .between = between};
    struct diff_type *type;
    int rc = report_diff_add_type(diff, name, &type);
    if (rc < 0)
        return rc;
    type->ops_before = count_ops(before, name, &type->rate_before);
    type->ops_after = count_ops(after, name, &type->rate_after);
    struct pool *pool = calloc(1, sizeof(*pool));
    if (!pool)
        return err_no_memory();
    pool_side(name, &a, pool);
    pool_side(name, &b, pool);
    rc = make_spreads(name, pool, &a);
    if (rc == 0)
        rc = make_spreads(name, pool, &b);
    free(pool);
    if (rc == 0)
        rc = add_row(&a, &b, type, "", "");
    if (rc == 0)
        rc = add_stages(&a, &b, type);
    if (rc == 0)
        rc = add_row(&a, &b, type, "unattributed", "");
    double whole = rc == 0 ? type->rows[0].values[DIFF_MEAN].change : 0;
    for (size_t i = 1; rc == 0 && i < type->row_count; i++)
        type->rows[i].part = whole != 0 ? type->rows[i].values[DIFF_MEAN].change / whole : 0;
    free(a.spreads);
    free(b.spreads);
    return rc;
}

/* The types of both sides, those that took the most time on the first one first. */
static int add_types(const struct compare_side *before, const struct compare_side *after,
                     struct report_diff *diff)
{
    int rc = 0;
    for (int side = 0; side < 2; side++) {
        const struct compare_side *runs = side ? after : before;
        for (size_t i = 0; i < runs->count; i++) {
            const struct report *report = runs->runs[i].report;
            for (size_t j = 0; rc == 0 && j < report->op_count; j++) {
                bool known = false;
                for (size_t k = 0; k < diff->type_count; k++)
                    known = known || strcmp(diff->types[k].type, report->ops[j].type) == 0;
                if (!known)
                    rc = add_type(before, after, report->ops[j].type, diff);
            }
        }
    }
    return rc;
}

/* All tests together. */
static int adjust(struct report_diff *diff)
{
    size_t count = 0, tests = 0;
    for (size_t i = 0; i < diff->type_count; i++)
        count += diff->types[i].row_count * DIFF_STATISTICS;
    double *p = calloc(count + 1, sizeof(*p));
    struct diff_value **values = calloc(count + 1, sizeof(*values));
    if (!p || !values) {
        free(p);
        free(values);
        return err_no_memory();
    }
    for (size_t i = 0; i < diff->type_count; i++)
        for (size_t j = 0; j < diff->types[i].row_count; j++)
            for (int s = 0; s < DIFF_STATISTICS; s++)
                if (diff->types[i].rows[j].values[s].tested)
                    values[tests++] = &diff->types[i].rows[j].values[s];
    for (size_t i = 0; i < tests; i++)
        p[i] = values[i]->p;
    holm_adjust(p, tests);
    diff->tests = tests;
    /* the first of Holm's steps, and 0.84 for four cases of five */
    for (size_t i = 0; i < tests; i++) {
        values[i]->p = p[i];
        values[i]->significant = p[i] < SIGNIFICANT;
        values[i]->detectable *=
            student_quantile(SIGNIFICANT / (double)tests, values[i]->freedom) + 0.84;
    }
    free(p);
    free(values);
    return 0;
}

int compare_sides(const struct compare_side *before, const struct compare_side *after,
                  const struct compare_between *between, struct report_diff **diff)
{
    struct report_diff *made;
    int rc = report_diff_new(&made);
    if (rc < 0)
        return rc;
    made->runs_before = before->count;
    made->runs_after = after->count;
    made->between_runs = before->count > 1 || after->count > 1;
    if (!made->between_runs) {
        made->assumed_part = between->part;
        made->assumed_ns = between->ns;
    }
    rc = add_types(before, after, made);
    if (rc == 0)
        rc = adjust(made);
    for (size_t i = 0; rc == 0 && i < made->type_count; i++)
        rc = add_words(&made->types[i]);
    if (rc == 0)
        rc = add_warnings(before, after, made);
    if (rc < 0) {
        report_diff_free(made);
        return rc;
    }
    *diff = made;
    return 0;
}
