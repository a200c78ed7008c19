/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_FLAME_LIVE_H
#define OPTRAIL_FLAME_LIVE_H

#include "flame_files.h"
#include "flame_render.h"
#include "flame_traces.h"
#include "target_options.h"

struct flame_live_options {
    const struct target_options *targets; /* weak; a process that is named by its number need not be
                                             a storage daemon */
    double seconds;                       /* 0: until a signal, or until they have ended */
    uint32_t rate;
};

/* Samples running processes and hands the tree to `deliver`, as flame_run_traces does; returns what
 * that does. Negative errno with the message: -EINVAL for wrong use. */
int flame_run_live(const struct flame_request *request, const struct flame_live_options *options,
                   const struct flame_renderer *renderer,
                   int (*deliver)(const struct flame_renderer *renderer,
                                  const struct flame_result *made, int result, FILE *said));

#endif
