/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TRACE_FACTS_H
#define OPTRAIL_TRACE_FACTS_H

#include <babeltrace2/babeltrace.h>

#include "reader.h"

/* Adds what the environment of a trace tells, if optrail recorded it, to `told`. Call it once for
 * each trace. */
void trace_facts_read(const bt_trace *trace, struct read_told *told);

#endif
