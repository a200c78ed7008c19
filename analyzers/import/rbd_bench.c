/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "import_private.h"
#include "scan.h"

/* rbd bench and bench-write: the second, ops so far, and rates; seconds in which nothing completes
 * have no row. */
struct bench {
    struct import *import;
    const struct evidence *evidence;
    size_t runs, rows, elided;
    double size, depth, first_rate, least_rate, last_rate, last_ops, last_second, missing, longest;
    double elapsed, ops, mean_rate, bytes_rate, factor;
    bool elision;
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

    if (bench->elision) {
        bench->elided += gap > 0 ? (size_t)gap : 0;
    } else if (gap > 0 && gap < 1e6) {
        bench->missing += gap;
        if (gap > bench->longest)
            bench->longest = gap;
    }
    bench->elision = false;
    if (bench->rows++ == 0)
        bench->first_rate = bench->least_rate = row[2];
    if (row[2] < bench->least_rate)
        bench->least_rate = row[2];
    bench->last_rate = row[2];
    bench->last_second = row[0];
    bench->last_ops = row[1];
    if (row[2] > 0 && row[3] > 0)
        bench->factor = row[3] / row[2];
}

static void say(struct bench *bench, const char *source)
{
    struct import *import = bench->import;

    if (bench->missing > 0)
        import_say(import, "stall",
                   "%s: %zu rows printed for %.0f s: %.0f s without a row are stalls in which "
                   "nothing completes, the longest %.0f s.",
                   source, bench->rows, bench->last_second - (double)bench->elided, bench->missing,
                   bench->longest);
    if (bench->last_rate < 0.8 * bench->first_rate)
        import_say(import, "decay",
                   "%s: the rate falls from %.4g to %.4g op/s: the first seconds are not what it "
                   "can keep up.",
                   source, bench->first_rate, bench->last_rate);
    if (bench->size > 0 && bench->factor > 0 && fabs(bench->factor / bench->size - 1) > 0.02)
        import_say(import, "contradiction",
                   "%s: its bytes a second are %.0f an op, and the size of an op is %.0f: one of "
                   "the two is wrong.",
                   source, bench->factor, bench->size);
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
    import_figure(bench->import, source, "seconds.stalled", bench->missing, "s");
    import_figure(bench->import, source, "rate.first", bench->first_rate, "op/s");
    import_figure(bench->import, source, "rate.last", bench->last_rate, "op/s");
    import_figure(bench->import, source, "rate.mean", rate, "op/s");
    if (bench->depth > 0 && rate > 0)
        import_figure(bench->import, source, "latency.mean", bench->depth / rate, "s");
    say(bench, source);
    if (bench->elided)
        import_note(bench->import, "%s: %zu seconds were left out by whoever copied it", source,
                    bench->elided);
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
        scan_after(line, "io_size", &bench->size);
        scan_after(line, "io_threads", &bench->depth);
        return;
    }
    if (scan_begins(line, "elapsed:")) {
        scan_after(line, "elapsed:", &bench->elapsed);
        scan_after(line, "ops:", &bench->ops);
        scan_after(line, "ops/sec:", &bench->mean_rate);
        scan_after(line, "bytes/sec:", &bench->bytes_rate);
        return;
    }
    if (bench->rows && (strchr(line, '<') || strstr(line, "...")))
        bench->elision = true;
    /* only behind a head: four numbers alone may be anything */
    if (bench->size <= 0 || scan_row(line, row, 5) != 4 || !(row[0] >= 0) || !(row[1] >= 0) ||
        !(row[2] >= 0) || !(row[3] >= 0))
        return;
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
