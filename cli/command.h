/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_COMMAND_H
#define OPTRAIL_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * A verb is a row, an option is a row; the parser, --help and the manual pages are made from them.
 */

/* Exit statuses of the command. */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_WRONG_USE = 2 };

enum option_type {
    OPTION_FLAG,    /* bool */
    OPTION_STRING,  /* const char *, weak: into argv */
    OPTION_NUMBER,  /* int64_t, between `minimum` and `maximum` */
    OPTION_SECONDS, /* double, between `minimum` and `maximum`: 0.05, 50ms, 2s */
    OPTION_WORDS,   /* struct option_words: given several times, or with commas, or both */
};

/* Words that were given one by one or with commas between them. */
struct option_words {
    size_t count;
    struct option_word {
        const char *text; /* weak: into argv; not ended by '\0' where a comma stands */
        size_t length;    /* at least 1 */
    } words[64];
};

struct option_row {
    const char *name; /* "osd" for --osd; NULL ends the list */
    char letter;      /* 'p' for -p; 0: none */
    enum option_type type;
    const char *argument; /* "PID", as usage shows it; NULL for a flag */
    void *value;          /* where to put it; weak */
    double minimum, maximum;
    bool *given; /* set when the option was there; may be NULL */
    const char *text;
};

struct command {
    const char *name;
    const char *arguments; /* "TRACE...", as usage shows them; "" */
    const char *summary;   /* one line */
    const char *text;      /* paragraphs for --help and the manual, parted by empty lines */
    const char *examples;  /* lines "command\twhat it does" */
    const struct option_row *options; /* ended by a row without name */
    int minimum_arguments;
    int maximum_arguments; /* -1: any number */
    /* Runs the verb with what is left of argv behind the options. Returns 0 or a negative errno
     * with err_message() set: -EINVAL means wrong use (exit 2), any other failure (exit 1). */
    int (*run)(int argc, char **argv);
};

/* Parses the options of `command` out of argv (its own name first); on success *argc and argv hold
 * the rest, without the name. -EINVAL with the message for wrong use; 1 when --help was asked for
 * and has been printed. */
int command_parse(const struct command *command, int *argc, char **argv);

void command_usage(const struct command *command, FILE *out);  /* --help */
void command_manual(const struct command *command, FILE *out); /* troff man page */

/* All verbs, NULL-terminated, in the order in which help lists them. */
extern const struct command *const commands[];

#endif
