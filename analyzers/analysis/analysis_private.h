/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_ANALYSIS_PRIVATE_H
#define OPTRAIL_ANALYSIS_PRIVATE_H

#include "analysis.h"
#include "fold.h"
#include "windows.h"

#define MAX_FOLDS 16

struct fold {
    const struct fold_class *class;
    void *state;
};

struct analysis {
    struct event_consumer consumer;
    struct path_set paths;
    struct trail_builder *builder;
    struct op_divider *divider;
    size_t fold_count;
    struct fold folds[MAX_FOLDS];
    /* those that want single events, so that the rest costs nothing on each */
    size_t event_fold_count;
    struct fold event_folds[MAX_FOLDS];
    uint64_t events;
    uint64_t slowest_ns; /* since it was asked for */
    uint64_t lost;       /* as far as the tracer told a number */
    double traced_part;  /* of the time, as of the last snapshot; 0: there was none */
    void (*progress)(void *context, uint64_t events);
    void *progress_context;
    bool ended;
    bool windows;
    /* what the kernel has folded by itself takes the place of the builder's */
    bool folded_elsewhere;
    struct trail_counts counts;
    uint64_t losses[FOLD_ENDED];
    struct report_cpu cpu;
    struct trail_counts loaded; /* of the profiles that were loaded */
};

/* The counts of the builder, or what the kernel has in their place, and those of profiles. */
struct trail_counts analysis_trail_counts(const struct analysis *analysis);

#endif
