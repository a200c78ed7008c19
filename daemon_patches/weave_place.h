/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_WEAVE_PLACE_H
#define OPTRAIL_WEAVE_PLACE_H

#include "cxx_functions.h"
#include "weave_rules.h"

/* Finds where the line of a rule goes: *offset is a line's beginning in the source of `size` bytes,
 * *indent a line whose blanks it takes. Returns 0, -ENOENT when the function or the call is not
 * there, another negative errno when it is there and no line can be put there safely; with
 * err_set. */
int weave_place(const struct cxx_code *code, size_t size, const struct weave_rule *rule,
                size_t *offset, size_t *indent);

/* The same for the #include: behind the last one of the first block, outside of #if (that of a
 * header against its second reading aside). */
int weave_include_place(const struct cxx_code *code, size_t size, size_t *offset);

#endif
