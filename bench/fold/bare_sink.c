/* SPDX-License-Identifier: MIT */
#include "bare_sink.h"

#include <babeltrace2/babeltrace.h>

#include <errno.h>
#include <stdbool.h>

#include "err.h"

struct bare_sink {
    bt_message_iterator *iterator;
    int64_t events;
    uint64_t sum; /* so that the reading is not optimised away */
};

static bt_graph_simple_sink_component_initialize_func_status initialize(bt_message_iterator *it,
                                                                        void *data)
{
    ((struct bare_sink *)data)->iterator = it;
    return BT_GRAPH_SIMPLE_SINK_COMPONENT_INITIALIZE_FUNC_STATUS_OK;
}

static void take(struct bare_sink *sink, const bt_message *message)
{
    const bt_field *payload;
    int64_t ns;

    if (bt_message_get_type(message) != BT_MESSAGE_TYPE_EVENT)
        return;
    payload = bt_event_borrow_payload_field_const(bt_message_event_borrow_event_const(message));
    bt_clock_snapshot_get_ns_from_origin(
        bt_message_event_borrow_default_clock_snapshot_const(message), &ns);
    sink->sum += (uint64_t)ns;
    for (uint64_t i = 0; i < 5; i++)
        sink->sum += bt_field_integer_unsigned_get_value(
            bt_field_structure_borrow_member_field_by_index_const(payload, i));
    sink->events++;
}

static bt_graph_simple_sink_component_consume_func_status consume(bt_message_iterator *it,
                                                                  void *data)
{
    bt_message_array_const messages;
    uint64_t count;

    switch (bt_message_iterator_next(it, &messages, &count)) {
    case BT_MESSAGE_ITERATOR_NEXT_STATUS_OK:
        break;
    case BT_MESSAGE_ITERATOR_NEXT_STATUS_END:
        return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_END;
    default:
        return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_ERROR;
    }
    for (uint64_t i = 0; i < count; i++) {
        take(data, messages[i]);
        bt_message_put_ref(messages[i]);
    }
    return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_OK;
}

/* The trace's source and the sink, connected. */
static bool build(bt_graph *graph, const bt_plugin *plugin, const char *directory,
                  struct bare_sink *data)
{
    bt_value *parameters = bt_value_map_create(), *inputs = NULL;
    const bt_component_source *source;
    const bt_component_sink *sink;
    bool fine;

    fine = parameters &&
           bt_value_map_insert_empty_array_entry(parameters, "inputs", &inputs) ==
               BT_VALUE_MAP_INSERT_ENTRY_STATUS_OK &&
           bt_value_array_append_string_element(inputs, directory) ==
               BT_VALUE_ARRAY_APPEND_ELEMENT_STATUS_OK &&
           bt_graph_add_source_component(
               graph, bt_plugin_borrow_source_component_class_by_name_const(plugin, "fs"), "source",
               parameters, BT_LOGGING_LEVEL_NONE, &source) == BT_GRAPH_ADD_COMPONENT_STATUS_OK &&
           bt_graph_add_simple_sink_component(graph, "bare", initialize, consume, NULL, data,
                                              &sink) == BT_GRAPH_ADD_COMPONENT_STATUS_OK &&
           bt_component_source_get_output_port_count(source) == 1 &&
           bt_graph_connect_ports(graph,
                                  bt_component_source_borrow_output_port_by_index_const(source, 0),
                                  bt_component_sink_borrow_input_port_by_index_const(sink, 0),
                                  NULL) == BT_GRAPH_CONNECT_PORTS_STATUS_OK;
    bt_value_put_ref(parameters);
    return fine;
}

int64_t bare_sink_run(const char *directory)
{
    struct bare_sink data = {0};
    const bt_plugin *plugin = NULL;
    bt_graph *graph = bt_graph_create(0);
    bool fine = graph &&
                bt_plugin_find("ctf", BT_FALSE, BT_FALSE, BT_TRUE, BT_TRUE, BT_FALSE, &plugin) ==
                    BT_PLUGIN_FIND_STATUS_OK &&
                build(graph, plugin, directory, &data) &&
                bt_graph_run(graph) == BT_GRAPH_RUN_STATUS_OK;

    bt_current_thread_clear_error();
    bt_graph_put_ref(graph);
    bt_plugin_put_ref(plugin);
    if (!fine || data.sum == 0)
        return err_set(EIO, "%s: the bare sink cannot read it", directory);
    return data.events;
}
