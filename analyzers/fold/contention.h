/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_CONTENTION_H
#define OPTRAIL_CONTENTION_H

#include "flows.h"
#include "lock_table.h"
#include "report.h"
#include "stage_labels.h"

/* From when to when ops were seen; where there are none, from when to when it was looked. */
struct contention_window {
    uint64_t begin_ns, end_ns;
};

/* What the contention fold has gathered, and the parts of the report that are made of it. */
struct contention {
    const struct path_set *paths; /* weak */
    struct trail_builder *trails; /* weak; NULL: ops are not followed here */
    struct lock_table *locks;     /* owned */
    struct flows flows;
    struct contention_window looked; /* as the report has it */
};

int contention_fill_locks(const struct contention *contention, const struct stage_labels *labels,
                          struct report *report);
int contention_fill_queues(const struct contention *contention, const struct stage_labels *labels,
                           struct report *report);

struct contention_window contention_window(const struct contention *contention);

/* Its length; 0: nothing was seen. */
uint64_t contention_window_ns(const struct contention *contention);

#endif
