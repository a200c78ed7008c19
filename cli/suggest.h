/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_SUGGEST_H
#define OPTRAIL_SUGGEST_H

#include <stdbool.h>

#include <stddef.h>

/* Which of some names was meant by a mistyped word: the one with the fewest changed, missing, added
 * or swapped letters, if they are few enough. */
struct suggestion {
    const char *word; /* weak */
    size_t length;
    size_t distance;
    const char *nearest; /* weak; NULL: none is near */
};

void suggest_begin(struct suggestion *suggestion, const char *word, size_t length);
void suggest_try(struct suggestion *suggestion, const char *name);

/* --format of a list that is no report. -EINVAL, with the message, when it is neither. */
int format_is_json(const char *format, bool *json);

#endif
