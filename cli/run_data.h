/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_RUN_DATA_H
#define OPTRAIL_RUN_DATA_H

#include "analysis.h"
#include "supervise.h"

/* What reading traces and profiles told, beside what went into the analysis. */
struct run_data {
    struct read_counts counts; /* of all together */
    char damage[1024];         /* the first message about damage; "" */
};

/* Reads all profiles among the `count` names into the analysis, then the others as traces, merged
 * by time. Damage of a trace does not stop it: as reader_run_traces(). A damaged profile does.
 * Nor may two be of the very same events. Negative errno with the message. */
int run_data_read(char **names, int count, struct analysis *analysis,
                  struct supervision *supervision, const volatile int *stop, struct run_data *data);

#endif
