/* SPDX-License-Identifier: MIT */
#include "reader.h"

#include <babeltrace2/babeltrace.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bt_error.h"
#include "err.h"
#include "event_pump.h"
#include "trace_source.h"
#include "trace_search.h"

/* One output port of a source, and what messages call it. */
struct output {
    const bt_port_output *port; /* weak: the graph's */
    const char *name;           /* weak */
    bool known_damaged;
};

struct reader {
    bt_graph *graph;
    struct event_pump *pump;
    size_t output_count;
    struct output *outputs;
};

/* The sink component, around the pump: as many input ports as there are outputs. */

static bt_component_class_initialize_method_status
sink_initialize(bt_self_component_sink *self, bt_self_component_sink_configuration *configuration,
                const bt_value *params, void *data)
{
    struct reader *reader = data;

    (void)configuration;
    (void)params;
    for (size_t i = 0; i < reader->output_count; i++) {
        char name[32];
        snprintf(name, sizeof(name), "in%zu", i);
        if (bt_self_component_sink_add_input_port(self, name, NULL, NULL) !=
            BT_SELF_COMPONENT_ADD_PORT_STATUS_OK)
            return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_ERROR;
    }
    bt_self_component_set_data(bt_self_component_sink_as_self_component(self), reader);
    return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_OK;
}

static bt_component_class_sink_graph_is_configured_method_status
sink_configured(bt_self_component_sink *self)
{
    struct reader *reader =
        bt_self_component_get_data(bt_self_component_sink_as_self_component(self));

    for (size_t i = 0; i < reader->output_count; i++) {
        if (event_pump_add_input(reader->pump, self,
                                 bt_self_component_sink_borrow_input_port_by_index(self, i),
                                 reader->outputs[i].name, reader->outputs[i].known_damaged) < 0)
            return BT_COMPONENT_CLASS_SINK_GRAPH_IS_CONFIGURED_METHOD_STATUS_MEMORY_ERROR;
    }
    return BT_COMPONENT_CLASS_SINK_GRAPH_IS_CONFIGURED_METHOD_STATUS_OK;
}

static bt_component_class_sink_consume_method_status sink_consume(bt_self_component_sink *self)
{
    struct reader *reader =
        bt_self_component_get_data(bt_self_component_sink_as_self_component(self));

    return event_pump_consume(reader->pump);
}

static bt_component_class_sink *sink_class_create(void)
{
    bt_component_class_sink *class = bt_component_class_sink_create("reader", sink_consume);

    if (!class)
        return NULL;
    bt_component_class_sink_set_initialize_method(class, sink_initialize);
    bt_component_class_sink_set_graph_is_configured_method(class, sink_configured);
    return class;
}

/* An error of babeltrace2 that is not about one trace. */
static int complain(const char *what)
{
    char why[256];

    bt_error_take(why, sizeof(why));
    return err_set(EIO, "babeltrace2: %s%s%s", what, why[0] ? ": " : "", why);
}

static int reader_open(struct reader *reader, const struct event_consumer *consumer,
                       const volatile int *stop)
{
    *reader = (struct reader){0};
    /* what goes wrong comes back as an error, and is told once */
    bt_logging_set_global_level(BT_LOGGING_LEVEL_NONE);
    reader->graph = bt_graph_create(0);
    if (!reader->graph)
        return complain("no graph can be made");
    if (consumer->watch)
        consumer->watch->call = 0;
    return event_pump_new(consumer, stop, &reader->pump);
}

/* All output ports of a source, under one name (weak). */
static int add_outputs(struct reader *reader, const bt_component_source *source, const char *name,
                       bool known_damaged)
{
    uint64_t count = bt_component_source_get_output_port_count(source);
    struct output *bigger =
        reallocarray(reader->outputs, reader->output_count + count + 1, sizeof(*bigger));

    if (!bigger)
        return err_no_memory();
    reader->outputs = bigger;
    for (uint64_t i = 0; i < count; i++)
        reader->outputs[reader->output_count++] = (struct output){
            .port = bt_component_source_borrow_output_port_by_index_const(source, i),
            .name = name,
            .known_damaged = known_damaged,
        };
    return 0;
}

static int connect_sink(struct reader *reader)
{
    bt_component_class_sink *class = sink_class_create();
    const bt_component_sink *sink = NULL;
    int result = 0;

    if (!class || bt_graph_add_sink_component_with_initialize_method_data(
                      reader->graph, class, "optrail", NULL, reader, BT_LOGGING_LEVEL_NONE,
                      &sink) != BT_GRAPH_ADD_COMPONENT_STATUS_OK)
        result = complain("the sink cannot be made");
    bt_component_class_sink_put_ref(class);
    for (size_t i = 0; result == 0 && i < reader->output_count; i++)
        if (bt_graph_connect_ports(reader->graph, reader->outputs[i].port,
                                   bt_component_sink_borrow_input_port_by_index_const(sink, i),
                                   NULL) != BT_GRAPH_CONNECT_PORTS_STATUS_OK)
            result = complain("the sink cannot be connected");
    return result;
}

/* Runs the graph to its end. */
static int run(struct reader *reader)
{
    bt_graph_run_status status;
    int result;

    if (reader->output_count == 0)
        return event_pump_result(reader->pump);
    result = connect_sink(reader);
    if (result < 0)
        return result;
    /* AGAIN: a live source has nothing for now; its feed has waited already */
    do
        status = bt_graph_run(reader->graph);
    while (status == BT_GRAPH_RUN_STATUS_AGAIN);
    if (status != BT_GRAPH_RUN_STATUS_OK) {
        result = complain("reading failed");
        /* the consumer's own message says more */
        return event_pump_result(reader->pump) < 0 ? event_pump_result(reader->pump) : result;
    }
    return event_pump_result(reader->pump);
}

/* Passes `result` on. The counts are filled whatever it is. */
static int reader_close(struct reader *reader, struct read_counts *counts, int result)
{
    memset(counts, 0, sizeof(*counts));
    counts->tracer = "";
    if (reader->pump)
        *counts = *event_pump_counts(reader->pump);
    /* the pump holds iterators of the graph's components */
    event_pump_free(reader->pump);
    bt_graph_put_ref(reader->graph);
    free(reader->outputs);
    return result;
}

static void note_damage(void *context, const char *text)
{
    event_pump_damage(context, text);
}

static void leave_out(struct reader *reader, const char *directory, const char *fatal)
{
    char text[512];

    snprintf(text, sizeof(text), "%.400s: is damaged (%s), and nothing of it can be read",
             directory, fatal);
    event_pump_damage(reader->pump, text);
}

int reader_run_traces(const char *const *directories, size_t count,
                      const struct event_consumer *consumer, const volatile int *stop,
                      struct read_counts *counts)
{
    struct reader reader;
    struct trace_list traces = {0};
    struct trace_source source = {0};
    int result = reader_open(&reader, consumer, stop);

    for (size_t i = 0; result == 0 && i < count; i++)
        result = trace_search(directories[i], &traces);
    if (result == 0)
        result = trace_source_open(&source);
    for (size_t i = 0; result == 0 && i < traces.count; i++) {
        const bt_component_source *component;
        size_t damaged = event_pump_counts(reader.pump)->damaged;
        const char *fatal = event_pump_call(consumer->watch);
        if (fatal) {
            leave_out(&reader, traces.directories[i], fatal);
            continue;
        }
        result = trace_source_add(&source, reader.graph, traces.directories[i], note_damage,
                                  reader.pump, &component);
        damaged = event_pump_counts(reader.pump)->damaged - damaged;
        if (result == 0 && component)
            result = add_outputs(&reader, component, traces.directories[i], damaged > 0);
    }
    if (result == 0)
        result = run(&reader);
    result = reader_close(&reader, counts, result);
    trace_source_close(&source);
    trace_list_free(&traces);
    return result;
}

int reader_run_source(const struct bt_component_class_source *class, void *data,
                      const struct event_consumer *consumer, const volatile int *stop,
                      struct read_counts *counts)
{
    const bt_component_source *component;
    struct reader reader;
    int result = reader_open(&reader, consumer, stop);

    if (result == 0 && bt_graph_add_source_component_with_initialize_method_data(
                           reader.graph, class, "events", NULL, data, BT_LOGGING_LEVEL_NONE,
                           &component) != BT_GRAPH_ADD_COMPONENT_STATUS_OK)
        result = complain("the source cannot be made");
    if (result == 0)
        result = add_outputs(&reader, component, "live events", false);
    if (result == 0)
        result = run(&reader);
    return reader_close(&reader, counts, result);
}
