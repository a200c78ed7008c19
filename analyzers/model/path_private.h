/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_PATH_PRIVATE_H
#define OPTRAIL_PATH_PRIVATE_H

#include "path.h"

/* What a stage says in the file before its names are looked up. Strings are weak: they belong to
 * the parsed document. */
struct stage_names {
    const char *within; /* NULL: none */
    const char *branch; /* NULL: the main line */
};

/* Checks what can only be known once the whole file has been read, and puts the stages in order:
 * an outer one before those within it. `names` has a row a stage, in the order of path->stages. */
int path_check(struct path *path, struct stage_names *names);

/* An empty path; NULL with the message. */
struct path *path_new(const char *file);

#endif
