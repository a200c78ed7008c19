/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_IMPORT_H
#define OPTRAIL_IMPORT_H

#include <stddef.h>
#include <stdint.h>

#include "report.h"

/*
 * What other tools printed, as ops, figures and readings of the report. A reading is a verdict row:
 * it says what the evidence shows and no more. One text may hold the output of several tools.
 */
struct import;

/* A format: a row of import_formats. */
struct evidence {
    const char *name;      /* of the file, for people */
    const char *text;      /* repaired, ends with 0 */
    struct tolerant *json; /* the same text as a tree */
};

struct import_format {
    const char *name;
    const char *text; /* for the usage */
    /* Takes what is of this format, and returns how many pieces: ops, rows, lines. A failure is
     * kept in the import. */
    size_t (*read)(struct import *import, const struct evidence *evidence);
};

extern const struct import_format import_formats[]; /* ended by a row without name */

/* The format of that name; NULL with a message that lists the names. */
const struct import_format *import_format_by_name(const char *name);

/* The report is borrowed. */
int import_new(struct report *report, struct import **import);
void import_free(struct import *import);

/* Reads a file's bytes as one format, or (NULL) as whatever is found in it. `name` is what the
 * report calls it; messages leave it to the caller. -EBADMSG when nothing of it is found, or when
 * it is no text of bytes. */
int import_take(struct import *import, const struct import_format *format, const char *name,
                const char *bytes, size_t size);

/* When all files are taken: compares runs and fills the report's ops. */
int import_finish(struct import *import);

#endif
