/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "import_private.h"
#include "scan.h"

#define LONGEST_GAP 1e6 /* s between two rows; more is no listing of one run */

/* rbd bench and bench-write: the second, ops so far, and rates; seconds in which nothing completes
 * have no row. In a listing that somebody shortened a second may also have been left out by hand:
 * there it is a stall only if the count of ops stands still across it. */
struct bench {
    struct import *import;
    const struct evidence *evidence;
    size_t runs, rows, elided;
    double size, depth, first_rate, least_rate, last_rate, last_ops, last_second, missing, longest;
    double still, longest_still, least_factor;
    double mean_rate, factor;
    bool elision, shortened;
};

static void begin_run(struct bench *bench)
{
    const struct bench fresh = {
        .import = bench->import, .evidence = bench->evidence, .runs = bench->runs};
    *bench = fresh;
}

static void take_row(struct bench *bench, const double *row)
{
    double gap = row[0] - bench->last_second - 1;

    if (!(gap < LONGEST_GAP)) {
        import_count(bench->import, "rows_unusable", 1);
        return;
    }
    if (bench->elision) {
        bench->elided += gap > 0 ? (size_t)gap : 0;
    } else if (gap > 0) {
        bench->missing += gap;
        if (gap > bench->longest)
            bench->longest = gap;
        /* a fifth of the rate so far is what an op or two at the edges make */
        if ((row[1] - bench->last_ops) * row[0] < 0.2 * (gap + 1) * row[1]) {
            bench->still += gap;
            if (gap > bench->longest_still)
                bench->longest_still = gap;
        }
    }
    bench->elision = false;
    if (bench->rows++ == 0)
        bench->first_rate = bench->least_rate = row[2];
    if (row[2] < bench->least_rate)
        bench->least_rate = row[2];
    bench->last_rate = row[2];
    bench->last_second = row[0];
    bench->last_ops = row[1];
    if (row[2] > 0 && row[3] > 0) {
        double factor = row[3] / row[2];
        if (factor > bench->factor)
            bench->factor = factor;
        if (bench->least_factor <= 0 || factor < bench->least_factor)
            bench->least_factor = factor;
    }
}

/* What each row says of the bytes of an op. */
static void check_size(struct bench *bench, const char *source)
{
    double most = bench->factor / bench->size, least = bench->least_factor / bench->size;

    if (bench->size <= 0 || least <= 0 || (fabs(most - 1) <= 0.02 && fabs(least - 1) <= 0.02))
        return;
    /* a ratio that all rows share is the tool's way of counting */
    if (most < 1.15 * least)
        import_note(bench->import,
                    "%s: its bytes a second are %.2f to %.2f of ops a second x size in every row: "
                    "the two are not counted alike; only ops are used here",
                    source, least, most);
    else
        import_say(bench->import, "contradiction",
                   "%s: its bytes a second are %.0f to %.0f an op, and the size of an op is %.0f: "
                   "one of them is wrong.",
                   source, bench->least_factor, bench->factor, bench->size);
}

static void say(struct bench *bench, const char *source)
{
    struct import *import = bench->import;

    if (bench->shortened && bench->still > 0)
        import_say(import, "stall",
                   "%s: in %.0f s that have no row the count of ops all but stands still, the "
                   "longest %.0f s.",
                   source, bench->still, bench->longest_still);
    else if (!bench->shortened && bench->missing > 0)
        import_say(import, "stall",
                   "%s: %zu rows printed for %.0f s: %.0f s without a row are stalls in which "
                   "nothing completes, the longest %.0f s.",
                   source, bench->rows, bench->last_second, bench->missing, bench->longest);
    if (bench->last_rate < 0.8 * bench->first_rate)
        import_say(import, "decay",
                   "%s: the rate falls from %.4g to %.4g op/s: the first seconds are not what it "
                   "can keep up.",
                   source, bench->first_rate, bench->last_rate);
    check_size(bench, source);
}

static void end_run(struct bench *bench)
{
    char source[160];
    double rate;

    if (bench->rows < 2)
        return;
    bench->runs++;
    snprintf(source, sizeof(source), "%.100s, rbd bench %zu", bench->evidence->name, bench->runs);
    rate = bench->mean_rate > 0     ? bench->mean_rate
           : bench->last_second > 0 ? bench->last_ops / bench->last_second
                                    : 0;
    import_figure(bench->import, source, "op.size", bench->size, "B");
    import_figure(bench->import, source, "depth", bench->depth, "ops");
    import_figure(bench->import, source, "rows", (double)bench->rows, "");
    import_figure(bench->import, source, "seconds.stalled",
                  bench->shortened ? bench->still : bench->missing, "s");
    import_figure(bench->import, source, "rate.first", bench->first_rate, "op/s");
    import_figure(bench->import, source, "rate.last", bench->last_rate, "op/s");
    import_figure(bench->import, source, "rate.mean", rate, "op/s");
    if (bench->depth > 0 && rate > 0)
        import_figure(bench->import, source, "latency.mean", bench->depth / rate, "s");
    say(bench, source);
    if (bench->shortened)
        import_note(bench->import,
                    "%s: %.0f s are not listed: it was shortened by whoever copied it", source,
                    (double)bench->elided + bench->missing - bench->still);
    struct import_run run = {.kind = "rbd bench", .depth = bench->depth, .rate = rate};
    snprintf(run.source, sizeof(run.source), "%s", source);
    import_add_run(bench->import, &run);
}

static void take_line(struct bench *bench, const char *line)
{
    double row[5];

    if (strstr(line, "io_size ") && strstr(line, "io_threads ")) {
        end_run(bench);
        begin_run(bench);
        import_scan(bench->import, line, "io_size", "B", &bench->size);
        import_scan(bench->import, line, "io_threads", "ops", &bench->depth);
        return;
    }
    if (scan_begins(line, "elapsed:")) {
        import_scan(bench->import, line, "ops/sec:", "op/s", &bench->mean_rate);
        return;
    }
    if (bench->rows && (strchr(line, '<') || strstr(line, "...")))
        bench->elision = bench->shortened = true;
    /* only behind a head: four numbers alone may be anything */
    if (bench->size <= 0 || scan_row(line, row, 5) != 4 || !(row[0] >= 0) || !(row[1] >= 0) ||
        !(row[2] >= 0) || !(row[3] >= 0))
        return;
    if (row[2] > import_largest("op/s") || row[3] > import_largest("B/s")) {
        import_count(bench->import, "rows_unusable", 1);
        return;
    }
    if (row[0] > bench->last_second && row[1] >= bench->last_ops)
        take_row(bench, row);
    else
        import_count(bench->import, "rows_unusable", 1);
}

size_t read_rbd_bench(struct import *import, const struct evidence *evidence)
{
    struct bench bench = {.import = import, .evidence = evidence};
    const char *at = evidence->text;
    char line[SCAN_LINE];

    while (scan_line(&at, line))
        take_line(&bench, line);
    end_run(&bench);
    return bench.runs;
}
