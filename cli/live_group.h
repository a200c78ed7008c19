/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_LIVE_GROUP_H
#define OPTRAIL_LIVE_GROUP_H

#include "analysis.h"
#include "live_fold.h"
#include "tracer_group.h"

/*
 * One running daemon or several, and the analyses of their events: of each on its own, and of all
 * together where they have the same path file. (What stage an op of FileStore and one of BlueStore
 * are in cannot be told with one set of paths.)
 */
struct live_group_options {
    const struct target *targets; /* weak; needed during live_group_open() */
    size_t count;
    const char *path; /* a path file or a directory of them; NULL: what fits the daemons */
    struct tracer_group_options tracing; /* `notice`, `slowest_ns` and `context` are set here */
    bool each;                           /* the report shall hold whole reports of each */
    enum live_fold_choice fold;
    bool windows; /* sums by windows of time too, where ops are folded in user space */
    bool save;    /* live_group_save() will be called: daemons of different paths are refused */
};

struct live_group;

/* Reads the paths and probes the daemons, unless they are to be `held` (tracing.each). Who is
 * probed is told on standard error. Owned by the caller. */
int live_group_open(const struct live_group_options *options, struct live_group **group);
/* Attaches what was opened `held`; once. Negative errno with the message. */
int live_group_begin(struct live_group *group);
void live_group_close(struct live_group *group); /* NULL is fine */

/* For reader_run_source(). Weak. */
struct event_feed *live_group_feed(struct live_group *group);
const struct event_consumer *live_group_consumer(struct live_group *group);

/* A report of what the span covers, while it goes on. */
int live_group_snapshot(struct live_group *group, enum analysis_span span, double seconds,
                        struct report **report);

/* The report, after the last event. `counts`: what the reader saw. The caller owns it. */
int live_group_report(struct live_group *group, const struct read_counts *counts,
                      struct report **report);

/* Writes all that was gathered to a profile (docs/profile.md), of all daemons together: `optrail
 * report` makes of it what live_group_report() has made, which must have been called before. */
int live_group_save(struct live_group *group, const struct report *report, const char *file);

#endif
