/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_EVENT_PUMP_H
#define OPTRAIL_EVENT_PUMP_H

#include <babeltrace2/babeltrace.h>

#include <stdbool.h>

#include "reader.h"

/*
 * The inside of a babeltrace2 sink component: pulls messages from its input ports, merges them by
 * time and hands events to a consumer. The reader's own sink and the plugin's are made of it.
 *
 * It merges by itself, instead of behind flt.utils.muxer, because the muxer ends with the first
 * stream that is damaged, and takes all the others with it; here they are read to their end.
 */
struct event_pump;

/* `consumer` and `stop` (may be NULL) as in reader.h, weak. Owned by the caller. */
int event_pump_new(const struct event_consumer *consumer, const volatile int *stop,
                   struct event_pump **pump);
void event_pump_free(struct event_pump *pump); /* NULL is fine */

/* Connects to an input port of the component: call it for each from the sink's
 * graph_is_configured method. `name`: what messages call the input ("/tmp/trace"); copied.
 * `known_damaged`: that it breaks off was told already, and is not told again. */
int event_pump_add_input(struct event_pump *pump, bt_self_component_sink *self,
                         bt_self_component_port_input *port, const char *name, bool known_damaged);

/* The sink's consume method: delivers some events. On OK, call it again. ERROR only when the
 * consumer failed or memory is short. */
bt_component_class_sink_consume_method_status event_pump_consume(struct event_pump *pump);

/* Notes that a part of the data could not be read: what the first such call says is what
 * event_pump_result() returns. */
void event_pump_damage(struct event_pump *pump, const char *text);

/* After the end: 0, or the negative errno of what went wrong, with the message set. */
int event_pump_result(const struct event_pump *pump);

const struct read_counts *event_pump_counts(const struct event_pump *pump);

/* Counts a call of babeltrace2 that opens a trace or asks for messages; why it must not be made
 * (weak: the watch's), or NULL. `watch` may be NULL. */
const char *event_pump_call(struct read_watch *watch);

#endif
