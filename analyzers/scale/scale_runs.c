/* SPDX-License-Identifier: MIT */
#include "scale_runs.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "err.h"

#define MAX_RUNS  256
#define MAX_BYTES (64 << 20)
/* Causes that are listed. */
#define MAX_CAUSES 8

struct run {
    double depth, rate, latency_ns;
    json_t *report; /* owned */
    char *name;     /* owned */
};

struct scale_runs {
    size_t count;
    struct run runs[MAX_RUNS];
};

int scale_runs_new(struct scale_runs **runs)
{
    *runs = calloc(1, sizeof(**runs));
    return *runs ? 0 : err_no_memory();
}

void scale_runs_free(struct scale_runs *runs)
{
    if (!runs)
        return;
    for (size_t i = 0; i < runs->count; i++) {
        json_decref(runs->runs[i].report);
        free(runs->runs[i].name);
    }
    free(runs);
}

/* A number of the object that is not negative; 0: it has none of that name. */
static double number(const json_t *object, const char *key)
{
    double value = json_number_value(json_object_get(object, key));
    return isfinite(value) && value > 0 ? value : 0;
}

static const char *string(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* Ops and their time in all. */
static void totals(const json_t *report, double *ops, double *total_ns)
{
    size_t index;
    json_t *op;
    *ops = *total_ns = 0;
    json_array_foreach(json_object_get(report, "ops"), index, op)
    {
        *ops += number(op, "count");
        *total_ns += number(op, "total_ns");
    }
}

static int load(const char *file, const char *name, json_t **report)
{
    struct stat status;
    json_error_t error;
    if (stat(file, &status) < 0)
        return err_set(errno, "%s: %s", name, strerror(errno));
    if (status.st_size > MAX_BYTES)
        return err_set(EFBIG, "%s: more than 64 MiB: no report is as large", name);
    *report = json_load_file(file, 0, &error);
    if (!*report)
        return err_set(EBADMSG, "%s:%d: no JSON: %s", name, error.line, error.text);
    if (strcmp(string(*report, "schema"), "optrail.report/1") != 0) {
        json_decref(*report);
        return err_set(EBADMSG, "%s: no report of optrail's: make it with `optrail report --json`",
                       name);
    }
    return 0;
}

/* No two runs have all figures in common: it is a copy. */
static int check_new(const struct scale_runs *runs, const struct run *run)
{
    for (size_t i = 0; i + 1 < runs->count; i++)
        if (json_equal(runs->runs[i].report, run->report))
            return err_set(EBADMSG, "%s is the same run as %s: it would count twice", run->name,
                           runs->runs[i].name);
    return 0;
}

int scale_runs_read(struct scale_runs *runs, const char *file, const char *name, double depth)
{
    struct run *run = &runs->runs[runs->count];
    if (runs->count == MAX_RUNS)
        return err_set(E2BIG, "%s: more than %d runs", name, MAX_RUNS);
    int result = load(file, name, &run->report);
    if (result < 0)
        return result;
    double ops, total_ns,
        seconds = number(json_object_get(run->report, "source"), "traced_seconds");
    totals(run->report, &ops, &total_ns);
    run->depth = depth > 0 ? depth : number(json_object_get(run->report, "load"), "in_flight");
    run->rate = seconds > 0 ? ops / seconds : 0;
    run->latency_ns = ops > 0 ? total_ns / ops : 0;
    run->name = strdup(name);
    runs->count++; /* from here on it is freed with the others */
    if (!run->name)
        return err_no_memory();
    if (run->rate <= 0)
        return err_set(EBADMSG, "%s: no ops in it, or it lasted no time", name);
    if (run->depth <= 0)
        return err_set(EBADMSG, "%s: tells no number of ops in flight: name the depth, DEPTH:%s",
                       name, name);
    return check_new(runs, run);
}

/* An op's time in the stage, ns; "" for what no stage covers. */
static double stage_ns(const json_t *report, const char *name)
{
    double ops, total_ns, sum = 0;
    size_t index, inner;
    json_t *op, *stage;
    totals(report, &ops, &total_ns);
    json_array_foreach(json_object_get(report, "ops"), index, op)
    {
        if (!*name)
            sum += number(op, "unattributed_ns");
        json_array_foreach(json_object_get(op, "stages"), inner, stage)
        {
            if (*name && strcmp(string(stage, "name"), name) == 0)
                sum += number(stage, "total_ns");
        }
    }
    return sum / ops;
}

static int by_growth(const void *a, const void *b)
{
    const struct scaling_stage *left = a, *right = b;
    return (left->growth_share < right->growth_share) - (left->growth_share > right->growth_share);
}

static int add_stage(struct scaling_series *series, const char *name, const struct run *low,
                     const struct run *high)
{
    struct scaling_stage *stage;
    for (size_t i = 0; i < series->stage_count; i++)
        if (strcmp(series->stages[i].name, *name ? name : "unattributed") == 0)
            return 0;
    int result = scaling_add_stage(series, *name ? name : "unattributed", &stage);
    if (result < 0)
        return result;
    stage->low_ns = stage_ns(low->report, name);
    stage->high_ns = stage_ns(high->report, name);
    if (high->latency_ns > low->latency_ns)
        stage->growth_share =
            (stage->high_ns - stage->low_ns) / (high->latency_ns - low->latency_ns);
    return 0;
}

static int add_stages(struct scaling_series *series, const struct run *low, const struct run *high)
{
    size_t index, inner;
    json_t *op, *stage;
    json_array_foreach(json_object_get(high->report, "ops"), index, op)
    {
        json_array_foreach(json_object_get(op, "stages"), inner, stage)
        {
            int result =
                *string(stage, "name") ? add_stage(series, string(stage, "name"), low, high) : 0;
            if (result < 0)
                return result;
        }
    }
    int result = add_stage(series, "", low, high);
    if (result == 0 && series->stage_count > 0)
        qsort(series->stages, series->stage_count, sizeof(*series->stages), by_growth);
    return result;
}

/* A lock is what the threads behind a queue wait for: of two that are as busy it is the cause. */
static int by_busy(const void *a, const void *b)
{
    const struct scaling_cause *left = a, *right = b;
    double l = left->busy + (strcmp(left->kind, "lock") == 0 ? 0.1 : 0);
    double r = right->busy + (strcmp(right->kind, "lock") == 0 ? 0.1 : 0);
    return (l < r) - (l > r);
}

static int add_cause(struct scaling_series *series, const char *kind, const char *name, double busy,
                     const struct run *run)
{
    struct scaling_cause *cause;
    if (busy <= 0.05)
        return 0;
    int result = scaling_add_cause(series, kind, name, &cause);
    if (result < 0)
        return result;
    cause->busy = fmin(busy, 1);
    cause->demand_ns = 1e9 * cause->busy / run->rate;
    return 0;
}

static int add_causes(struct scaling_series *series, const struct run *run)
{
    size_t index;
    json_t *row;
    int result = 0;
    json_array_foreach(json_object_get(run->report, "locks"), index, row)
    {
        if (result == 0 && strcmp(string(row, "class"), "throttle") != 0)
            result = add_cause(series, "lock", string(row, "name"), number(row, "busy"), run);
    }
    json_array_foreach(json_object_get(run->report, "queues"), index, row)
    {
        if (result == 0)
            result = add_cause(series, "queue", string(row, "stage"), number(row, "busiest"), run);
    }
    if (result == 0)
        result =
            add_cause(series, "cpu", "", number(json_object_get(run->report, "cpu"), "busy"), run);
    if (series->cause_count > 0)
        qsort(series->causes, series->cause_count, sizeof(*series->causes), by_busy);
    for (; series->cause_count > MAX_CAUSES; series->cause_count--) {
        free(series->causes[series->cause_count - 1].kind);
        free(series->causes[series->cause_count - 1].name);
    }
    return result;
}

int scale_runs_add(const struct scale_runs *runs, struct scaling *scaling)
{
    struct scaling_series *series;
    const struct run *low = &runs->runs[0], *high = low;
    if (runs->count == 0)
        return 0;
    int result = scaling_add_series(scaling, "", "runs", &series);
    for (size_t i = 0; result == 0 && i < runs->count; i++) {
        const struct run *run = &runs->runs[i];
        const struct scaling_point point = {
            .depth = run->depth, .rate = run->rate, .latency_ns = run->latency_ns};
        result = scaling_add_point(series, &point);
        low = run->depth < low->depth ? run : low;
        high = run->depth > high->depth ? run : high;
    }
    if (result < 0)
        return result;
    series->runs = true;
    if (high->depth > low->depth)
        result = add_stages(series, low, high);
    return result == 0 ? add_causes(series, high) : result;
}
