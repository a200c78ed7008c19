/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_EVENT_CLASSES_H
#define OPTRAIL_EVENT_CLASSES_H

#include <babeltrace2/babeltrace.h>

#include <stdbool.h>

#include "event.h"

struct event_feed;

/* The trace that the event source tells of: one clock, one stream, one event class a point. Its
 * layout is that of the LTTng provider's events. */
struct event_classes {
    struct event_feed *feed; /* weak */
    bt_trace_class *trace_class;
    bt_trace *trace;
    bt_stream *stream;
    bt_event_class *points[POINT_COUNT];
};

/* Makes the trace. NULL when memory is short. Owned by the caller. */
struct event_classes *event_classes_new(bt_self_component *self, struct event_feed *feed);
void event_classes_free(struct event_classes *classes); /* NULL is fine */

/* The class of a point's events (point < POINT_COUNT). Weak. */
static inline const bt_event_class *event_classes_get(const struct event_classes *classes,
                                                      uint16_t point)
{
    return classes->points[point];
}

/* Writes the payload and the cpu of `from` into an event made from its point's class. False,
 * without a message, for want of memory: only an event with a text needs any. */
bool event_classes_fill(bt_event *event, const struct optrail_event *from);

#endif
