/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_WEAVE_RECORD_H
#define OPTRAIL_WEAVE_RECORD_H

#include <stdint.h>

#include "weave_tree.h"

/*
 * What was woven into a tree, kept in its file .optrail-woven: so that it can be taken out without
 * the rules, and what was edited since is told. One line a file: the sum of its text without our
 * lines, its name.
 */
#define WEAVE_RECORD ".optrail-woven"

struct weave_recorded {
    char *name;   /* below the tree; owned */
    uint64_t sum; /* of the text without our lines */
};

struct weave_record {
    struct weave_recorded *rows; /* owned */
    size_t count;
};

/* Tells texts apart; not against who wants to deceive. */
uint64_t weave_sum(const char *text, size_t size);

/* 0 with the record, empty when there is none (*there tells); or a negative errno with err_set: a
 * record that names files outside of the tree, or is none, is refused. */
int weave_record_read(const struct weave_tree *tree, struct weave_record *record, bool *there);

/* Writes the new record beside the old one. */
int weave_record_write_beside(const struct weave_tree *tree, const struct weave_record *record,
                              char **temporary);

/* Adds a row; the name is copied. */
int weave_record_add(struct weave_record *record, const char *name, uint64_t sum);

/* NULL when the file is not in it; weak. */
const struct weave_recorded *weave_record_find(const struct weave_record *record, const char *name);

void weave_record_free(struct weave_record *record);

#endif
