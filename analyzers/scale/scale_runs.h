/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_SCALE_RUNS_H
#define OPTRAIL_SCALE_RUNS_H

#include <stdbool.h>
#include <stddef.h>

#include "scaling.h"

/*
 * Runs of one load at several depths, each as a report in JSON (docs/report-json.md): throughput
 * and latency, and what locks, queues and CPUs were busy with.
 */
struct scale_runs;

/* Owned by the caller. */
int scale_runs_new(struct scale_runs **runs);
void scale_runs_free(struct scale_runs *runs); /* NULL is fine */

/* Reads a report. `depth`: the load's; 0: the ops that were in flight, on average. `name`: for
 * messages. -EBADMSG with the message when it is no report, has no ops, or is a copy of one that
 * was read. */
int scale_runs_read(struct scale_runs *runs, const char *file, const char *name, double depth);

/* Adds the series of the runs, if there are any: points, stages, causes. */
int scale_runs_add(const struct scale_runs *runs, struct scaling *scaling);

#endif
