/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_COMPARE_H
#define OPTRAIL_COMPARE_H

#include "report.h"
#include "report_diff.h"
#include "windows.h"

/*
 * Two sides of runs, before and after: what changed, and how sure that is. docs/diff.md has the
 * methods and what they were found to be worth.
 */
struct compare_run {
    const char *name; /* as the user has it; weak, like all here */
    const struct report *report;
    const struct windows *windows; /* NULL, or without any: how much chance does is not known */
};

struct compare_side {
    size_t count; /* at least 1 */
    const struct compare_run *runs;
};

/* What two runs of the same are taken to differ by where one run a side cannot tell: standard
 * deviations of every figure, that add up as variances. docs/diff.md has what was measured. */
struct compare_between {
    double part; /* of the figure */
    double ns;
};
#define COMPARE_BETWEEN "1%+5us"

/* -EINVAL with the message that says what is wrong. */
int compare_between_parse(const char *text, struct compare_between *between);

/* Compares. `between` counts for one run a side alone. Owned by the caller. -ENOMEM with the
 * message. */
int compare_sides(const struct compare_side *before, const struct compare_side *after,
                  const struct compare_between *between, struct report_diff **diff);

/* One condition of --fail-if: TYPE[.STAGE].STATISTIC > or < a limit, which is a change in percent
 * ("+5%") or in time ("200us"). */
struct compare_condition {
    const char *text; /* weak */
    char type[64], stage[64];
    enum diff_statistic statistic;
    bool above;   /* holds when the change is above the limit; else below */
    bool percent; /* the limit is a fraction of what was before; else ns */
    double limit;
};

/* -EINVAL with the message that says what is wrong. */
int compare_condition_parse(const char *text, struct compare_condition *condition);

/* Adds to the diff whether it holds: when the change is beyond the limit, and is not chance.
 * -ENOENT with the message when there is no such op type or stage, or when it could not be tested.
 */
int compare_condition_judge(const struct compare_condition *condition, struct report_diff *diff);

#endif
