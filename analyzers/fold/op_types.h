/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_OP_TYPES_H
#define OPTRAIL_OP_TYPES_H

#include "path.h"
#include "trail.h"

/*
 * The types of ops that were seen, numbered as they appear. Ops of one kind pass the same points
 * over and over, so the answer is remembered by the set of points.
 */
#define OP_TYPES 32

struct op_type {
    const char *name;        /* weak: the path's, or "other" */
    const struct path *path; /* weak; NULL when no path matched */
};

struct op_types;

/* Owned by the caller; NULL with the message: no memory. */
struct op_types *op_types_new(const struct path_set *paths);
void op_types_free(struct op_types *types); /* NULL is fine */

/* The number of the trail's type, below OP_TYPES; -1: there are more types than that. */
int op_types_find(struct op_types *types, const struct trail *trail);
/* The number of the type of that name of a path (NULL: none), as a profile names it; -1: the path
 * has no such type, or there are too many. */
int op_types_named(struct op_types *types, const char *name, const struct path *path);
const struct op_type *op_types_get(const struct op_types *types, int number);

#endif
