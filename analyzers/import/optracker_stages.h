/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_OPTRACKER_STAGES_H
#define OPTRAIL_OPTRACKER_STAGES_H

#include <stdbool.h>

struct optracker_stage {
    const char *event; /* how its text begins */
    const char *stage, *kind;
};

/* The stage that the time before an event belongs to. */
const struct optracker_stage *optracker_before(const char *event);

/* The stage that the time behind an event belongs to, whatever comes next: the op was put aside.
 * NULL: it was not. *stuck: it waits for something that time alone does not bring. */
const struct optracker_stage *optracker_aside(const char *event, bool *stuck);

struct import_op;

/* What an op does, for whom, and how much data it moves, from its description. */
void optracker_describe(const char *description, struct import_op *op);

#endif
