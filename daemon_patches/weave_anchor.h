/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_WEAVE_ANCHOR_H
#define OPTRAIL_WEAVE_ANCHOR_H

#include "cxx_functions.h"
#include "weave_rules.h"

/* Finds the calls in the body that the rule speaks of, in their order; *rows is owned by the
 * caller. Returns 0, -ENOENT when there are none, or -EEXIST when the rule does not say which of
 * them; with err_set. */
int weave_anchors(const struct cxx_code *code, const struct cxx_body *body,
                  const struct weave_rule *rule, size_t **rows, size_t *count);

struct weave_statement {
    size_t begin, end; /* rows; the end is the semicolon, or a place in the head of an if */
    size_t block;      /* of the brace around it */
};

/* The whole statement that the call at row `at` is in. Refused (-EINVAL with err_set) where a line
 * before it, or `after` it, could change what the program does. */
int weave_statement(const struct cxx_code *code, const struct cxx_body *body, size_t at, bool after,
                    struct weave_statement *statement);

/* The row behind which the block of the text at row `at` begins: its brace, or the colon of a
 * label. -EINVAL with err_set when no block follows. */
int weave_block(const struct cxx_code *code, const struct cxx_body *body, size_t at,
                const char *text, size_t *open);

/* Refuses (-EINVAL with err_set) a statement behind which no object may be declared: a label of the
 * switch around it, or a goto, would pass by its constructor. */
int weave_declarable(const struct cxx_code *code, const struct cxx_body *body,
                     const struct weave_statement *statement);

/* Whether the row's code is this text. */
bool weave_is(const struct cxx_code *code, size_t at, const char *text);

#endif
