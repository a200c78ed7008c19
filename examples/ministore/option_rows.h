/* SPDX-License-Identifier: MIT */
#ifndef MINISTORE_OPTION_ROWS_H
#define MINISTORE_OPTION_ROWS_H

#include <stddef.h>
#include <stdint.h>

/* Command-line options as rows: parser and help are made from them. */

enum option_kind {
    OPTION_NUMBER, /* uint64_t */
    OPTION_BYTES,  /* uint64_t; K, M and G are understood */
    OPTION_TIME,   /* uint64_t, ns: 200us, 1ms, 2s */
    OPTION_CHOICE, /* uint64_t: which of the words */
    OPTION_TEXT,   /* const char *: the argument's own memory */
    OPTION_SWITCH, /* uint64_t: 1 when given; takes no argument */
    OPTION_CALL    /* set(argument) */
};

#define OPTION_CHOICES_MAX 3

struct option_row {
    const char *name;
    enum option_kind kind;
    const char *argument; /* for the help */
    size_t field;         /* where in the options' struct */
    uint64_t preset, minimum, maximum;
    const char *choices[OPTION_CHOICES_MAX];
    int (*set)(const char *text); /* 0, or -1 after a message */
    const char *text;
};

/* Sets all options to their presets, then those that the arguments name. Words that are no option
 * go to `words` in their order, at most `word_limit`. Their number; -1 after a message; -2 when
 * --help is asked for. */
int option_rows_parse(const struct option_row *rows, size_t row_count, void *options, int argc,
                      char **argv, const char **words, int word_limit);

/* One line an option to standard output. */
void option_rows_help(const struct option_row *rows, size_t row_count);

#endif
