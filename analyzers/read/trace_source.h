/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TRACE_SOURCE_H
#define OPTRAIL_TRACE_SOURCE_H

#include <babeltrace2/babeltrace.h>

#include <stddef.h>

/* babeltrace2's source.ctf.fs, and what has to be done so that it reads damaged traces too. */
struct trace_source {
    const bt_plugin *plugin;                /* owned */
    const bt_component_class_source *class; /* weak: the plugin's */
    size_t staged_count;
    char **staged; /* temporary directories that stand for damaged traces; owned */
};

/* Finds the component class. Negative errno with the message. */
int trace_source_open(struct trace_source *source);

/* Adds a component that reads the trace in `directory` to the graph. When parts of the trace are
 * damaged, the component reads what is left, and `damage` says what is not; *component (weak) is
 * NULL when nothing is left. Negative errno only when memory is short or the like. */
int trace_source_add(struct trace_source *source, bt_graph *graph, const char *directory,
                     const bt_component_source **component, char *damage, size_t damage_size);

/* After the graph is gone. Removes the temporary directories. */
void trace_source_close(struct trace_source *source);

#endif
