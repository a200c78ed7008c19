/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TRACE_SOURCE_H
#define OPTRAIL_TRACE_SOURCE_H

#include <babeltrace2/babeltrace.h>

#include <stddef.h>

/* babeltrace2's source.ctf.fs, and what has to be done so that it reads damaged traces too. */
struct trace_source {
    const bt_component_class_source *class; /* weak: the plugin's, which stays loaded */
    size_t stand_in_count;
    char **stand_ins; /* temporary directories that stand for damaged traces; owned */
};

/* Finds the component class. Negative errno with the message. Not thread-safe. */
int trace_source_open(struct trace_source *source);

/* Adds a component that reads the trace in `directory` to the graph. When parts of the trace are
 * damaged, `damaged` is told (one sentence a part, naming the file) and the component reads what is
 * left; *component (weak) is NULL when nothing is. Negative errno with the message when there is no
 * room or no memory for that. */
int trace_source_add(struct trace_source *source, bt_graph *graph, const char *directory,
                     void (*damaged)(void *context, const char *text), void *context,
                     const bt_component_source **component);

/* After the graph is gone. Removes the temporary directories. */
void trace_source_close(struct trace_source *source);

#endif
