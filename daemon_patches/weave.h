/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_WEAVE_H
#define OPTRAIL_WEAVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "weave_rules.h"

/* What became of a rule. */
enum weave_state { WEAVE_PLACED, WEAVE_ABSENT /* and optional */, WEAVE_REFUSED };

struct weave_outcome {
    enum weave_state state;
    const char *file;     /* below the tree; weak: of the rules; NULL: none of them is there */
    const char *function; /* that has the lines; weak: of the rules */
    char *reason;         /* owned; NULL when placed */
};

/* A line that is put into a file. */
struct weave_line {
    size_t offset; /* a line's beginning in the clean text */
    bool in_front; /* of a statement; else behind one */
    size_t rule;   /* its row; the number of rules: the #include */
    unsigned line; /* in the woven text, from 1 */
    char *text;    /* owned, with its line's end */
};

struct weave_file {
    const char *name; /* below the tree; weak: of the rules */
    char *path;       /* owned */
    mode_t mode;
    char *found, *clean, *woven; /* owned: as it is, without our lines, with them */
    size_t found_size, clean_size, woven_size;
    struct weave_line *lines; /* owned; in their order in the file */
    size_t line_count;
};

struct weaving {
    struct weave_outcome *outcomes; /* one a rule; owned */
    size_t outcome_count, refused;
    struct weave_file *files; /* owned */
    size_t file_count;
};

/* Reads the files of the tree that the rules name, and works out their new texts in memory. A rule
 * that has no place is an outcome, no error. 0, or a negative errno with err_set; free `weaving`
 * after success. */
int weave_prepare(const char *tree, const struct weave_rules *rules, struct weaving *weaving);

/* Gives the files their woven text, or the clean one: all are written beside the old ones first,
 * then renamed. Files that are as they should be are not touched; *changed counts the others.
 * -EINVAL and nothing done when it is not an undo and a rule was refused. */
int weave_write(const struct weaving *weaving, bool undo, size_t *changed);

/* Writes the unified diff from the clean to the woven texts. */
void weave_diff(const struct weaving *weaving, FILE *out);

void weaving_free(struct weaving *weaving);

#endif
