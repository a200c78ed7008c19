/* SPDX-License-Identifier: MIT */
#include "scale_judge.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "scale_words.h"
#include "usl.h"

/* From so many times the knee on a point counts as saturated: at the knee both bounds act. */
#define BEYOND_KNEE 1.5
/* Throughput is flat when doubling the depth changes it by less than about so much. */
#define FLAT_SLOPE 0.1
/* Relative difference from Little's law that is no rounding any more. */
#define LITTLE_SLACK 0.1
/* A fit whose points are off by more on average is none. */
#define WORST_FIT 0.25

static int by_depth(const void *a, const void *b)
{
    const struct scaling_point *left = a, *right = b;
    if (left->depth != right->depth)
        return (left->depth > right->depth) - (left->depth < right->depth);
    return (left->line > right->line) - (left->line < right->line);
}

static size_t distinct_depths(const struct scaling_point *points, size_t count)
{
    size_t distinct = 0;
    for (size_t i = 0; i < count; i++)
        distinct += i == 0 || points[i].depth != points[i - 1].depth;
    return distinct;
}

static void check_littles_law(struct scaling_series *series)
{
    for (size_t i = 0; i < series->point_count; i++) {
        struct scaling_point *point = &series->points[i];
        if (point->latency_ns <= 0)
            continue;
        point->in_flight = point->rate * point->latency_ns / 1e9;
        double off = point->in_flight / point->depth - 1;
        double slack = LITTLE_SLACK + point->latency_step / point->latency_ns;
        /* a daemon sees only its own part of an op's life: less than the depth is no contradiction
         */
        point->against_littles = off > slack || (!series->runs && off < -slack);
    }
}

/* Mean and 95 % interval of the saturated points' rates, and the serial stage from them. */
static void set_ceiling(struct scaling_series *series, size_t first)
{
    size_t count = series->point_count - first;
    double sum = 0, squares = 0;
    for (size_t i = first; i < series->point_count; i++)
        sum += series->points[i].rate;
    double mean = sum / (double)count;
    for (size_t i = first; i < series->point_count; i++)
        squares += (series->points[i].rate - mean) * (series->points[i].rate - mean);
    double half = student_975(count - 1) * sqrt(squares / (double)(count - 1) / (double)count);
    series->ceiling = (struct scaling_figure){mean, fmax(mean - half, mean / 2), mean + half};
    series->demand_ns =
        (struct scaling_figure){1e9 / mean, 1e9 / series->ceiling.high, 1e9 / series->ceiling.low};
}

/* Slope of log rate over log depth, least squares. */
static double slope_of(const struct scaling_point *points, size_t count)
{
    double x = 0, y = 0, xx = 0, xy = 0;
    for (size_t i = 0; i < count; i++) {
        double depth = log(points[i].depth), rate = log(points[i].rate);
        x += depth;
        y += rate;
        xx += depth * depth;
        xy += depth * rate;
    }
    double n = (double)count;
    return (n * xy - x * y) / (n * xx - x * x);
}

static void find_ceiling(struct scaling_series *series)
{
    double cheapest = INFINITY, highest = 0;
    for (size_t i = 0; i < series->point_count; i++) {
        cheapest = fmin(cheapest, series->points[i].depth / series->points[i].rate);
        highest = fmax(highest, series->points[i].rate);
    }
    double knee = cheapest * highest;
    size_t first = 0;
    while (first < series->point_count && series->points[first].depth < BEYOND_KNEE * knee)
        first++;
    size_t count = series->point_count - first;
    if (count < 2 || distinct_depths(series->points + first, count) < 2)
        return;
    series->knee = knee;
    series->flat = fabs(slope_of(series->points + first, count)) <= FLAT_SLOPE;
    if (series->flat)
        set_ceiling(series, first);
}

/* The point from which on an op never costs less than there. */
static size_t cheapest_point(const struct scaling_series *series)
{
    size_t best = 0;
    for (size_t i = 0; i < series->point_count; i++)
        /* by more than noise, so that a straight line is fitted from its beginning */
        if (series->points[i].rate / series->points[i].depth >
            1.05 * series->points[best].rate / series->points[best].depth)
            best = i;
    while (best > 0 && series->points[best - 1].depth == series->points[best].depth)
        best--;
    return best;
}

static struct scaling_figure figure(double value, double low, double high)
{
    return (struct scaling_figure){value, fmin(low, value), fmax(high, value)};
}

static int fit_from(struct scaling_series *series, size_t first, double *work)
{
    size_t count = series->point_count - first;
    double *depths = work, *rates = work + count, squares = 0;
    struct usl fit = {0};
    struct usl_interval interval = {0};
    for (size_t i = 0; i < count; i++) {
        depths[i] = series->points[first + i].depth;
        rates[i] = series->points[first + i].rate;
    }
    int result = usl_fit(depths, rates, count, &fit);
    if (result == -ENODATA)
        return 0;
    if (result == 0)
        result = usl_intervals(depths, count, rates, &fit, &interval);
    if (result < 0)
        return result;
    for (size_t i = 0; i < count; i++) {
        double off = rates[i] / usl_rate(&fit, depths[i]) - 1;
        squares += off * off;
    }
    series->fit_error = sqrt(squares / (double)count);
    if (series->fit_error > WORST_FIT)
        return 0;
    series->fitted = true;
    series->fit_from = depths[0];
    for (size_t i = 0; i < series->point_count; i++) {
        series->points[i].outside = i < first;
        series->points[i].fitted = i < first ? 0 : usl_rate(&fit, series->points[i].depth);
    }
    series->rate1 = figure(fit.rate1, interval.low.rate1, interval.high.rate1);
    series->contention = figure(fit.contention, interval.low.contention, interval.high.contention);
    series->coherency = figure(fit.coherency, interval.low.coherency, interval.high.coherency);
    if (fit.contention > 0)
        series->limit_rate = fit.rate1 / fit.contention;
    if (fit.coherency > 0 && fit.contention < 1) {
        series->peak_depth = sqrt((1 - fit.contention) / fit.coherency);
        series->peak_rate = usl_rate(&fit, series->peak_depth);
    }
    return 0;
}

static int fit_law(struct scaling_series *series)
{
    size_t first = cheapest_point(series);
    if (distinct_depths(series->points + first, series->point_count - first) < USL_POINTS)
        return 0;
    double *work = calloc(2 * series->point_count, sizeof(*work));
    int result = work ? fit_from(series, first, work) : err_no_memory();
    free(work);
    return result;
}

int scale_judge(struct scaling_series *series)
{
    qsort(series->points, series->point_count, sizeof(*series->points), by_depth);
    check_littles_law(series);
    find_ceiling(series);
    int result = fit_law(series);
    return result < 0 ? result : scale_words(series);
}

/* Whether both have a serial stage, and it can be the same one. */
static bool alike(const struct scaling_series *a, const struct scaling_series *b)
{
    double ratio = a->demand_ns.value / b->demand_ns.value;
    return a->flat && b->flat && strcmp(a->group, b->group) == 0 &&
           ((a->demand_ns.low <= b->demand_ns.high && b->demand_ns.low <= a->demand_ns.high) ||
            fabs(ratio - 1) < 0.05);
}

/* The saturated points of the series that are like the one at `at`, this one included. */
static size_t rates_alike(const struct scaling *scaling, size_t at, double *sum, double *squares)
{
    const struct scaling_series *one = &scaling->series[at];
    size_t count = 0;
    *sum = *squares = 0;
    for (size_t i = at; i < scaling->series_count; i++) {
        const struct scaling_series *other = &scaling->series[i];
        for (size_t j = 0; alike(one, other) && j < other->point_count; j++) {
            if (other->points[j].depth < BEYOND_KNEE * other->knee)
                continue;
            *sum += other->points[j].rate;
            *squares += other->points[j].rate * other->points[j].rate;
            count++;
        }
    }
    return count;
}

static int say_common(struct scaling *scaling, size_t at)
{
    const struct scaling_series *one = &scaling->series[at];
    char names[256];
    size_t used = 0, others = 0;
    for (size_t i = 0; i < at; i++)
        if (alike(&scaling->series[i], one))
            return 0; /* said with that one */
    for (size_t i = at; i < scaling->series_count && used < sizeof(names); i++) {
        if (!alike(one, &scaling->series[i]))
            continue;
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", used ? " and " : "",
                                 scaling->series[i].name);
        others += i > at;
    }
    if (others == 0)
        return 0;
    double sum, squares;
    double count = (double)rates_alike(scaling, at, &sum, &squares);
    double mean = sum / count;
    double deviation = sqrt(fmax(squares / count - mean * mean, 0) * count / (count - 1));
    double half = student_975((size_t)count - 1) * deviation / sqrt(count);
    return scale_words_common(scaling, one->group, names,
                              &(struct scaling_figure){1e9 / mean, 1e9 / (mean + half),
                                                       1e9 / fmax(mean - half, mean / 2)});
}

int scale_judge_together(struct scaling *scaling)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < scaling->series_count; i++)
        if (scaling->series[i].flat)
            result = say_common(scaling, i);
    return result;
}
