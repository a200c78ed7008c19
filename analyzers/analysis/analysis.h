/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_ANALYSIS_H
#define OPTRAIL_ANALYSIS_H

#include "path.h"
#include "reader.h"
#include "report.h"
#include "trail.h"

/*
 * The whole way from events to a report: trail builder, every fold of fold_classes, report. What
 * `optrail report`, `optrail attach` and the babeltrace2 plugin have in common.
 */
struct analysis_options {
    const char *path;                  /* a path file, or a directory of them; NULL: the installed
                                          ones. Weak, like all here; needed during analysis_new */
    const struct trail_limits *limits; /* NULL: the defaults */
    /* Called about every 65,536 events with their number so far; may be NULL. */
    void (*progress)(void *context, uint64_t events);
    void *progress_context;
};

struct analysis;
struct fold_sums;

/* Reads the paths and makes builder and folds. Owned by the caller. Negative errno with the
 * message: -EBADMSG for a path file that is refused. */
int analysis_new(const struct analysis_options *options, struct analysis **analysis);
void analysis_free(struct analysis *analysis); /* NULL is fine */

/* Where the events go: for reader_run_traces() or reader_run_source(). Weak. */
const struct event_consumer *analysis_consumer(struct analysis *analysis);

/* After the last event: closes what is open and makes the report, which the caller owns.
 * `counts`: what the reader saw. `damage`: the reader's message when counts->damaged is not 0,
 * else NULL. */
int analysis_report(struct analysis *analysis, const struct read_counts *counts, const char *damage,
                    struct report **report);

/* What a snapshot covers. */
enum analysis_span {
    ANALYSIS_WHOLE,    /* everything so far */
    ANALYSIS_INTERVAL, /* the ops that finished since the last snapshot of this span; the counts of
                          events and losses are those of the whole */
};

/* The report as of now, while events go on: nothing is closed. `seconds` is what the span lasted;
 * the analysis does not look at the clock. The caller owns the report. */
int analysis_snapshot(struct analysis *analysis, enum analysis_span span, double seconds,
                      struct report **report);

/* The latency of the slowest op that finished since the last call; 0: none did. */
uint64_t analysis_slowest_ns(struct analysis *analysis);

/* What the kernel has folded by itself, in place of events: sums of the whole run so far, of
 * several processes one after the other. `events`: how many they are of. `first`: what was taken
 * before is thrown away. */
int analysis_take_sums(struct analysis *analysis, const struct fold_sums *sums, uint64_t events,
                       bool first);

/* An op that the kernel's fold has handed up whole. */
int analysis_take_exemplar(struct analysis *analysis, const struct trail *trail);

/* What the daemon had of the CPUs: the next report has it, and its verdicts look at it. */
void analysis_take_cpu(struct analysis *analysis, const struct report_cpu *cpu);

/* The paths in use. Weak. */
const struct path_set *analysis_paths(const struct analysis *analysis);

#endif
