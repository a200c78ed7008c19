/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_EVENT_SOURCE_H
#define OPTRAIL_EVENT_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "event.h"

struct bt_component_class_source;

/*
 * A babeltrace2 source component that turns our records into messages: what eBPF rings deliver
 * live, and what text fixtures say in tests. Its events look exactly like those of the LTTng
 * provider: class `optrail:<identifier>`, payload pid, tid, key and the two arguments by the names
 * of the catalogue; one stream, clock `monotonic` in ns.
 */

/* Something that is known of the whole trace. In the trace it is an entry of the environment. */
struct event_fact {
    const char *name; /* weak; an identifier: "store"; NULL ends a list */
    const char *text; /* weak; NULL: the fact is the number */
    uint64_t number;
};

/* Where the records come from. Owned by the caller; must outlive the graph. */
struct event_feed {
    void *context; /* weak */
    /* Fills up to `capacity` events, in time order, also over calls. Returns how many; 0: the end;
     * -EAGAIN: none now, ask again (it may wait for some 100 ms itself, so that asking is no
     * spinning); any other negative errno: failure, with the message. The texts of events that
     * have one stay where they are until the next call; an address of another process must not
     * come along (0: no text). */
    int (*next)(void *context, struct optrail_event *events, size_t capacity);
    /* How many events were lost since the last call, and between which times; 0: none. May be
     * NULL. */
    uint64_t (*lost)(void *context, uint64_t *begin_ns, uint64_t *end_ns);
    const struct event_fact *facts; /* weak; NULL: none */
};

/* Makes the component class `source.optrail.events`; its initialise_method_data is a
 * struct event_feed *. The caller puts the reference. NULL with the message when it fails. */
const struct bt_component_class_source *event_source_class_create(void);

#endif
