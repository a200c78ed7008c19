/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_SYNTHETIC_RUN_H
#define OPTRAIL_SYNTHETIC_RUN_H

#include "analysis.h"

/* How neighbouring ops resemble each other. */
enum run_kind {
    RUN_INDEPENDENT, /* not at all */
    RUN_QUEUE,       /* ops queue for a worker that is busy for 70 % of the time */
    RUN_MOODS,       /* and the journal's device has moods: its times drift up and down together,
                        with a memory of a tenth of a second */
    RUN_KINDS
};
extern const char *const run_kind_names[RUN_KINDS];

struct run_plan {
    enum run_kind kind;
    uint64_t seed; /* another one: another run */
    double seconds;
    double rate;    /* ops a second, two writes to a read */
    double journal; /* the time of a journal write is times so much: 1 is as it was */
    double mood;    /* of this run as a whole: all its times are times so much */
};

/* Hands the events of a run, of the path tests/report/store.yaml, to the analysis, and makes its
 * report. Negative errno with the message. */
int synthetic_run(const struct run_plan *plan, struct analysis *analysis, struct report **report);

#endif
