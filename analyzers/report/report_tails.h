/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_REPORT_TAILS_H
#define OPTRAIL_REPORT_TAILS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Rows about slow ops, and about time. Owned by the report, like all of it.
 */
struct report;

/* What slow ops take longer than all ops do, stage by stage. */
struct report_tail_stage {
    char *name;     /* "unattributed" for what no stage covers */
    double mean_ns; /* an op, of all */
    double slow_ns; /* an op, of the slow ones */
    double share;   /* of what the slow ones take longer */
};

/* What slow ops have in common: more of them than of all ops have it. */
struct report_common {
    char *kind; /* "group", "thread", "object", "peer", "lock", "size", ... */
    char *value;
    uint64_t ops;       /* that have it */
    uint64_t slow;      /* of these */
    double share;       /* of all ops */
    double slow_share;  /* of the slow ops */
    double probability; /* of so many by chance, after correction for the number of tests */
};

/* The slowest 1 % of the ops of a type. */
struct report_tail {
    char *type;
    uint64_t ops, slow;
    uint64_t threshold_ns;   /* from here on an op is slow */
    double mean_ns, slow_ns; /* latency of all, of the slow ones */
    uint64_t tests;          /* values that were looked at */
    uint64_t not_kept;       /* values of ops for which there was no room */
    size_t stage_count;
    struct report_tail_stage *stages; /* by share, the largest first */
    size_t common_count;
    struct report_common *common; /* the least likely first */
};

/* Two populations among the ops of a type. */
struct report_population {
    char *type;
    uint64_t split_ns;
    uint64_t fast_ops, slow_ops;
    uint64_t fast_ns, slow_ns; /* medians */
    double separation;         /* Ashman's D of the logarithms */
    char *stage;               /* the one in which they differ most */
    double stage_share;        /* of the difference of their means */
};

/* Times in which nothing was answered though ops were open. */
struct report_stall_stage {
    char *name;
    uint64_t ns; /* of the open ops, all together */
    double share;
};

struct report_stall {
    uint64_t count;
    uint64_t total_ns;
    uint64_t longest_ns, longest_at_ns; /* since the first op */
    uint64_t open;                      /* ops that were, at the longest one's end */
    size_t stage_count;
    struct report_stall_stage *stages; /* where the open ops were, most first */
};

/* Latency that rises at regular intervals. */
struct report_rhythm {
    uint64_t period_ns;
    uint64_t window_ns; /* the resolution */
    double correlation; /* of the latency with itself one period later */
    double probability; /* of as much by chance, after correction for the number of lags */
    double mean_ns;     /* latency */
    double high_ns;     /* in the part of the period where it is highest */
};

/* Rows are weak, and valid until the next add of the same kind. 0 or -ENOMEM with the message. */
int report_add_tail(struct report *report, const char *type, struct report_tail **tail);
int report_add_tail_stage(struct report_tail *tail, const struct report_tail_stage *stage);
int report_add_common(struct report_tail *tail, const struct report_common *common);
int report_add_population(struct report *report, const struct report_population *population);
int report_add_stall(struct report *report, struct report_stall **stall);
int report_add_stall_stage(struct report_stall *stall, const char *name, uint64_t ns);
int report_add_rhythm(struct report *report, const struct report_rhythm *rhythm);

/* Called by report_free(). */
void report_free_tails(struct report *report);

#endif
