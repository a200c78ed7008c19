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
    bool windows; /* sums by windows of time too: for profiles that `optrail diff` compares */
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

/* Writes all that was gathered to a profile: merged into another analysis, it gives the report that
 * the events would have given (docs/profile.md). After analysis_report() or analysis_snapshot(),
 * with what these were given and the report that they made. */
int analysis_save(struct analysis *analysis, const struct read_counts *counts, const char *damage,
                  const struct report *report, const char *file);

struct profile_reader;

/* Adds what a profile has. *counts: what its reader had seen, for read_counts_add(). `damage`: gets
 * the profile's message, unless it has one. -EBADMSG with the message for a profile that is damaged
 * or of a newer optrail; the analysis is then good for nothing more. */
int analysis_load(struct analysis *analysis, struct profile_reader *reader,
                  struct read_counts *counts, char *damage, size_t damage_size);

struct windows;

/* The ops by windows of time (windows.h); NULL unless options.windows was set. Weak. */
const struct windows *analysis_windows(const struct analysis *analysis);

/* The paths in use. Weak. */
const struct path_set *analysis_paths(const struct analysis *analysis);

#endif
