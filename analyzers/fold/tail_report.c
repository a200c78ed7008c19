/* SPDX-License-Identifier: MIT */
#include "tail_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "err.h"
#include "points.h"
#include "tail_test.h"

/* Of fewer ops nothing is said. */
#define FEWEST_OPS  200
#define FEWEST_SLOW 10
/* The slowest 1 %, or as near to it as the latencies allow: at most a tenth. */
#define SLOW_PART    0.01
#define LARGEST_PART 0.1
/* Slow ops take so many times the median at least: else there is no tail. */
#define SLOW_TIMES 1.5
/* A value is a finding when the false discovery rate is below this, when it is so many times as
 * frequent among the slow ops, and when it covers such a part of them. */
#define FALSE_PART     0.01
#define SMALLEST_RATIO 2
#define SMALLEST_COVER 0.2
/* Ops near in time are alike in many ways: a window must stand out more. */
#define WINDOW_RATIO 4
#define WINDOW_COVER 0.4
/* So many windows are taken together at most. */
#define MOST_TOGETHER 8
#define MAX_FINDINGS  6

struct finding {
    const struct tail_row *row; /* weak; NULL: a window */
    size_t window, windows;     /* the first one, and how many together */
    uint64_t ops, slow;
    double probability;
};

/* The first bucket of the slow ops; COARSE_BUCKETS: none are. */
static uint32_t slow_from(const struct tail_sums *sums)
{
    uint64_t wanted = (uint64_t)fmax(ceil(SLOW_PART * (double)sums->count), FEWEST_SLOW), above = 0;
    uint32_t bucket = COARSE_BUCKETS;
    while (bucket > 0 && above < wanted)
        above += sums->buckets[--bucket];
    if ((double)above > LARGEST_PART * (double)sums->count)
        above -= sums->buckets[bucket++];
    uint32_t middle = 0;
    for (uint64_t below = sums->buckets[0]; 2 * below < sums->count; below += sums->buckets[middle])
        middle++;
    if (above < FEWEST_SLOW ||
        (double)coarse_low(bucket) < SLOW_TIMES * (double)coarse_low(middle + 1))
        return COARSE_BUCKETS;
    return bucket;
}

static int by_share(const void *a, const void *b)
{
    const struct report_tail_stage *left = a, *right = b;
    return (left->share < right->share) - (left->share > right->share);
}

static int add_stages(const struct tail_sums *sums, uint32_t from, struct report_tail *tail)
{
    double longer = tail->slow_ns - tail->mean_ns;
    for (size_t i = 0; i <= sums->stage_count; i++) {
        struct report_tail_stage stage = {.name = (char *)tail_sums_stage(sums, i),
                                          .mean_ns = tail_sums_mean(sums, 0, COARSE_BUCKETS, i),
                                          .slow_ns = tail_sums_mean(sums, from, COARSE_BUCKETS, i)};
        stage.share = longer > 0 ? (stage.slow_ns - stage.mean_ns) / longer : 0;
        int result =
            stage.mean_ns > 0 || stage.slow_ns > 0 ? report_add_tail_stage(tail, &stage) : 0;
        if (result < 0)
            return result;
    }
    if (tail->stage_count > 0)
        qsort(tail->stages, tail->stage_count, sizeof(*tail->stages), by_share);
    return 0;
}

static int by_probability(const void *a, const void *b)
{
    const struct finding *left = a, *right = b;
    if (left->probability != right->probability)
        return (left->probability > right->probability) - (left->probability < right->probability);
    if (left->slow != right->slow)
        return (left->slow < right->slow) - (left->slow > right->slow);
    /* whatever order they came in */
    if (!left->row || !right->row)
        return left->row    ? -1
               : right->row ? 1
               : left->window != right->window
                   ? (left->window > right->window) - (left->window < right->window)
                   : (left->windows > right->windows) - (left->windows < right->windows);
    if (left->row->kind != right->row->kind)
        return left->row->kind - right->row->kind;
    if (left->row->pid != right->row->pid)
        return left->row->pid > right->row->pid ? 1 : -1;
    return (left->row->value > right->row->value) - (left->row->value < right->row->value);
}

static void count_windows(const struct tail_sums *sums, uint32_t from, struct finding *finding)
{
    const uint64_t *cells = sums->windows.cells + finding->window * COARSE_BUCKETS;
    for (size_t i = 0; i < finding->windows * COARSE_BUCKETS; i++) {
        finding->ops += cells[i];
        finding->slow += i % COARSE_BUCKETS >= from ? cells[i] : 0;
    }
}

/* Tests everything that enough ops have; returns the number of tests. */
static size_t test_all(const struct tail_sums *sums, uint32_t from, uint32_t type,
                       struct tail_row *const *rows, size_t row_count, uint64_t slow,
                       struct finding *findings)
{
    size_t count = 0;
    for (size_t i = 0; i < row_count; i++) {
        struct finding finding = {.row = rows[i], .ops = rows[i]->count};
        if (rows[i]->type != type || finding.ops < FEWEST_SLOW / 2 || finding.ops == sums->count)
            continue;
        for (uint32_t bucket = from; bucket < COARSE_BUCKETS; bucket++)
            finding.slow += rows[i]->buckets[bucket];
        finding.probability = tail_probability(sums->count, slow, finding.ops, finding.slow);
        findings[count++] = finding;
    }
    /* a bad time may be longer than a window: so they are also taken together */
    for (size_t together = 1; together <= MOST_TOGETHER; together *= 2) {
        for (size_t i = 0; i < TAIL_WINDOWS; i += together) {
            struct finding finding = {.window = i, .windows = together};
            count_windows(sums, from, &finding);
            if (finding.ops < FEWEST_SLOW / 2 || finding.ops == sums->count)
                continue;
            finding.probability = tail_probability(sums->count, slow, finding.ops, finding.slow);
            findings[count++] = finding;
        }
    }
    return count;
}

static bool is_finding(const struct tail_sums *sums, uint64_t slow, const struct finding *finding,
                       double corrected)
{
    double share = (double)finding->ops / (double)sums->count;
    double slow_share = (double)finding->slow / (double)slow;
    return corrected < FALSE_PART && finding->slow >= FEWEST_SLOW &&
           slow_share >= (finding->row ? SMALLEST_RATIO : WINDOW_RATIO) * share &&
           slow_share >= (finding->row ? SMALLEST_COVER : WINDOW_COVER);
}

static void size_text(uint64_t bytes, char *out, size_t size)
{
    if (bytes < 1024)
        snprintf(out, size, "%" PRIu64 " B", bytes);
    else if (bytes < 1u << 20)
        snprintf(out, size, "%" PRIu64 " KiB", bytes >> 10);
    else
        snprintf(out, size, "%" PRIu64 " MiB", bytes >> 20);
}

static void name_value(const struct tail_sums *sums, const struct finding *finding, bool processes,
                       char *out, size_t size)
{
    const struct tail_row *row = finding->row;
    char low[32], high[32];
    if (!row) {
        double width = (double)sums->windows.width_ns / 1e9;
        snprintf(out, size, "%.3g s to %.3g s", (double)finding->window * width,
                 (double)(finding->window + finding->windows) * width);
        return;
    }
    if (row->kind == TAIL_SIZE) {
        size_text(row->value, low, sizeof(low));
        size_text(2 * row->value, high, sizeof(high));
        snprintf(out, size, "%s to %s", low, high);
    } else if (row->kind == TAIL_THREAD) {
        snprintf(out, size, "%" PRIu64 " (%s)", row->value, point_rows[row->point].name);
    } else if (processes && row->pid > 0) {
        snprintf(out, size, "%" PRIu64 " of %u", row->value, row->pid);
    } else {
        snprintf(out, size, row->value > UINT32_MAX ? "0x%" PRIx64 : "%" PRIu64, row->value);
    }
}

/* Whether ops of several processes are there: then a number alone names nothing. */
static bool several_processes(struct tail_row *const *rows, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (rows[i]->kind == TAIL_THREAD && rows[i]->pid != rows[0]->pid && rows[0]->pid > 0)
            return true;
    return false;
}

static int add_common(const struct tail_sums *sums, uint32_t from, uint32_t type,
                      const struct tail_values *values, struct report_tail *tail)
{
    size_t row_count;
    struct tail_row *const *rows = tail_values_rows(values, &row_count, &tail->not_kept);
    struct finding *findings = calloc(row_count + 2 * TAIL_WINDOWS, sizeof(*findings));
    if (!findings)
        return err_no_memory();
    size_t tests = test_all(sums, from, type, rows, row_count, tail->slow, findings);
    bool processes = several_processes(rows, row_count), window = false;
    int result = 0;
    tail->tests = tests;
    qsort(findings, tests, sizeof(*findings), by_probability);
    for (size_t i = 0; result == 0 && i < tests && tail->common_count < MAX_FINDINGS; i++) {
        const struct finding *finding = &findings[i];
        double corrected = tail_corrected(finding->probability, i + 1, tests);
        char value[96];
        if (!is_finding(sums, tail->slow, finding, corrected) || (window && !finding->row))
            continue;
        window |= !finding->row;
        name_value(sums, finding, processes, value, sizeof(value));
        result = report_add_common(
            tail, &(struct report_common){
                      .kind = (char *)(finding->row ? tail_kind_names[finding->row->kind] : "time"),
                      .value = value,
                      .ops = finding->ops,
                      .slow = finding->slow,
                      .share = (double)finding->ops / (double)sums->count,
                      .slow_share = (double)finding->slow / (double)tail->slow,
                      .probability = corrected});
    }
    free(findings);
    return result;
}

int tail_report(const struct tail_sums *sums, uint32_t type, const struct tail_values *values,
                struct report *report)
{
    struct report_tail *tail;
    uint32_t from = sums->count < FEWEST_OPS ? COARSE_BUCKETS : slow_from(sums);
    if (from == COARSE_BUCKETS)
        return 0;
    int result = report_add_tail(report, sums->type, &tail);
    if (result < 0)
        return result;
    tail->ops = sums->count;
    tail->slow = tail_sums_count(sums, from, COARSE_BUCKETS);
    tail->threshold_ns = coarse_low(from);
    tail->mean_ns = (double)sums->sum_ns / (double)sums->count;
    for (size_t i = 0; i <= sums->stage_count; i++)
        tail->slow_ns += tail_sums_mean(sums, from, COARSE_BUCKETS, i);
    result = add_stages(sums, from, tail);
    return result == 0 ? add_common(sums, from, type, values, tail) : result;
}
