/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_FLAME_FILES_H
#define OPTRAIL_FLAME_FILES_H

#include "flame_fold.h"
#include "flame_read.h"

/* What `optrail flame` is asked to do, as far as its sources need to know. All weak. */
struct flame_request {
    int input_count;
    char **inputs;      /* with `compare` the first one is before, the others are after */
    bool just_recorded; /* of running daemons: the input is a trace that nobody else knows of */
    bool compare;
    struct flame_options options;
    bool by_given;     /* options.by is what the user wants: else what suits the source */
    const char *input; /* --input; NULL: found out */
    const char *event; /* --event */
    bool idle;         /* --idle: also waits of threads that have nothing to do */
    bool wakers;       /* --wakers: on a sleep stand the stacks of who ended it */
    double tail;       /* --tail as a fraction; 0: all */
    const char *path;  /* --path */
};

/* Whether the inputs are files of stacks. -EINVAL with the message when they are neither all files
 * nor all traces. */
int flame_inputs_are_files(const struct flame_request *request);

/* Reads the files. *tree, finished, is the caller's. Negative errno with the message; what could be
 * read of damaged files is in *tree all the same when it is not NULL. */
int flame_read_files(const struct flame_request *request, struct flame_tree **tree);

#endif
