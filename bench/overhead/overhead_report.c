/* SPDX-License-Identifier: MIT */
#include "overhead.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "paired_stats.h"

static double rate_ratio(const struct overhead_pair *pair)
{
    return (pair->on.ops / pair->on.seconds) / (pair->off.ops / pair->off.seconds);
}

static double latency_ratio(const struct overhead_pair *pair)
{
    return pair->on.latency_ns < 0 || pair->off.latency_ns < 0
               ? NAN
               : pair->on.latency_ns / pair->off.latency_ns;
}

static double rate_off(const struct overhead_pair *pair)
{
    return pair->off.ops / pair->off.seconds;
}

static double daemon_off(const struct overhead_pair *pair)
{
    return pair->off.daemon_ns / 1e3;
}

static double daemon_added(const struct overhead_pair *pair)
{
    return (pair->on.daemon_ns - pair->off.daemon_ns) / 1e3;
}

static double tracer(const struct overhead_pair *pair)
{
    return pair->on.tracer_ns / 1e3;
}

static double both_added(const struct overhead_pair *pair)
{
    return daemon_added(pair) + tracer(pair);
}

/* The figures; each is computed pair by pair. */
static const struct figure {
    const char *name; /* in JSON */
    const char *text;
    const char *unit;
    double (*value)(const struct overhead_pair *pair);
} figures[] = {
    {"throughput_off", "throughput, not traced", "op/s", rate_off},
    {"throughput_ratio", "throughput, traced / not", "", rate_ratio},
    {"latency_ratio", "mean latency, traced / not", "", latency_ratio},
    {"daemon_cpu_off_us", "daemon's CPU an op, not traced", "µs", daemon_off},
    {"daemon_cpu_added_us", "  added by tracing", "µs", daemon_added},
    {"tracer_cpu_us", "tracer's CPU an op", "µs", tracer},
    {"added_cpu_us", "both together", "µs", both_added},
};
#define FIGURES (sizeof(figures) / sizeof(figures[0]))
#define RATIO   1 /* figures[RATIO] is what the sentence is about */

static int compute(const struct figure *figure, const struct overhead_result *result,
                   struct paired_stats *stats)
{
    double *values = calloc(result->count + 1, sizeof(*values));
    size_t count = 0;

    if (!values)
        return err_no_memory();
    for (size_t i = 0; i < result->count; i++) {
        values[count] = figure->value(&result->pairs[i]);
        count += isfinite(values[count]) != 0;
    }
    int error = paired_stats_make(values, count, stats);
    free(values);
    return error;
}

/* What the throughput's interval allows to say, and no more. */
static void sentence(const struct paired_stats *ratio, char *text, size_t size)
{
    double worst = 100 * (1 - ratio->low), best = 100 * (1 - ratio->high);

    if (ratio->count < PAIRED_STATS_ENOUGH)
        snprintf(text, size, "With %zu pairs nothing can be said of the throughput: at least %d.",
                 ratio->count, PAIRED_STATS_ENOUGH);
    else if (ratio->low <= 1 && ratio->high >= 1)
        snprintf(text, size,
                 "No loss of throughput can be told from noise: it lies between %+.1f %% and "
                 "%+.1f %%.",
                 -worst, -best);
    else
        snprintf(text, size, "The throughput %s by %.1f %% (between %.1f %% and %.1f %%).",
                 ratio->median < 1 ? "falls" : "rises", fabs(100 * (1 - ratio->median)),
                 fmin(fabs(best), fabs(worst)), fmax(fabs(best), fabs(worst)));
}

static void print_number(FILE *out, double value, double scale)
{
    fprintf(out, "%10.*f", scale < 10 ? 3 : scale < 1000 ? 1 : 0, value);
}

static void print_figure(const struct figure *figure, const struct paired_stats *stats, FILE *out)
{
    if (stats->count == 0) {
        fprintf(out, "%-32s the daemon does not tell\n", figure->text);
        return;
    }
    double scale = fabs(stats->median);
    fprintf(out, "%-32s", figure->text);
    const double numbers[] = {stats->median, stats->p10, stats->p90, stats->low, stats->high};
    size_t shown = stats->count < PAIRED_STATS_ENOUGH ? 3 : 5;
    for (size_t i = 0; i < shown; i++)
        print_number(out, numbers[i], scale);
    fprintf(out, "%*s%s%s\n", shown < 5 ? 20 : 0, shown < 5 ? "too few pairs" : "",
            *figure->unit ? " " : "", figure->unit);
}

static int check_written(FILE *out)
{
    errno = 0;
    if (fflush(out) == EOF || ferror(out))
        return err_set(errno ? errno : EIO, "the figures cannot be written: %s",
                       strerror(errno ? errno : EIO));
    return 0;
}

int overhead_print(const struct overhead_options *options, const struct overhead_result *result,
                   FILE *out)
{
    struct paired_stats stats;
    char text[256];

    fprintf(out, "%s, pid %d: %zu pairs of slices of %g s, %s%s%s\n\n", options->target.kind,
            options->target.pid, result->count, options->slice_seconds,
            options->control ? "never traced (control)" : "traced and not",
            options->attach_options ? ", attach " : "",
            options->attach_options ? options->attach_options : "");
    fprintf(out, "%-32s%10s%10s%10s%20s\n", "", "median", "p10", "p90", "95 % interval");
    for (size_t i = 0; i < FIGURES; i++) {
        int error = compute(&figures[i], result, &stats);
        if (error)
            return error;
        print_figure(&figures[i], &stats, out);
        if (i == RATIO)
            sentence(&stats, text, sizeof(text));
    }
    fprintf(out, "\n%s\n", text);
    if (result->traced_ops)
        fprintf(out,
                "%.1f events an op; %llu of %llu events were lost. To attach took %.0f ms of "
                "CPU, outside of the slices.\n",
                (double)result->events / (double)result->traced_ops,
                (unsigned long long)result->lost_events,
                (unsigned long long)result->events + result->lost_events,
                (double)result->attach_ns / 1e6 / (double)(result->count + result->idle));
    if (result->idle)
        fprintf(out, "%zu pairs are left out: a slice without an op.\n", result->idle);
    if (result->cut)
        fprintf(out, "%zu pairs were asked for: %s before.\n", options->pairs, result->cut);
    return check_written(out);
}

static json_t *figure_json(const struct figure *figure, const struct paired_stats *stats)
{
    if (stats->count == 0)
        return json_pack("{s:s,s:i}", "name", figure->name, "pairs", 0);
    json_t *row =
        json_pack("{s:s,s:I,s:f,s:f,s:f}", "name", figure->name, "pairs", (json_int_t)stats->count,
                  "median", stats->median, "p10", stats->p10, "p90", stats->p90);
    if (stats->count >= PAIRED_STATS_ENOUGH)
        json_object_set_new(row, "interval", json_pack("[f,f]", stats->low, stats->high));
    return row;
}

int overhead_print_json(const struct overhead_options *options,
                        const struct overhead_result *result, FILE *out)
{
    json_t *rows = json_array();
    int error = 0;

    for (size_t i = 0; !error && i < FIGURES; i++) {
        struct paired_stats stats = {0};
        error = compute(&figures[i], result, &stats);
        json_array_append_new(rows, figure_json(&figures[i], &stats));
    }
    json_t *tree = json_pack(
        "{s:s,s:s,s:i,s:b,s:I,s:f,s:I,s:I,s:I,s:I,s:s,s:o}", "schema", "optrail.overhead/1",
        "daemon", options->target.kind, "pid", options->target.pid, "control", options->control,
        "pairs", (json_int_t)result->count, "slice_seconds", options->slice_seconds, "idle_pairs",
        (json_int_t)result->idle, "events", (json_int_t)result->events, "traced_ops",
        (json_int_t)result->traced_ops, "lost_events", (json_int_t)result->lost_events, "cut",
        result->cut ? result->cut : "", "figures", rows);
    if (!error && (!tree || json_dumpf(tree, out, JSON_INDENT(1)) != 0))
        error = err_set(EIO, "the figures cannot be written");
    fputc('\n', out);
    json_decref(tree);
    return error ? error : check_written(out);
}
