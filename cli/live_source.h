/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_LIVE_SOURCE_H
#define OPTRAIL_LIVE_SOURCE_H

#include <stdbool.h>

#include "report.h"
#include "tracer.h"

/* What the verbs that trace a running daemon have in common. */

/* The map for a daemon without probes of its own; *map is NULL for one with. `exact`: it is the
 * map of the daemon's very version. The caller frees it. */
int live_source_map(const struct target *target, struct probe_map **map, bool *exact);

/* One line on standard error: what is traced, how, and what is left out; whose map it is when it is
 * not exact, and whether it was ever tried. `map` may be NULL. */
void live_source_announce(const struct target *target, struct tracer *tracer, bool exact,
                          const struct probe_map *map);

/* What a report says of its source beyond the events: the daemon, what the tracer alone has
 * counted, and what was not probed. 0 or -ENOMEM. */
int live_source_describe(struct report *report, const struct target *target, struct tracer *tracer);

/* The same with these counts, where the tracer has had predecessors. */
int live_source_describe_with(struct report *report, const struct target *target,
                              struct tracer *tracer, const struct tracer_counts *counts);

#endif
