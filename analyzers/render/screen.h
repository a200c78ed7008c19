/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_SCREEN_H
#define OPTRAIL_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "report.h"
#include "screen_history.h"

/*
 * The live screen: a page of text made from reports and nothing else, so that it can be tested
 * without a terminal. Who shows it moves the cursor and reads the keys.
 */
enum screen_sort { SCREEN_BY_PATH, SCREEN_BY_SHARE, SCREEN_BY_P99, SCREEN_SORT_COUNT };

struct screen_view {
    size_t columns, lines;
    bool utf8;  /* else ASCII alone */
    bool color; /* with ANSI colours */
    bool paused;
    bool help;        /* the keys in place of the stages */
    bool whole_run;   /* figures of the whole run, not of the last interval */
    const char *type; /* the op type that is looked at; NULL or unknown: the first one */
    enum screen_sort sort;
    double interval_seconds; /* what a value of the history stands for */
    const char *message;     /* for the last line, in place of the keys; NULL: none */
};

struct screen {
    const struct report *whole;    /* since the beginning: names the op types, and what was lost */
    const struct report *interval; /* the last interval */
    const struct screen_history *history;
    struct screen_view view;
};

/* Writes at most view.lines lines of at most view.columns columns, each ended by a newline. Does
 * not check `out`. */
void screen_render(const struct screen *screen, FILE *out);

/* The same as plain lines for a log: one block an interval, no colours, any number of lines.
 * `clock` begins the first one. */
void screen_plain(const struct screen *screen, const char *clock, FILE *out);

/* The op type that view.type means: an index into whole->ops; 0 when there is none. */
size_t screen_chosen_type(const struct screen *screen);

#endif
