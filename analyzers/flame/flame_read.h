/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_FLAME_READ_H
#define OPTRAIL_FLAME_READ_H

#include "flame_fold.h"
#include "flame_lines.h"

/*
 * Files of stacks that others wrote. Whatever cannot be used is counted, with the numbers of its
 * lines (docs/flame.md).
 */
struct flame_read_options {
    unsigned side;     /* what the file's samples are of */
    const char *event; /* of perf's: only these; NULL: those of the first sample. Weak */
    bool two_columns;  /* collapsed: two numbers a line, of `side` and of the next one */
    /* Called now and then with the bytes read so far; may be NULL. */
    void (*progress)(void *context, uint64_t bytes);
    void *progress_context;
    const volatile int *stop; /* not NULL and not 0: enough was read */
};

struct flame_read_counts {
    uint64_t samples;      /* handed to the fold */
    uint64_t other_events; /* perf: of other events than the one that was chosen */
    uint64_t no_stack;     /* perf: samples that came without a stack */
    uint64_t rounded;      /* collapsed: counts with a fraction */
    char event[128];       /* perf: which one was chosen */
    struct flame_damage damage;
};

struct flame_reader {
    const char *name; /* as in --input NAME */
    const char *text;
    uint32_t attributes; /* what its samples know: bits of enum flame_attribute */
    bool timed;          /* whether they may know when they were */
    bool events;         /* whether they may be of several events */
    /* How many of the first lines of the text, the beginning of a file, are of this kind: one odd
     * line does not make it another. */
    size_t (*looks_like)(const char *text, size_t length);
    /* Reads to the end. Negative errno with the message: the file cannot be read on, or memory. */
    int (*read)(struct flame_lines *lines, const struct flame_read_options *options,
                struct flame_fold *fold, struct flame_read_counts *counts);
};

/* NULL with a message that lists the names. */
const struct flame_reader *flame_reader_by_name(const char *name);

/* The kind of file that the lines are: `name`, or that of most of the first ones when it is NULL.
 * NULL with the message when it is none of them, or a saved profile, which has no stacks. */
const struct flame_reader *flame_reader_of(struct flame_lines *lines, const char *name);

extern const struct flame_reader flame_read_collapsed, flame_read_perf;

/* Whether the text, the beginning of collapsed stacks, has two columns, each with a number: a
 * comparison. */
bool flame_has_two_columns(const char *text, size_t length);

#endif
