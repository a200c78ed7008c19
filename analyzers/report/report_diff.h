/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_REPORT_DIFF_H
#define OPTRAIL_REPORT_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What changed between two sides of runs: what analyzers/compare fills and renderers read. Its JSON
 * form (schema optrail.diff/1, docs/diff.md) is a contract: fields are appended, never renamed.
 * Times are ns, shares fractions of 1. All is owned by the diff.
 */

enum diff_statistic { DIFF_MEAN, DIFF_P50, DIFF_P90, DIFF_P99, DIFF_STATISTICS };
extern const char *const diff_statistic_names[DIFF_STATISTICS]; /* "mean", "p50", ... */

struct diff_value {
    double before, after;
    double change;    /* after less before */
    double low, high; /* of it: 95 % confidence, each value for itself; both 0 when not tested */
    double freedom;   /* degrees of it, of the test */
    double p;         /* that chance alone makes so much, adjusted for all tests together */
    bool tested;
    bool significant;  /* p is below 0.05 */
    double detectable; /* a change that this data would have shown in four of five cases */
};

/* An op type as a whole (stage ""), one of its stages, or "unattributed". */
struct diff_row {
    char *stage;
    char *kind;                                /* of the stage; "" */
    struct diff_value values[DIFF_STATISTICS]; /* the mean of a stage is over all ops of the type,
                                                  so that those of the stages add up; its
                                                  percentiles are of the ops that passed it */
    double effect; /* the change of the mean, in standard deviations of one op's time in it (Cohen's
                      d); 0 where not known */
    double part;   /* of the op's change of the mean; 0 for the op itself */
};

struct diff_type {
    char *type;
    uint64_t ops_before, ops_after;
    double rate_before, rate_after; /* ops a second; 0: not known */
    size_t row_count;
    struct diff_row *rows; /* the op itself, its stages in the order of the path, unattributed */
    bool changed;          /* something of it is significant */
    char *cause;           /* the stage that changed most, of those that changed; "" */
    char *text;            /* a plain sentence or two */
};

/* A condition of --fail-if, and what became of it. */
struct diff_condition {
    char *text;
    bool holds;
    char *why;
};

struct report_diff {
    size_t runs_before, runs_after;
    bool between_runs; /* chance is what runs of one side differ by; else what windows of time do */
    /* what runs are taken to differ by where they do not tell: standard deviations of a figure */
    double assumed_part, assumed_ns;
    size_t tests;
    size_t type_count;
    struct diff_type *types; /* by time spent, most first */
    size_t warning_count;
    char **warnings; /* why the two sides may not be comparable */
    size_t condition_count;
    struct diff_condition *conditions;
};

/* Makes an empty one; owned by the caller. The adders return 0 or -ENOMEM with the message. */
int report_diff_new(struct report_diff **diff);
void report_diff_free(struct report_diff *diff); /* NULL is fine */

/* Rows are weak and valid until the next add of the same kind; their strings are "". */
int report_diff_add_type(struct report_diff *diff, const char *type, struct diff_type **row);
int report_diff_add_row(struct diff_type *type, const char *stage, const char *kind,
                        struct diff_row **row);
int report_diff_add_warning(struct report_diff *diff, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int report_diff_add_condition(struct report_diff *diff, const char *text, bool holds,
                              const char *why);

#endif
