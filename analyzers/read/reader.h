/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_READER_H
#define OPTRAIL_READER_H

#include <stddef.h>
#include <stdint.h>

#include "event.h"

/*
 * babeltrace2 messages in, events out. babeltrace2's types stop behind this header, except for
 * sink_class.h, which the plugin shares.
 */

/* Who wants the events. Any callback may be NULL: not interested. A callback that returns a
 * negative errno stops the reading with the message it set. All are called from the thread that
 * runs the reader. */
struct event_consumer {
    void *context; /* weak */
    /* Events come in time order over all streams and traces. */
    int (*event)(void *context, const struct optrail_event *event);
    /* The tracer says that it discarded `count` events (0: unknown number) in [begin, end] ns. */
    int (*lost)(void *context, uint64_t count, uint64_t begin_ns, uint64_t end_ns);
};

/* What a run of the reader saw. */
struct read_counts {
    uint64_t events;       /* ours, delivered */
    uint64_t foreign;      /* events of other providers, passed over */
    uint64_t unknown;      /* ours by name, but with a point this optrail does not know */
    uint64_t malformed;    /* ours by name, but without the fields they must have */
    uint64_t lost;         /* discarded by the tracer, as far as it told a number */
    uint64_t lost_packets; /* discarded packets */
    uint64_t begin_ns;     /* first and last event of ours; 0 when there is none */
    uint64_t end_ns;
};

/* Reads the CTF traces below each of the `count` directories (as many traces as lie in them,
 * merged by time) and hands every event to the consumer.
 * Returns 0 and fills `counts`; a trace that breaks off or is damaged in its middle returns a
 * negative errno with the message, but what was read before it has been delivered and `counts`
 * is filled all the same. `*stop` (may be NULL), when it becomes non-zero, ends the reading
 * cleanly (SIGINT). */
int reader_run_traces(const char *const *directories, size_t count,
                      const struct event_consumer *consumer, const volatile int *stop,
                      struct read_counts *counts);

struct bt_component_class_source;

/* The same from a babeltrace2 source component: live events (bpf/source/event_source.h), or any
 * other. `data` is handed to the component as its initialise_method_data. The class stays the
 * caller's. Runs until the source ends. */
int reader_run_source(const struct bt_component_class_source *source, void *data,
                      const struct event_consumer *consumer, const volatile int *stop,
                      struct read_counts *counts);

#endif
