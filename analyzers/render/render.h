/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_RENDER_H
#define OPTRAIL_RENDER_H

#include <stdbool.h>
#include <stdio.h>

#include "report.h"

struct render_options {
    bool color;     /* ANSI colours: only to a terminal */
    int width;      /* columns; 0: 100 */
    bool all_locks; /* also those that hardly anybody waits for */
    bool tails;     /* all about slow ops, the slowest ones as waterfalls */
};

/* A renderer turns a report into one format and reads nothing but the report. */
struct renderer {
    const char *name; /* as in --format NAME */
    const char *text; /* for the usage */
    /* Writes to `out`. 0, or a negative errno with the message (the disk is full, say). */
    int (*render)(const struct report *report, const struct render_options *options, FILE *out);
    bool windows; /* draws ops over time: the analysis has to keep them (report->heat) */
};

/* All renderers, ended by a row without name. */
extern const struct renderer renderers[];

/* The renderer of that name; NULL with a message that lists the names. */
const struct renderer *renderer_by_name(const char *name);

#endif
