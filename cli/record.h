/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_RECORD_H
#define OPTRAIL_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "report_output.h"
#include "target_options.h"
#include "thread_sample.h"

/* What `optrail record` was asked for; 0 and NULL: not given. */
struct record_options {
    struct target_options targets;
    double seconds;
    const char *trace; /* the directory */
    bool temporary;    /* it is read and removed: no message names it */
    bool force;
    bool allow_slow;
    const char *path;
    const char *detail;   /* basic, standard, deep; NULL: standard */
    bool locks;           /* contended waits as well */
    uint32_t samples;     /* samples of threads as well: bit set of enum sample_kind */
    uint32_t sample_rate; /* ticks a second */

    bool report;                 /* print one of what was recorded */
    struct report_output output; /* only its `json` and `format` are options here */

    double snapshot; /* a flight recorder: seconds to keep */
    double slower_than;
    int64_t snapshots; /* at most */
    int64_t memory_mib;

    bool lttng;
    bool ceph; /* its own tracepoints as well */
    const char *session;
    const char *url;
    int64_t rate; /* events a second, for the size of LTTng's buffers */
};

/* Records; 0 or a negative errno with the message. */
int record_bpf(const struct record_options *options);
int record_lttng(const struct record_options *options);

#endif
