/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "err.h"
#include "fold.h"
#include "time_windows_saved.h"

/*
 * Latency that rises at regular intervals: a flusher, a scrub, a timer. The mean latencies of equal
 * windows are compared with themselves some windows later (autocorrelation); a rhythm is a lag at
 * which that has a peak, with a dip before it and a second peak at twice the lag. Of a series
 * without any pattern the autocorrelation is normal with the variance 1/n (Bartlett 1946).
 */
#define WINDOWS        1024
#define FEWEST_WINDOWS 64
#define FEWEST_OPS     8 /* a window, on average */
#define FEWEST_PERIODS 5
#define SMALLEST_PEAK  0.3
#define SECOND_PEAK    0.5 /* of the first */
#define DIP            0.5 /* at most so much of the peak lies between */
#define CHANCE         1e-3
#define SMALLEST_RISE  1.3 /* the worst quarter of a period against the mean */

enum { WORD_OPS, WORD_NS, WORDS };

struct rhythm_fold {
    struct time_windows windows;
};

/* Windows of the run, as wide as they must be. */
struct series {
    size_t count, merged; /* windows; of the fold's windows in each */
    double ops[WINDOWS], ns[WINDOWS];
    double values[WINDOWS]; /* log mean latency, without its trend */
    double correlation[WINDOWS];
    double sums[WINDOWS + 1];
};

static void destroy(void *state)
{
    struct rhythm_fold *fold = state;
    time_windows_free(&fold->windows);
    free(fold);
}

static int create(const struct fold_options *options, void **state)
{
    struct rhythm_fold *fold = calloc(1, sizeof(*fold));
    (void)options;
    if (!fold || time_windows_init(&fold->windows, WINDOWS, WORDS) < 0) {
        free(fold);
        return err_no_memory();
    }
    *state = fold;
    return 0;
}

static int add_trail(void *state, const struct trail *trail, const struct op_division *division)
{
    struct rhythm_fold *fold = state;
    (void)division;
    if (trail->end != TRAIL_FINISHED)
        return 0;
    uint64_t *window = time_windows_at(&fold->windows, trail->finish_ns);
    window[WORD_OPS]++;
    window[WORD_NS] += trail->finish_ns - trail->start_ns;
    return 0;
}

/* Joins windows until there are ops enough in them; false: then there are too few windows. */
static bool make_series(const struct time_windows *windows, struct series *series)
{
    size_t first = 0, last = 0;
    double ops = 0;
    for (size_t i = 0; i < WINDOWS; i++) {
        uint64_t here = windows->cells[i * WORDS + WORD_OPS];
        if (here > 0 && ops == 0)
            first = i;
        if (here > 0)
            last = i;
        ops += (double)here;
    }
    size_t span = last - first + 1;
    series->merged = (size_t)ceil(FEWEST_OPS * (double)span / fmax(ops, 1));
    if (series->merged == 0)
        series->merged = 1;
    series->count = span / series->merged;
    for (size_t i = 0; i < series->count * series->merged; i++) {
        const uint64_t *cell = windows->cells + (first + i) * WORDS;
        series->ops[i / series->merged] += (double)cell[WORD_OPS];
        series->ns[i / series->merged] += (double)cell[WORD_NS];
    }
    return series->count >= FEWEST_WINDOWS;
}

/* The logarithms, less their mean over the windows around: what is slower than any rhythm that
 * could be found is no part of one. */
static void take_trend(struct series *series)
{
    size_t n = series->count, half = n / 4;
    double before = 0;
    for (size_t i = 0; i < n; i++) {
        if (series->ops[i] > 0)
            before = log(series->ns[i] / series->ops[i] + 1);
        series->values[i] = before;
        series->sums[i + 1] = series->sums[i] + before;
    }
    for (size_t i = 0; i < n; i++) {
        size_t begin = i > half ? i - half : 0, end = i + half + 1 < n ? i + half + 1 : n;
        series->values[i] -= (series->sums[end] - series->sums[begin]) / (double)(end - begin);
    }
}

/* False: nothing varies. */
static bool correlate(struct series *series)
{
    size_t n = series->count;
    double mean = 0, variance = 0;
    for (size_t i = 0; i < n; i++)
        mean += series->values[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        variance += (series->values[i] - mean) * (series->values[i] - mean);
    for (size_t lag = 0; variance > 1e-9 && lag <= n / 2; lag++) {
        double sum = 0;
        for (size_t i = 0; i + lag < n; i++)
            sum += (series->values[i] - mean) * (series->values[i + lag] - mean);
        /* for each pair, so that long lags are not smaller by construction */
        series->correlation[lag] = sum / variance * (double)n / (double)(n - lag);
    }
    return variance > 1e-9;
}

static double largest_near(const struct series *series, size_t lag)
{
    const double *r = series->correlation;
    return fmax(r[lag], fmax(r[lag - 1], r[lag + 1]));
}

/* The first lag whose peak is about as high as any; 0: there is none. */
static size_t find_lag(const struct series *series)
{
    const double *r = series->correlation;
    size_t most = series->count / FEWEST_PERIODS, found = 0;
    double dip, highest = 0;
    for (int pass = 0; pass < 2; pass++) {
        dip = r[1];
        for (size_t lag = 2; lag <= most; lag++) {
            bool peak = r[lag] >= r[lag - 1] && r[lag] >= r[lag + 1] && r[lag] >= SMALLEST_PEAK &&
                        dip <= DIP * r[lag] &&
                        largest_near(series, 2 * lag) >= SECOND_PEAK * r[lag];
            dip = fmin(dip, r[lag]);
            if (peak && pass == 0)
                highest = fmax(highest, r[lag]);
            if (peak && pass == 1 && r[lag] >= 0.8 * highest)
                return lag;
        }
    }
    return found;
}

/* The peak between the windows, by the parabola through three of them. */
static double refine(const struct series *series, size_t lag)
{
    const double *r = series->correlation;
    double bend = r[lag - 1] - 2 * r[lag] + r[lag + 1];
    return (double)lag + (bend < 0 ? 0.5 * (r[lag - 1] - r[lag + 1]) / bend : 0);
}

/* Mean latency in that quarter of the period where it is highest. */
static double highest_quarter(const struct series *series, double period)
{
    enum { PHASES = 16 };
    double ops[PHASES] = {0}, ns[PHASES] = {0}, highest = 0;
    for (size_t i = 0; i < series->count; i++) {
        size_t phase = (size_t)(fmod((double)i, period) / period * PHASES) % PHASES;
        ops[phase] += series->ops[i];
        ns[phase] += series->ns[i];
    }
    for (size_t i = 0; i < PHASES; i++) {
        double quarter_ops = 0, quarter_ns = 0;
        for (size_t j = i; j < i + PHASES / 4; j++) {
            quarter_ops += ops[j % PHASES];
            quarter_ns += ns[j % PHASES];
        }
        if (quarter_ops > 0)
            highest = fmax(highest, quarter_ns / quarter_ops);
    }
    return highest;
}

static int judge(const struct time_windows *windows, struct series *series, struct report *report)
{
    if (!make_series(windows, series))
        return 0;
    take_trend(series);
    size_t lag = correlate(series) ? find_lag(series) : 0;
    if (lag == 0)
        return 0;
    double ops = 0, ns = 0, period = refine(series, lag);
    for (size_t i = 0; i < series->count; i++) {
        ops += series->ops[i];
        ns += series->ns[i];
    }
    double tests = (double)series->count / FEWEST_PERIODS;
    struct report_rhythm rhythm = {
        .window_ns = windows->width_ns * series->merged,
        .correlation = series->correlation[lag],
        .probability =
            fmin(1, tests * 0.5 * erfc(series->correlation[lag] * sqrt((double)series->count / 2))),
        .mean_ns = ns / ops,
        .high_ns = highest_quarter(series, period)};
    rhythm.period_ns = (uint64_t)(period * (double)rhythm.window_ns);
    if (rhythm.probability > CHANCE || rhythm.high_ns < SMALLEST_RISE * rhythm.mean_ns)
        return 0;
    return report_add_rhythm(report, &rhythm);
}

static int fill(void *state, struct report *report)
{
    const struct rhythm_fold *fold = state;
    struct series *series = calloc(1, sizeof(*series));
    int result = series ? judge(&fold->windows, series, report) : err_no_memory();
    free(series);
    return result;
}

/* Of an interval nothing is said: it is too short for a rhythm. */
static int interval(void *state, struct report *report)
{
    (void)state;
    (void)report;
    return 0;
}

static void save(void *state, const struct saved_paths *paths, struct profile_writer *writer)
{
    const struct rhythm_fold *fold = state;
    (void)paths;
    time_windows_save(&fold->windows, "window", writer);
}

static int load(void *state, const struct saved_paths *paths, struct profile_reader *reader)
{
    struct rhythm_fold *fold = state;
    (void)paths;
    time_windows_load(&fold->windows, "window", reader);
    return profile_reader_result(reader);
}

const struct fold_class fold_rhythm = {.name = "rhythm",
                                       .create = create,
                                       .trail = add_trail,
                                       .fill = fill,
                                       .interval = interval,
                                       .save = save,
                                       .load = load,
                                       .free = destroy};
