/* SPDX-License-Identifier: MIT */
#include "trace_source.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "bt_error.h"
#include "err.h"

int trace_source_open(struct trace_source *source)
{
    /* babeltrace2's own directory alone: what BABELTRACE_PLUGIN_PATH or ~/.local hold is another's
     * business, and may be anything */
    if (bt_plugin_find("ctf", BT_FALSE, BT_FALSE, BT_TRUE, BT_TRUE, BT_FALSE, &source->plugin) !=
        BT_PLUGIN_FIND_STATUS_OK) {
        bt_current_thread_clear_error();
        return err_set(ENOENT, "babeltrace2's plugin `ctf` was not found: install babeltrace2 "
                               "(Debian: libbabeltrace2-0)");
    }
    source->class = bt_plugin_borrow_source_component_class_by_name_const(source->plugin, "fs");
    if (!source->class)
        return err_set(ENOENT, "babeltrace2's plugin `ctf` has no source `fs`: is it too old?");
    return 0;
}

void trace_source_close(struct trace_source *source)
{
    bt_plugin_put_ref(source->plugin);
    source->plugin = NULL;
}

/* NULL with babeltrace2's error set when the trace cannot be opened. */
static const bt_component_source *add_component(struct trace_source *source, bt_graph *graph,
                                                const char *directory, const char *name)
{
    bt_value *parameters = bt_value_map_create();
    bt_value *inputs = NULL;
    const bt_component_source *component = NULL;

    if (parameters &&
        bt_value_map_insert_empty_array_entry(parameters, "inputs", &inputs) ==
            BT_VALUE_MAP_INSERT_ENTRY_STATUS_OK &&
        bt_value_array_append_string_element(inputs, directory) ==
            BT_VALUE_ARRAY_APPEND_ELEMENT_STATUS_OK &&
        bt_graph_add_source_component(graph, source->class, name, parameters, BT_LOGGING_LEVEL_NONE,
                                      &component) != BT_GRAPH_ADD_COMPONENT_STATUS_OK)
        component = NULL;
    bt_value_put_ref(parameters);
    return component;
}

int trace_source_add(struct trace_source *source, bt_graph *graph, const char *directory,
                     const bt_component_source **component, char *damage, size_t damage_size)
{
    char why[256];

    *component = add_component(source, graph, directory, directory);
    if (*component)
        return 0;
    bt_error_take(why, sizeof(why));
    snprintf(damage, damage_size, "%s: cannot be read: %s", directory, why);
    return 0;
}
