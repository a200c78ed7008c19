/* SPDX-License-Identifier: MIT */
#ifndef MINISTORE_LOAD_REPORT_H
#define MINISTORE_LOAD_REPORT_H

#include <stdint.h>

#include "load_options.h"
#include "load_worker.h"

/* What the load generator prints: the fields that `rados bench` prints. */

struct load_report {
    const struct load_options *options;
    uint64_t seconds; /* lines printed */
    uint64_t last_finished, last_bytes;
    /* of the rates of all seconds: sums, for mean and deviation */
    double bandwidth_sum, bandwidth_squares, bandwidth_min, bandwidth_max;
    double iops_sum, iops_squares, iops_min, iops_max;
};

void load_report_begin(struct load_report *report, const struct load_options *options);

/* One second has passed: prints its line. */
void load_report_second(struct load_report *report, const struct load_counts *counts);

/* The totals, after `seconds` of running. */
void load_report_totals(struct load_report *report, const struct load_counts *counts,
                        double seconds);

/* The same as JSON. `digest` is that of the sequence of ops. 0, or -1 after a message. */
int load_report_json(const struct load_report *report, const struct load_counts *counts,
                     double seconds, uint64_t digest, const char *path);

#endif
