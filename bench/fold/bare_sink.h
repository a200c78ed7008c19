/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_BARE_SINK_H
#define OPTRAIL_BARE_SINK_H

#include <stdint.h>

/* Reads the trace with a babeltrace2 sink that takes the time and the five fields of every event
 * and drops them: the least that any analysis of these events costs. Its fields are found by their
 * places, without a look. One stream only. Returns the number of events; negative errno with the
 * message. */
int64_t bare_sink_run(const char *directory);

#endif
