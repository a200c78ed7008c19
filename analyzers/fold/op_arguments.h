/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_OP_ARGUMENTS_H
#define OPTRAIL_OP_ARGUMENTS_H

#include "tail_values.h"

/*
 * What points tell of open ops by their arguments: which argument of which point is a placement
 * group, an object, follows from the argument's name in the catalogue. The table is bounded: of two
 * ops that meet in a slot the younger one is remembered.
 */
struct op_arguments;

/* `trails`: for points without a key; weak, may be NULL. Owned by the caller; NULL with the
 * message: no memory. */
struct op_arguments *op_arguments_new(struct trail_builder *trails);
void op_arguments_free(struct op_arguments *arguments); /* NULL is fine */

void op_arguments_event(struct op_arguments *arguments, const struct optrail_event *event);

/* What was told of this op; false: not of this kind. */
bool op_arguments_of(const struct op_arguments *arguments, const struct trail *trail,
                     enum tail_kind kind, uint64_t *value);

#endif
