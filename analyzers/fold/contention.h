/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_CONTENTION_H
#define OPTRAIL_CONTENTION_H

#include "flows.h"
#include "lock_table.h"
#include "report.h"
#include "stage_labels.h"

/* What the contention fold has gathered, and the parts of the report that are made of it. */
struct contention {
    const struct path_set *paths; /* weak */
    struct trail_builder *trails; /* weak; NULL: ops are not followed here */
    struct lock_table *locks;     /* owned */
    struct flows flows;
};

int contention_fill_locks(const struct contention *contention, const struct stage_labels *labels,
                          struct report *report);
int contention_fill_queues(const struct contention *contention, const struct stage_labels *labels,
                           struct report *report);

/* From when to when ops were seen; where there are none, waits. */
struct contention_window {
    uint64_t begin_ns, end_ns;
};
struct contention_window contention_window(const struct contention *contention);

/* Its length; 0: nothing was seen. */
uint64_t contention_window_ns(const struct contention *contention);

#endif
