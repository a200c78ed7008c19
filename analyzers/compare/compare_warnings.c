/* SPDX-License-Identifier: MIT */
/* What makes two sides hard to compare: other work, more of it, or not long enough. */
#include <math.h>
#include <string.h>

#include "compare_private.h"

#define MIX      0.05 /* a type's share of the ops differs by more */
#define SIZE     0.05 /* bytes an op, relative */
#define DEPTH    0.20 /* ops under way, relative */
#define DURATION 2.0  /* times as long */
#define WARM_UP  0.10 /* the first quarter's mean is off by more, and by four standard errors */
#define SHORT_S  1.0
#define LOST     0.01 /* of the ops are missing */

/* A side's runs together. */
struct totals {
    double ops, seconds, in_flight, incomplete, lost;
    bool without_windows;
};

static struct totals totals_of(const struct compare_side *side)
{
    struct totals totals = {0};
    for (size_t i = 0; i < side->count; i++) {
        const struct report *report = side->runs[i].report;
        totals.seconds += report->source.seconds;
        totals.in_flight += report->load.in_flight / (double)side->count;
        totals.lost += (double)report->counts.lost_events;
        for (size_t j = 0; j < report->op_count; j++)
            totals.ops += (double)report->ops[j].count;
        for (size_t j = 0; j < report->counts.incomplete_count; j++)
            if (strcmp(report->counts.incomplete[j].name, "open") != 0 &&
                strcmp(report->counts.incomplete[j].name, "key_ended") != 0)
                totals.incomplete += (double)report->counts.incomplete[j].value;
        totals.without_windows = totals.without_windows || windows_count_of(&side->runs[i]) == 0;
    }
    return totals;
}

size_t windows_count_of(const struct compare_run *run)
{
    return run->windows ? windows_count(run->windows) : 0;
}

/* Ops and bytes of a type on a side. */
static void type_of(const struct compare_side *side, const char *type, double *ops, double *bytes)
{
    *ops = *bytes = 0;
    for (size_t i = 0; i < side->count; i++)
        for (size_t j = 0; j < side->runs[i].report->op_count; j++) {
            const struct report_op *op = &side->runs[i].report->ops[j];
            if (strcmp(op->type, type) != 0)
                continue;
            *ops += (double)op->count;
            *bytes += (double)op->bytes;
        }
}

static bool differs(double a, double b, double part)
{
    return fabs(a - b) > part * fmax(fabs(a), fabs(b));
}

/* Of the first run of each side, which stands for the others. */
static int warn_of_daemon(const struct compare_side *before, const struct compare_side *after,
                          struct report_diff *diff)
{
    const char *a = before->runs[0].report->source.daemon;
    const char *b = after->runs[0].report->source.daemon;
    if (!*a || !*b || strcmp(a, b) == 0)
        return 0;
    return report_diff_add_warning(diff,
                                   "another daemon: %s before, %s after: what has one name in both "
                                   "need not be the same work",
                                   a, b);
}

static int warn_of_work(const struct compare_side *before, const struct compare_side *after,
                        const struct totals *a, const struct totals *b, struct report_diff *diff)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < diff->type_count; i++) {
        const char *type = diff->types[i].type;
        double ops_a, ops_b, bytes_a, bytes_b;
        type_of(before, type, &ops_a, &bytes_a);
        type_of(after, type, &ops_b, &bytes_b);
        double share_a = a->ops > 0 ? ops_a / a->ops : 0, share_b = b->ops > 0 ? ops_b / b->ops : 0;
        if (fabs(share_a - share_b) > MIX)
            rc = report_diff_add_warning(diff,
                                         "another mix of ops: %.0f %% were of type %s before, "
                                         "%.0f %% after",
                                         100 * share_a, type, 100 * share_b);
        if (rc == 0 && ops_a > 0 && ops_b > 0 && differs(bytes_a / ops_a, bytes_b / ops_b, SIZE))
            rc = report_diff_add_warning(diff,
                                         "another size of ops: a %s had %.0f bytes before, %.0f "
                                         "after",
                                         type, bytes_a / ops_a, bytes_b / ops_b);
    }
    if (rc == 0 && a->in_flight > 0 && b->in_flight > 0 &&
        differs(a->in_flight, b->in_flight, DEPTH))
        rc = report_diff_add_warning(diff,
                                     "another depth: %.1f ops were under way before, %.1f after: "
                                     "waiting times follow from that",
                                     a->in_flight, b->in_flight);
    return rc;
}

static int warn_of_time(const struct compare_side *before, const struct compare_side *after,
                        const struct totals *a, const struct totals *b, struct report_diff *diff)
{
    double seconds_a = a->seconds / (double)before->count;
    double seconds_b = b->seconds / (double)after->count;
    int rc = 0;
    if (seconds_a > DURATION * seconds_b || seconds_b > DURATION * seconds_a)
        rc = report_diff_add_warning(diff,
                                     "not equally long: %.1f s before, %.1f s after: what happens "
                                     "seldom is not seen in the shorter one",
                                     seconds_a, seconds_b);
    if (rc == 0 && fmin(seconds_a, seconds_b) < SHORT_S)
        rc = report_diff_add_warning(diff,
                                     "only %.2f s: what takes longer to come round "
                                     "(flushes, compaction) is chance here",
                                     fmin(seconds_a, seconds_b));
    return rc;
}

/* Whether the first quarter of the time is of another kind than the last half. */
static int warn_of_warm_up(const struct compare_run *run, const char *side,
                           struct report_diff *diff)
{
    size_t count = windows_count_of(run);
    if (count < 16 || run->report->op_count == 0)
        return 0;
    const struct window_row *row = windows_of(run->windows, run->report->ops[0].type);
    if (!row)
        return 0;
    double counts[2] = {0}, sums[2] = {0}, squares = 0, used = 0;
    for (size_t w = 0; w < count; w++) {
        const struct window_cell *cell = windows_cell(row, w, row->stage_count + 1);
        int part = w < count / 4 ? 0 : 1;
        if ((w >= count / 4 && w < count / 2) || cell->count == 0)
            continue;
        counts[part] += (double)cell->count;
        sums[part] += (double)cell->sum;
    }
    if (counts[0] <= 0 || counts[1] <= 0)
        return 0;
    double first = sums[0] / counts[0], later = sums[1] / counts[1];
    for (size_t w = count / 2; w < count; w++) {
        const struct window_cell *cell = windows_cell(row, w, row->stage_count + 1);
        if (cell->count == 0)
            continue;
        double off = (double)cell->sum / (double)cell->count - later;
        squares += off * off;
        used++;
    }
    double error = used > 1 ? sqrt(squares / (used - 1)) * sqrt(4.0 / (double)count) : 0;
    if (!differs(first, later, WARM_UP) || fabs(first - later) < 4 * error)
        return 0;
    return report_diff_add_warning(diff,
                                   "%s (%s) was not in its stride at first: a %s took %.0f %% %s "
                                   "in the first quarter of the time than in the second half",
                                   run->name, side, run->report->ops[0].type,
                                   100 * fabs(first / later - 1), first > later ? "more" : "less");
}

static int warn_of_losses(const struct totals *totals, const char *side, struct report_diff *diff)
{
    int rc = 0;
    if (totals->lost > 0)
        rc = report_diff_add_warning(diff,
                                     "%.0f event%s lost %s: ops are missing, and not by "
                                     "chance: those of the busiest times",
                                     totals->lost, totals->lost == 1 ? " was" : "s were", side);
    if (rc == 0 && totals->incomplete > LOST * totals->ops)
        rc =
            report_diff_add_warning(diff,
                                    "%.0f op%s not seen to %s end %s, beside %.0f "
                                    "that were",
                                    totals->incomplete, totals->incomplete == 1 ? " was" : "s were",
                                    totals->incomplete == 1 ? "its" : "their", side, totals->ops);
    return rc;
}

int add_warnings(const struct compare_side *before, const struct compare_side *after,
                 struct report_diff *diff)
{
    struct totals a = totals_of(before), b = totals_of(after);
    int rc = warn_of_daemon(before, after, diff);
    if (rc == 0)
        rc = warn_of_work(before, after, &a, &b, diff);
    if (rc == 0)
        rc = warn_of_time(before, after, &a, &b, diff);
    for (size_t i = 0; rc == 0 && i < before->count; i++)
        rc = warn_of_warm_up(&before->runs[i], "before", diff);
    for (size_t i = 0; rc == 0 && i < after->count; i++)
        rc = warn_of_warm_up(&after->runs[i], "after", diff);
    if (rc == 0)
        rc = warn_of_losses(&a, "before", diff);
    if (rc == 0)
        rc = warn_of_losses(&b, "after", diff);
    if (rc == 0 && !diff->between_runs && (a.without_windows || b.without_windows))
        rc = report_diff_add_warning(
            diff, "a profile without sums by windows of time, as `optrail attach --save` writes it "
                  "where the kernel folds (--fold user keeps them): what chance "
                  "makes is not known, and nothing was tested");
    if (rc == 0 && !diff->between_runs)
        rc = report_diff_add_warning(diff,
                                     "one run a side: what two runs of the same differ by "
                                     "(caches, placement, neighbours, sleeping processors) is not "
                                     "known, but guessed; give several of each, made in turns, "
                                     "parted by `vs`");
    return rc;
}
