/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_OP_DIVISION_H
#define OPTRAIL_OP_DIVISION_H

#include "path.h"
#include "sweep.h"
#include "trail.h"

/*
 * What a finished op is, and how its time is divided: found once for all folds. An op's type
 * follows from what it passed; ops of one kind pass the same points over and over, so the answer is
 * remembered by the set of points.
 */
struct op_division {
    const char *type;              /* weak: the path's name for it, or "other" */
    const struct path *path;       /* weak; NULL when no path matched */
    const struct sweep_plan *plan; /* weak: of the path; NULL likewise */
    struct sweep_parts parts;      /* without a path all is unattributed, and no stage passed */
};

struct op_divider;

/* The paths are weak. Owned by the caller; NULL with the message: no memory. One thread uses it. */
struct op_divider *op_divider_new(const struct path_set *paths);
void op_divider_free(struct op_divider *divider); /* NULL is fine */

/* Divides a finished trail. Weak, until the next call; NULL with the message: no memory. */
const struct op_division *op_divider_divide(struct op_divider *divider, const struct trail *trail);

/* A path's own name for its type of that name, as a profile tells it; of no path (NULL) "other".
 * NULL: the path has no such type. Weak. */
const char *op_type_named(const struct path *path, const char *name);

#endif
