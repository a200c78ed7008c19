/* SPDX-License-Identifier: MIT */
#include "trace_source.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "bt_error.h"
#include "err.h"
#include "salvage.h"

/* Loaded once and kept: plugins are not made for being unloaded and loaded again. */
static const bt_plugin *ctf_plugin;

int trace_source_open(struct trace_source *source)
{
    /* babeltrace2's own directory alone: what BABELTRACE_PLUGIN_PATH or ~/.local hold is another's
     * business, and may be anything */
    if (!ctf_plugin && bt_plugin_find("ctf", BT_FALSE, BT_FALSE, BT_TRUE, BT_TRUE, BT_FALSE,
                                      &ctf_plugin) != BT_PLUGIN_FIND_STATUS_OK) {
        bt_current_thread_clear_error();
        ctf_plugin = NULL;
        return err_set(ENOENT, "babeltrace2's plugin `ctf` was not found: install babeltrace2 "
                               "(Debian: libbabeltrace2-0)");
    }
    source->class = bt_plugin_borrow_source_component_class_by_name_const(ctf_plugin, "fs");
    if (!source->class)
        return err_set(ENOENT, "babeltrace2's plugin `ctf` has no source `fs`: is it too old?");
    return 0;
}

void trace_source_close(struct trace_source *source)
{
    for (size_t i = 0; i < source->stand_in_count; i++)
        salvage_remove(source->stand_ins[i]);
    free(source->stand_ins);
    *source = (struct trace_source){0};
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

/* Whether a trace can be opened, tried in a graph of its own: a graph to which a component could
 * not be added is of no more use. `why` (may be NULL): the reason if not. */
static bool opens(struct trace_source *source, const char *directory, char *why, size_t why_size)
{
    bt_graph *graph = bt_graph_create(0);
    bool fine = graph && add_component(source, graph, directory, "trial");

    if (why)
        bt_error_take(why, why_size);
    else
        bt_current_thread_clear_error();
    bt_graph_put_ref(graph);
    return fine;
}

/* What a salvage needs to know, and whom it tells. */
struct trial {
    struct trace_source *source;
    void (*damaged)(void *context, const char *text);
    void *context;
    size_t told;
};

static bool trial_opens(void *context, const char *directory)
{
    return opens(((struct trial *)context)->source, directory, NULL, 0);
}

static void trial_damaged(void *context, const char *text)
{
    struct trial *trial = context;

    trial->told++;
    trial->damaged(trial->context, text);
}

/* Takes the stand-in's path, also when it fails. */
static int keep_stand_in(struct trace_source *source, char *stand_in)
{
    char **bigger =
        reallocarray(source->stand_ins, source->stand_in_count + 1, sizeof(*source->stand_ins));

    if (!bigger) {
        salvage_remove(stand_in);
        return err_no_memory();
    }
    source->stand_ins = bigger;
    bigger[source->stand_in_count++] = stand_in;
    return 0;
}

int trace_source_add(struct trace_source *source, bt_graph *graph, const char *directory,
                     void (*damaged)(void *context, const char *text), void *context,
                     const bt_component_source **component)
{
    struct trial trial = {.source = source, .damaged = damaged, .context = context};
    const struct salvage salvage = {
        .opens = trial_opens, .damaged = trial_damaged, .context = &trial};
    char why[256], text[512], *stand_in = NULL;
    const char *readable = directory;
    int result;

    *component = NULL;
    snprintf(why, sizeof(why), "its last packet was never closed");
    if (salvage_is_needed(directory) || !opens(source, directory, why, sizeof(why))) {
        result = salvage_trace(&salvage, directory, &stand_in);
        if (result <= 0)
            return result;
        result = keep_stand_in(source, stand_in);
        if (result < 0)
            return result;
        if (!opens(source, stand_in, NULL, 0)) {
            snprintf(text, sizeof(text), "%s: cannot be read: %s", directory, why);
            if (trial.told == 0) /* else it is known which part of it cannot */
                damaged(context, text);
            return 0;
        }
        readable = stand_in;
    }
    *component = add_component(source, graph, readable, directory);
    if (*component)
        return 0;
    bt_error_take(why, sizeof(why));
    return err_set(EIO, "%s: could be opened once, but not again: %s", directory, why);
}
