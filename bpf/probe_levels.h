/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_PROBE_LEVELS_H
#define OPTRAIL_PROBE_LEVELS_H

#include <stddef.h>

#include "probe_map.h"
#include "target.h"

/* How many probes a daemon would get at each level of detail, by enum probe_detail; 0: that level
 * cannot be probed, for there is no map, or the program lacks a function that the level requires.
 * A daemon with probes of its own gets all of them at every level. Found from the program's file
 * alone: nothing is probed, and no privilege is needed but to read it. What the code at a
 * function's entry allows is found out only when it is probed. Negative, with the message, when the
 * file cannot be read. Any thread. */
int probe_levels_read(const struct target *target, size_t probes[DETAIL_COUNT]);

#endif
