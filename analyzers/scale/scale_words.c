/* SPDX-License-Identifier: MIT */
#include "scale_words.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "usl.h"

/* A lock or queue that is busy for less of the time is not what holds the load back. */
#define BUSY_ENOUGH 0.8

/* Three significant digits, fewer where they would be 0: "133", "1.61", "22,400". */
static const char *digits(double value, char *out, size_t size)
{
    if (value < 1000) {
        snprintf(out, size,
                 value == floor(value) ? "%.0f"
                 : value < 10          ? "%.2f"
                 : value < 100         ? "%.1f"
                                       : "%.0f",
                 value);
        return out;
    }
    double unit = pow(10, floor(log10(value)) - 2);
    uint64_t rounded = value < 1e7 ? (uint64_t)llround(round(value / unit) * unit) : UINT64_MAX;
    if (rounded < 1000000)
        snprintf(out, size, "%" PRIu64 ",%03" PRIu64, rounded / 1000, rounded % 1000);
    else
        snprintf(out, size, "%.3g million", value / 1e6);
    return out;
}

static const char *duration(double ns, char *out, size_t size)
{
    const char *unit = ns < 1e3 ? "ns" : ns < 1e6 ? "µs" : ns < 1e9 ? "ms" : "s";
    double value = ns < 1e3 ? ns : ns < 1e6 ? ns / 1e3 : ns < 1e9 ? ns / 1e6 : ns / 1e9;
    char number[32];
    snprintf(out, size, "%s %s", digits(value, number, sizeof(number)), unit);
    return out;
}

/* "133 µs (131 to 136)", the unit once. */
static const char *duration_range(const struct scaling_figure *ns, char *out, size_t size)
{
    char value[40], low[40], high[40];
    snprintf(out, size, "%s (%s to %s)", duration(ns->value, value, sizeof(value)),
             duration(ns->low, low, sizeof(low)), duration(ns->high, high, sizeof(high)));
    return out;
}

static const char *rate_range(const struct scaling_figure *rate, char *out, size_t size)
{
    char value[32], low[32], high[32];
    snprintf(out, size, "%s op/s (%s to %s)", digits(rate->value, value, sizeof(value)),
             digits(rate->low, low, sizeof(low)), digits(rate->high, high, sizeof(high)));
    return out;
}

static int say_ceiling(struct scaling_series *series)
{
    char ceiling[128], demand[128], knee[32];
    const struct scaling_point *last = &series->points[series->point_count - 1];
    if (series->flat)
        return scaling_say(series,
                           "Beyond a depth of about %s throughput stays at %s: one serial stage of "
                           "%s an op accounts for that. More depth only adds latency.",
                           digits(series->knee, knee, sizeof(knee)),
                           rate_range(&series->ceiling, ceiling, sizeof(ceiling)),
                           duration_range(&series->demand_ns, demand, sizeof(demand)));
    if (series->points[0].depth == last->depth)
        return series->point_count < 2
                   ? 0
                   : scaling_say(series,
                                 "All of it is at one depth: how throughput goes with depth "
                                 "shows at two and more.");
    if (series->point_count < 2 || (series->fitted && series->peak_depth > 0 &&
                                    series->peak_depth < last->depth && series->coherency.low > 0))
        return 0;
    return scaling_say(series, "No ceiling is reached within these depths: throughput does not "
                               "stay at one level.");
}

static int say_contention(struct scaling_series *series)
{
    char rate[128], limit[32];
    int result = scaling_say(
        series,
        "USL fit%s: %s at depth 1; contention %.3g (%.3g to %.3g), coherency %.3g (%.3g to %.3g); "
        "its points are off by %.1f %%.",
        series->points[0].outside ? " of the depths from the cheapest on" : "",
        rate_range(&series->rate1, rate, sizeof(rate)), series->contention.value,
        series->contention.low, series->contention.high, series->coherency.value,
        series->coherency.low, series->coherency.high, 100 * series->fit_error);
    if (result < 0)
        return result;
    if (series->contention.low > 0 && series->contention.value < 1)
        return scaling_say(series,
                           "Contention: %.3g %% of an op's work is done by one at a time, which "
                           "alone would allow at most %s op/s.",
                           100 * series->contention.value,
                           digits(series->limit_rate, limit, sizeof(limit)));
    if (series->contention.value >= 1)
        return scaling_say(series, "Contention: all of an op's work is done by one at a time; more "
                                   "depth never helped.");
    return scaling_say(series, "Contention: none that these figures can show.");
}

static int say_coherency(struct scaling_series *series)
{
    char depth[32], rate[32];
    const struct scaling_point *last = &series->points[series->point_count - 1];
    if (series->coherency.low <= 0 || series->peak_depth <= 0)
        return scaling_say(series, "Coherency: no cost that these figures can show: throughput "
                                   "does not fall with depth.");
    return scaling_say(
        series,
        "Coherency: each op costs more the more there are; throughput is highest at a depth of "
        "about %s (%s op/s)%s.",
        digits(series->peak_depth, depth, sizeof(depth)),
        digits(series->peak_rate, rate, sizeof(rate)),
        series->peak_depth < last->depth ? " and falls beyond it"
                                         : ", by extrapolation: beyond what was measured");
}

static int say_law(struct scaling_series *series)
{
    size_t depths = 0;
    char first[32];
    for (size_t i = 0; i < series->point_count; i++)
        depths += i == 0 || series->points[i].depth != series->points[i - 1].depth;
    if (depths < USL_POINTS)
        return scaling_say(series, "%zu depth%s: a fit of the scalability law needs at least %d.",
                           depths, depths == 1 ? "" : "s", USL_POINTS);
    if (!series->fitted)
        return scaling_say(series, "The scalability law (USL) does not describe these figures: no "
                                   "fit.");
    int result = 0;
    if (series->points[0].outside)
        result = scaling_say(series,
                             "Up to a depth of %s throughput grows faster than depth (CPUs that "
                             "wake up, work that is batched): no scalability law describes that "
                             "part.",
                             digits(series->fit_from, first, sizeof(first)));
    if (result == 0)
        result = say_contention(series);
    return result == 0 ? say_coherency(series) : result;
}

/* The law holds for any system in balance; so the figures are wrong, or mean something else. */
static int say_littles(struct scaling_series *series)
{
    size_t against = 0, with = 0;
    double smallest = INFINITY, largest = 0;
    const struct scaling_point *worst = NULL;
    for (size_t i = 0; i < series->point_count; i++) {
        const struct scaling_point *point = &series->points[i];
        with += point->latency_ns > 0;
        if (!point->against_littles)
            continue;
        double ratio = point->in_flight / point->depth;
        against++;
        smallest = fmin(smallest, ratio);
        largest = fmax(largest, ratio);
        if (!worst || fabs(log(ratio)) > fabs(log(worst->in_flight / worst->depth)))
            worst = point;
    }
    if (with == 0)
        return 0;
    if (!worst)
        return series->runs ? 0
                            : scaling_say(series,
                                          "Little's law holds: depth = rate x latency at each of "
                                          "the %zu points that tell a latency.",
                                          with);
    char latency[40], rate[32], in_flight[32], depth[32], times[32];
    const char *why = ": one of the three figures is wrong, or is not of the same ops.";
    char jobs[96];
    if (smallest > 300 && largest < 3000)
        why = ": the latency's unit is smaller than the table says, by 1,000.";
    else if (largest < 0.003 && smallest > 0.0003)
        why = ": the latency's unit is larger than the table says, by 1,000.";
    else if (against == with && largest < 1.15 * smallest && smallest > 1.5) {
        snprintf(jobs, sizeof(jobs), ": about %s such loads ran at once, or a figure is wrong.",
                 digits(sqrt(smallest * largest), times, sizeof(times)));
        why = jobs;
    }
    return scaling_say(series,
                       "%zu of %zu points contradict Little's law (depth = rate x latency). At "
                       "depth %s, %s op/s at %s mean %s ops in flight%s",
                       against, with, digits(worst->depth, depth, sizeof(depth)),
                       digits(worst->rate, rate, sizeof(rate)),
                       duration(worst->latency_ns, latency, sizeof(latency)),
                       digits(worst->in_flight, in_flight, sizeof(in_flight)), why);
}

static void name_cause(const struct scaling_cause *cause, char *out, size_t size)
{
    if (strcmp(cause->kind, "lock") == 0)
        snprintf(out, size, "the lock %.100s is held", cause->name);
    else if (strcmp(cause->kind, "queue") == 0)
        snprintf(out, size, "the busiest thread behind %.100s is busy", cause->name);
    else
        snprintf(out, size, "the CPUs are busy");
}

static int say_causes(struct scaling_series *series)
{
    char name[160], demand[40], depth[32];
    const struct scaling_point *last = &series->points[series->point_count - 1];
    if (!series->runs)
        return 0;
    digits(last->depth, depth, sizeof(depth));
    if (series->cause_count == 0)
        return scaling_say(series, "The reports tell of no lock or queue that could be the serial "
                                   "part.");
    const struct scaling_cause *cause = &series->causes[0];
    name_cause(cause, name, sizeof(name));
    duration(cause->demand_ns, demand, sizeof(demand));
    if (cause->busy < BUSY_ENOUGH)
        return scaling_say(series,
                           "No lock, queue or CPU of the reports accounts for a serial part: at "
                           "depth %s %s %.0f %% of the time, and nothing is busier.",
                           depth, name, 100 * cause->busy);
    return scaling_say(series, "The serial part: at depth %s %s %.0f %% of the time, %s an op.",
                       depth, name, 100 * cause->busy, demand);
}

static int say_stages(struct scaling_series *series)
{
    char low[40], high[40];
    const struct scaling_stage *stage = series->stages;
    if (series->stage_count == 0 || stage->growth_share <= 0.2)
        return 0;
    return scaling_say(series,
                       "Of what an op takes longer at the greatest depth than at the smallest one, "
                       "%.0f %% is %s: %s in place of %s.",
                       100 * stage->growth_share, stage->name,
                       duration(stage->high_ns, high, sizeof(high)),
                       duration(stage->low_ns, low, sizeof(low)));
}

int scale_words(struct scaling_series *series)
{
    int (*const sentences[])(struct scaling_series *) = {say_ceiling, say_causes, say_stages,
                                                         say_law, say_littles};
    int result = 0;
    for (size_t i = 0; result == 0 && i < sizeof(sentences) / sizeof(sentences[0]); i++)
        result = sentences[i](series);
    return result;
}

int scale_words_common(struct scaling *scaling, const char *group, const char *names,
                       const struct scaling_figure *demand_ns)
{
    char demand[128];
    return scaling_note(scaling,
                        "%s%s%s are flat at the same rate: one serial stage of %s an op is "
                        "common to them.",
                        group, *group ? ": " : "", names,
                        duration_range(demand_ns, demand, sizeof(demand)));
}
