/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "import_private.h"
#include "scan.h"

#define MOST_SECONDS 1e6  /* of a run */
#define MOST_OPS     1e15 /* that it begins */

/* rados bench: a row a second, then a summary. A run without its head or its summary counts too. */
struct bench {
    struct import *import;
    const struct evidence *evidence;
    size_t runs, rows;
    double depth, size, last_second, finished, started, unlisted, unlisted_ops, first_done,
        stalled_first, stalled_later, longest_stall, last_change, drained_from, top, bottom;
    double total_time, made, bandwidth, latency, longest, shortest, summary_size;
    bool has_rows, has_summary;
};

static void begin_run(struct bench *bench)
{
    const struct bench fresh = {.import = bench->import,
                                .evidence = bench->evidence,
                                .runs = bench->runs,
                                .rows = bench->rows,
                                .first_done = -1,
                                .drained_from = -1};
    *bench = fresh;
}

/* sec, cur, started, finished, avg MB/s, cur MB/s, last lat, avg lat */
static void take_row(struct bench *bench, const double *row)
{
    /* a row comes every second, whether anything completes or not */
    double unlisted = bench->has_rows ? row[0] - bench->last_second - 1 : row[0] - 1;

    if (unlisted > 0) {
        bench->unlisted += unlisted;
        bench->unlisted_ops += row[3] > bench->finished ? row[3] - bench->finished : 0;
    } else {
        unlisted = 0;
    }
    bench->rows++;
    if (bench->has_rows && row[3] > bench->finished && bench->first_done >= 0) {
        /* which of the seconds without a row completed something is not told */
        double stall = row[0] - bench->last_change - 1 - unlisted;
        if (stall > bench->longest_stall)
            bench->longest_stall = stall;
        bench->last_change = row[0];
    }
    if (row[3] > 0 && bench->first_done < 0) {
        bench->first_done = row[0] - unlisted;
        bench->last_change = row[0];
    }
    if (bench->has_rows && row[0] > bench->last_second && row[3] <= bench->finished)
        *(bench->first_done < 0 ? &bench->stalled_first : &bench->stalled_later) +=
            row[0] - bench->last_second;
    if (bench->has_rows && row[2] > bench->started)
        bench->drained_from = -1;
    else if (bench->has_rows && bench->drained_from < 0 && row[3] > bench->finished)
        bench->drained_from = row[0];
    bench->has_rows = true;
    bench->last_second = row[0];
    bench->started = row[2];
    bench->finished = row[3];
    if (row[1] > bench->top)
        bench->top = row[1];
}

static void figures(struct bench *bench, const char *source)
{
    struct import *import = bench->import;
    const struct {
        const char *name, *unit;
        double value;
    } rows[] = {{"depth", "ops", bench->depth},          {"op.size", "B", bench->size},
                {"time", "s", bench->total_time},        {"ops", "", bench->made},
                {"bandwidth", "MB/s", bench->bandwidth}, {"latency.mean", "s", bench->latency},
                {"latency.max", "s", bench->longest},    {"latency.min", "s", bench->shortest}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].value > 0)
            import_figure(import, source, rows[i].name, rows[i].value, rows[i].unit);
    if (bench->has_rows)
        import_figure(import, source, "seconds.stalled",
                      bench->stalled_first + bench->stalled_later, "s");
}

/* What must agree: operations, size, time and bandwidth; and, by Little's law, depth. */
static void check(struct bench *bench, const char *source, double rate)
{
    double told = bench->bandwidth * 1048576, follows = rate * bench->size;

    if (told > 0 && follows > 0 && fabs(told / follows - 1) > 0.06)
        import_say(bench->import, "contradiction",
                   "%s: %.0f op%s of %.0f bytes in %.4g s are %.4g MB/s, and it says %.4g.", source,
                   bench->made, bench->made == 1 ? "" : "s", bench->size, bench->total_time,
                   follows / 1048576, bench->bandwidth);
    double in_flight = rate * bench->latency;
    if (bench->depth > 0 && in_flight > 1.1 * bench->depth)
        import_say(bench->import, "contradiction",
                   "%s: by Little's law %.4g ops were in flight on average, more than the depth "
                   "of %.0f.",
                   source, in_flight, bench->depth);
    else if (in_flight > 0)
        import_figure(bench->import, source, "in_flight.mean", in_flight, "ops");
}

static void say_rows(struct bench *bench, const char *source)
{
    if (bench->first_done > 2)
        import_say(bench->import, "stall",
                   "%s: nothing completes for %.0f s at the beginning, with up to %.0f op%s in "
                   "flight.",
                   source, bench->first_done - 1, bench->top, bench->top == 1 ? "" : "s");
    if (bench->longest_stall >= 2)
        import_say(
            bench->import, "stall",
            "%s: later nothing completes for %.0f s at a stretch; of the %.0f s after the first op "
            "%.0f complete nothing.",
            source, bench->longest_stall, bench->last_second - bench->first_done,
            bench->stalled_later);
    if (bench->drained_from > 0)
        import_note(bench->import,
                    "%s: from second %.0f on no op is begun: the run is draining, its rate there "
                    "tells nothing",
                    source, bench->drained_from);
}

static void end_run(struct bench *bench)
{
    char source[160];
    double time = bench->total_time > 0 ? bench->total_time : bench->last_second;

    if (!bench->has_rows && !bench->has_summary)
        return;
    bench->runs++;
    snprintf(source, sizeof(source), "%.100s, rados bench %zu", bench->evidence->name, bench->runs);
    if (bench->made <= 0)
        bench->made = bench->finished;
    if (bench->size <= 0)
        bench->size = bench->summary_size;
    double rate = time > 0 ? bench->made / time : 0;
    figures(bench, source);
    if (bench->total_time > 0)
        check(bench, source, rate);
    say_rows(bench, source);
    if (bench->size >= 1048576 && bench->bandwidth > 0 && bench->depth > 0 && bench->latency > 5)
        import_say(bench->import, "bandwidth",
                   "%s: bandwidth-bound at %.4g MB/s: %.0f op%s of %.4g MB in flight %s it, which "
                   "alone makes each take about %.3g s (mean: %.4g s).",
                   source, bench->bandwidth, bench->depth, bench->depth == 1 ? "" : "s",
                   bench->size / 1048576, bench->depth == 1 ? "has all of" : "share",
                   bench->depth * bench->size / 1048576 / bench->bandwidth, bench->latency);
    if (bench->unlisted > 0)
        import_note(bench->import,
                    "%s: %.0f s ha%s no row, though the tool prints one every second: the listing "
                    "was cut, and that is no stall; by the counts %.0f op%s completed across it",
                    source, bench->unlisted, bench->unlisted == 1 ? "s" : "ve", bench->unlisted_ops,
                    bench->unlisted_ops == 1 ? "" : "s");
    if (!bench->has_summary)
        import_note(bench->import, "%s: the summary is missing", source);
    if (!bench->has_rows)
        import_note(bench->import, "%s: the rows are missing, only the summary is there", source);
    if (rate > 0 && bench->depth > 0) {
        struct import_run run = {.kind = "rados bench",
                                 .depth = bench->depth,
                                 .rate = rate,
                                 .bandwidth = bench->bandwidth,
                                 .latency_s = bench->latency};
        snprintf(run.source, sizeof(run.source), "%s", source);
        import_add_run(bench->import, &run);
    }
}

static bool take_summary(struct bench *bench, const char *line)
{
    const struct {
        const char *key, *unit;
        double *value;
    } keys[] = {{"Total time run:", "s", &bench->total_time},
                {"Total writes made:", "", &bench->made},
                {"Total reads made:", "", &bench->made},
                {"Write size:", "B", &bench->summary_size},
                {"Read size:", "B", &bench->summary_size},
                {"Bandwidth (MB/sec):", "MB/s", &bench->bandwidth},
                {"Average Latency:", "s", &bench->latency},
                {"Average Latency(s):", "s", &bench->latency},
                {"Max latency:", "s", &bench->longest},
                {"Max latency(s):", "s", &bench->longest},
                {"Min latency:", "s", &bench->shortest},
                {"Min latency(s):", "s", &bench->shortest}};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (!scan_begins(line, keys[i].key))
            continue;
        bench->has_summary |=
            import_scan(bench->import, line, keys[i].key, keys[i].unit, keys[i].value);
        return true;
    }
    return false;
}

static void take_line(struct bench *bench, const char *line)
{
    double row[9], depth, size;
    const char *head = strstr(line, "Maintaining ");

    if (head && scan_after(head, "Maintaining", &depth) &&
        (scan_after(head, "writes of", &size) || scan_after(head, "reads of", &size))) {
        end_run(bench);
        begin_run(bench);
        bench->depth = import_possible(bench->import, depth, "ops") ? depth : 0;
        bench->size = import_possible(bench->import, size, "B") ? size : 0;
        return;
    }
    if (strstr(line, "min lat: 9999"))
        import_note(bench->import,
                    "%s: a smallest latency of 9999 stands for none yet and is not counted",
                    bench->evidence->name);
    if (take_summary(bench, line))
        return;
    if (scan_row(line, row, 9) != 8)
        return;
    if (!(row[0] >= 0 && row[0] <= MOST_SECONDS && row[3] >= 0 && row[3] <= row[2] &&
          row[2] <= MOST_OPS)) {
        import_count(bench->import, "rows_unusable", bench->has_rows);
        return;
    }
    if (bench->has_rows && row[0] < bench->last_second) {
        end_run(bench);
        begin_run(bench);
    }
    take_row(bench, row);
}

size_t read_rados_bench(struct import *import, const struct evidence *evidence)
{
    struct bench bench = {.import = import, .evidence = evidence};
    const char *at = evidence->text;
    char line[SCAN_LINE];

    begin_run(&bench);
    while (scan_line(&at, line))
        take_line(&bench, line);
    end_run(&bench);
    return bench.runs;
}
