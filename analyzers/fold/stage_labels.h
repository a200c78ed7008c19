/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_STAGE_LABELS_H
#define OPTRAIL_STAGE_LABELS_H

#include "flows.h"
#include "report.h"

/*
 * Which stage a thread is in between two points. The paths are those of the report's ops, the type
 * that took the most time first.
 */
#define LABEL_PATHS 16

struct stage_labels {
    size_t count;
    const struct path *paths[LABEL_PATHS]; /* weak */
    int16_t order[LABEL_PATHS][POINT_COUNT];
    uint64_t queues[LABEL_PATHS]; /* stages in which an op waits for another thread */
};

struct stage_label {
    bool idle;                      /* between two ops: the thread has nothing to do */
    const struct path_stage *stage; /* weak; NULL: in none */
};

void stage_labels_init(struct stage_labels *labels, const struct report *report,
                       const struct path_set *paths, const struct flows *flows);

/* `to` may be LOCK_NOWHERE: the thread has passed `from` and nothing else yet. */
struct stage_label stage_label_of(const struct stage_labels *labels, uint16_t from, uint16_t to);

/* The stage between exactly these points; NULL: none. Weak. */
const struct path_stage *stage_between(const struct stage_labels *labels, uint16_t from,
                                       uint16_t to);

/* Whether there is a stage of this name and kind. */
bool stage_is(const struct stage_labels *labels, const char *name, enum stage_kind kind);

#endif
