/* SPDX-License-Identifier: MIT */
/*
 * A plugin for babeltrace2: the report of `optrail report`, from any graph.
 *
 *   babeltrace2 --plugin-path DIR TRACE -c sink.optrail.report [-p 'format="json"']
 *
 * Parameters, all strings: format (text or json), output (a file; left out: standard output), path
 * (a path file or a directory of them).
 */
#include <babeltrace2/babeltrace.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis.h"
#include "err.h"
#include "event_pump.h"
#include "render.h"

struct sink {
    struct analysis *analysis;
    struct event_pump *pump;
    const struct renderer *renderer; /* weak */
    char *output;                    /* NULL: standard output */
    bool reported;
};

/* Makes the message that is set babeltrace2's error. */
static void complain(bt_self_component *self)
{
    BT_CURRENT_THREAD_ERROR_APPEND_CAUSE_FROM_COMPONENT(self, "%s", err_message());
}

struct parameters {
    const char *format, *output, *path; /* weak; NULL: not given */
};

static bt_value_map_foreach_entry_const_func_status
take_parameter(const char *name, const bt_value *value, void *data)
{
    struct parameters *parameters = data;
    const struct {
        const char *name;
        const char **value;
    } known[] = {{"format", &parameters->format},
                 {"output", &parameters->output},
                 {"path", &parameters->path}};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(known[i].name, name) != 0)
            continue;
        if (!bt_value_is_string(value)) {
            err_set(EINVAL, "sink.optrail.report: the parameter %s must be a string: %s=\"...\"",
                    name, name);
            return BT_VALUE_MAP_FOREACH_ENTRY_CONST_FUNC_STATUS_ERROR;
        }
        *known[i].value = bt_value_string_get(value);
        return BT_VALUE_MAP_FOREACH_ENTRY_CONST_FUNC_STATUS_OK;
    }
    err_set(EINVAL, "sink.optrail.report has no parameter %s: there are format, output and path",
            name);
    return BT_VALUE_MAP_FOREACH_ENTRY_CONST_FUNC_STATUS_ERROR;
}

static int sink_new(const struct parameters *parameters, struct sink **sink)
{
    const struct analysis_options options = {.path = parameters->path};
    struct sink *made = calloc(1, sizeof(*made));
    int result = made ? 0 : err_no_memory();

    if (result == 0) {
        made->renderer = renderer_by_name(parameters->format ? parameters->format : "text");
        result = made->renderer ? 0 : -EINVAL;
    }
    if (result == 0 && parameters->output && !(made->output = strdup(parameters->output)))
        result = err_no_memory();
    if (result == 0)
        result = analysis_new(&options, &made->analysis);
    if (result == 0)
        result = event_pump_new(analysis_consumer(made->analysis), NULL, &made->pump);
    *sink = made;
    return result;
}

static void sink_free(struct sink *sink)
{
    if (!sink)
        return;
    event_pump_free(sink->pump);
    analysis_free(sink->analysis);
    free(sink->output);
    free(sink);
}

static bt_component_class_initialize_method_status
initialize(bt_self_component_sink *self_sink, bt_self_component_sink_configuration *configuration,
           const bt_value *params, void *data)
{
    bt_self_component *self = bt_self_component_sink_as_self_component(self_sink);
    struct parameters parameters = {0};
    struct sink *sink = NULL;

    (void)configuration;
    (void)data;
    if (bt_value_map_foreach_entry_const(params, take_parameter, &parameters) !=
            BT_VALUE_MAP_FOREACH_ENTRY_CONST_STATUS_OK ||
        sink_new(&parameters, &sink) < 0) {
        complain(self);
        sink_free(sink);
        return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_ERROR;
    }
    if (bt_self_component_sink_add_input_port(self_sink, "in", NULL, NULL) !=
        BT_SELF_COMPONENT_ADD_PORT_STATUS_OK) {
        sink_free(sink);
        return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_ERROR;
    }
    bt_self_component_set_data(self, sink);
    return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_OK;
}

static bt_component_class_sink_graph_is_configured_method_status
graph_is_configured(bt_self_component_sink *self_sink)
{
    bt_self_component *self = bt_self_component_sink_as_self_component(self_sink);
    struct sink *sink = bt_self_component_get_data(self);

    if (event_pump_add_input(sink->pump, self_sink,
                             bt_self_component_sink_borrow_input_port_by_index(self_sink, 0),
                             "the trace", false) == 0)
        return BT_COMPONENT_CLASS_SINK_GRAPH_IS_CONFIGURED_METHOD_STATUS_OK;
    complain(self);
    return BT_COMPONENT_CLASS_SINK_GRAPH_IS_CONFIGURED_METHOD_STATUS_ERROR;
}

static int write_report(const struct sink *sink, const struct report *report)
{
    const struct render_options options = {0};
    FILE *out = sink->output ? fopen(sink->output, "we") : stdout;
    int result;

    if (!out)
        return err_set(errno, "%s: cannot be written: %s", sink->output, strerror(errno));
    result = sink->renderer->render(report, &options, out);
    if (sink->output && fclose(out) == EOF && result == 0)
        result = err_set(errno, "%s: cannot be written: %s", sink->output, strerror(errno));
    return result;
}

static int make_report(struct sink *sink)
{
    const struct read_counts *counts = event_pump_counts(sink->pump);
    const char *damage = event_pump_result(sink->pump) < 0 ? err_message() : NULL;
    char text[1024];
    struct report *report = NULL;
    int result;

    if (damage)
        snprintf(text, sizeof(text), "%s", damage);
    sink->reported = true;
    result = analysis_report(sink->analysis, counts, damage ? text : NULL, &report);
    if (result == 0)
        result = write_report(sink, report);
    report_free(report);
    return result;
}

static bt_component_class_sink_consume_method_status consume(bt_self_component_sink *self_sink)
{
    bt_self_component *self = bt_self_component_sink_as_self_component(self_sink);
    struct sink *sink = bt_self_component_get_data(self);
    bt_component_class_sink_consume_method_status status = event_pump_consume(sink->pump);
    bool failed = status == BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_ERROR;

    /* what the stream's damage left is reported; then the run fails all the same */
    if (status == BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_END)
        failed = make_report(sink) < 0 || event_pump_result(sink->pump) < 0;
    else if (failed)
        event_pump_result(sink->pump);
    if (!failed)
        return status;
    complain(self);
    return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_ERROR;
}

static void finalize(bt_self_component_sink *self_sink)
{
    struct sink *sink =
        bt_self_component_get_data(bt_self_component_sink_as_self_component(self_sink));

    if (!sink)
        return;
    /* the run was interrupted: what there is is reported */
    if (!sink->reported && event_pump_counts(sink->pump)->events > 0 && make_report(sink) < 0)
        fprintf(stderr, "sink.optrail.report: %s\n", err_message());
    sink_free(sink);
}

BT_PLUGIN_MODULE();
BT_PLUGIN(optrail);
BT_PLUGIN_DESCRIPTION("where the operations of a storage daemon spend their time");
BT_PLUGIN_LICENSE("MIT");

BT_PLUGIN_SINK_COMPONENT_CLASS(report, consume);
BT_PLUGIN_SINK_COMPONENT_CLASS_DESCRIPTION(
    report, "the stage breakdown of optrail's events, as optrail report makes it");
BT_PLUGIN_SINK_COMPONENT_CLASS_INITIALIZE_METHOD(report, initialize);
BT_PLUGIN_SINK_COMPONENT_CLASS_FINALIZE_METHOD(report, finalize);
BT_PLUGIN_SINK_COMPONENT_CLASS_GRAPH_IS_CONFIGURED_METHOD(report, graph_is_configured);
