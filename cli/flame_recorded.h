/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_FLAME_RECORDED_H
#define OPTRAIL_FLAME_RECORDED_H

#include "flame_live.h"

/* Whether what is asked for of running daemons needs their ops' events: then a trace is recorded
 * and drawn, in place of samples alone. */
bool flame_needs_events(const struct flame_request *request, const struct flame_renderer *renderer);

/* Records events and samples of running daemons into a temporary trace, as `optrail record` does,
 * draws that as flame_run_traces does, and removes it. Negative errno with the message: -EINVAL for
 * wrong use. */
int flame_run_recorded(const struct flame_request *request,
                       const struct flame_live_options *options,
                       const struct flame_renderer *renderer, size_t timeline_ops,
                       int (*deliver)(const struct flame_renderer *renderer,
                                      const struct flame_result *made, int result, FILE *said));

#endif
