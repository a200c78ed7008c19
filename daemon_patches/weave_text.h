/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_WEAVE_TEXT_H
#define OPTRAIL_WEAVE_TEXT_H

#include "weave_rules.h"

/* What the mark at the end of our lines begins and ends with; the rule's name is between. */
#define WEAVE_MARK_BEGIN " /* optrail:"
#define WEAVE_MARK_END   " */"
/* The same in a build file; it ends with the name. */
#define WEAVE_BUILD_MARK " # optrail:"

/* Why a rule's text is no call that can stand in a line of its own, or behind `if (...)`; NULL when
 * it is one. What it calls is left to the compiler. */
const char *weave_call_wrong(const char *text);

/* The statement that makes a rule's call, one line without its end, owned by the caller; NULL when
 * there is no memory. At the exit of a block an object's destructor makes the call, so that each
 * return and each exception passes it: C++98 and later. `number` tells the objects of a rule apart
 * that are made in one function. */
char *weave_statement_text(const struct weave_rule *rule, enum weave_text text, unsigned number);

#endif
