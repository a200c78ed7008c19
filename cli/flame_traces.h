/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_FLAME_TRACES_H
#define OPTRAIL_FLAME_TRACES_H

#include "flame_files.h"
#include "flame_render.h"

/* What was made of the inputs: one of the two. */
struct flame_result {
    const char *what; /* for the title; static */
    struct flame_tree *tree;
    struct flame_timeline *timeline;
};

/* What is seen in a graph of these kinds: for the title. Static. */
const char *flame_what(uint32_t kinds);

/* Reads traces in a child process (supervise.h), makes what the renderer wants and hands it to
 * `deliver` there, with the result and message so far, and where to say what is to be said; returns
 * what that does. */
int flame_run_traces(const struct flame_request *request, const struct flame_renderer *renderer,
                     size_t timeline_ops,
                     int (*deliver)(const struct flame_renderer *renderer,
                                    const struct flame_result *made, int result, FILE *said));

#endif
