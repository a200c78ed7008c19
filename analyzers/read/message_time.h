/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_MESSAGE_TIME_H
#define OPTRAIL_MESSAGE_TIME_H

#include <babeltrace2/babeltrace.h>

#include <stdbool.h>
#include <stdint.h>

/* Where a message belongs in time, ns from the clock's origin: of an event its time, of a loss its
 * beginning. False: it is handled when it comes (packets, the stream's beginning and end, losses of
 * which the tracer does not know when they were). The stream must have a clock. */
bool message_time(const bt_message *message, uint64_t *time);

/* ns from the clock's origin; 0 for a time that events of ours cannot have: before the origin, or
 * beyond what 64 bits hold. */
uint64_t message_snapshot_ns(const bt_clock_snapshot *snapshot);

/* Whether times by this clock can be compared with those by the first one. */
bool message_clocks_agree(const bt_clock_class *first, const bt_clock_class *clock);

#endif
