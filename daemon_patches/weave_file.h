/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_WEAVE_FILE_H
#define OPTRAIL_WEAVE_FILE_H

#include "weave_record.h"

/* A line that is put into a file. */
struct weave_line {
    size_t offset; /* a line's beginning in the clean text */
    bool in_front; /* of a statement; else behind one */
    size_t rule;   /* its row among the outcomes; their number: the #include */
    unsigned line; /* in the woven text, from 1 */
    char *text;    /* owned, with its line's end */
};

/* A file of the tree: as it is, without our lines, with them. */
struct weave_file {
    const char *name; /* below the tree; weak: of the rules, or the record */
    struct weave_access access;
    char *found, *clean, *woven; /* owned */
    size_t found_size, clean_size, woven_size;
    struct weave_line *lines; /* owned; in their order in the file */
    size_t line_count;
};

/* Reads the file and takes our lines out of the text. 0, -ENOENT, or another negative errno; with
 * err_set. */
int weave_file_read(const struct weave_tree *tree, const char *name, struct weave_file *file);

/* The line's end of the line above the offset in the clean text. */
const char *weave_file_line_end(const struct weave_file *file, size_t offset);

/* Adds a line; takes ownership of `text`, even when it fails. Lines with one offset keep their
 * order, but what stands behind a statement comes before what stands in front of the next. */
int weave_file_add(struct weave_file *file, size_t offset, bool in_front, size_t rule, char *text);

/* Puts the lines into the clean text, and tells each which line it is. */
int weave_file_make_woven(struct weave_file *file);

void weave_file_free(struct weave_file *file);

#endif
