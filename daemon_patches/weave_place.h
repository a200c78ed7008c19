/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_WEAVE_PLACE_H
#define OPTRAIL_WEAVE_PLACE_H

#include "cxx_functions.h"
#include "weave_rules.h"

/* Where a line goes. */
struct weave_spot {
    size_t offset; /* a line's beginning in the source */
    size_t indent; /* of a line whose blanks it takes */
    enum weave_text text;
};

struct weave_spots {
    struct weave_spot *rows; /* owned */
    size_t count;
    const char *function; /* that of the alternatives that is there; weak: of the rule */
};

/* Finds where the lines of a rule go in the source of `size` bytes. Returns 0, -ENOENT when the
 * function or the call is not there, another negative errno when it is there and no line can be put
 * there safely; with err_set, and `spots` empty. */
int weave_place(const struct cxx_code *code, size_t size, const struct weave_rule *rule,
                struct weave_spots *spots);

/* The same for the #include: behind the last one of the first block, outside of #if (that of a
 * header against its second reading aside). */
int weave_include_place(const struct cxx_code *code, size_t size, size_t *offset);

#endif
