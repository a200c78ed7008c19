/* SPDX-License-Identifier: MIT */
#include "trace_writer.h"

#include <babeltrace2/babeltrace.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "err.h"
#include "points.h"
#include "trace_metadata.h"

/* Less room than this is none: the open packet and the metadata still need some. */
#define FULL_DISK_BYTES (1u << 20)

/* The feed as the sink gets it: looks on until the metadata are in place. */
struct writer {
    struct event_feed feed;
    struct event_feed *from; /* weak */
    const char *directory;   /* weak */
    char *metadata;          /* with all event classes, but the uuid of another trace; owned */
    bool placed;             /* DIRECTORY/metadata is there */
    int failure;             /* of the feed or of the metadata, with its message below */
    char message[512];
};

/* One event of each point, for metadata that know them all. */
struct pilot {
    int next;
};

static int pilot_next(void *context, struct optrail_event *events, size_t capacity)
{
    struct pilot *pilot = context;
    size_t count = 0;

    for (; count < capacity && pilot->next < POINT_COUNT; count++, pilot->next++)
        events[count] =
            (struct optrail_event){.time_ns = (uint64_t)pilot->next + 1, .point = pilot->next};
    return (int)count;
}

static void fail(struct writer *writer, int result)
{
    writer->failure = result;
    snprintf(writer->message, sizeof(writer->message), "%s", err_message());
}

/* The sink chooses the trace's uuid; the stream has it as soon as its first packet is open. */
static int place_metadata(struct writer *writer)
{
    unsigned char uuid[METADATA_UUID_BYTES], nothing[METADATA_UUID_BYTES] = {0};
    char path[PATH_MAX];
    ssize_t got = 0;
    int file, result;

    snprintf(path, sizeof(path), "%s/stream", writer->directory);
    file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0; /* not yet */
    got = pread(file, uuid, sizeof(uuid), METADATA_UUID_OFFSET);
    close(file);
    if (got != (ssize_t)sizeof(uuid) || memcmp(uuid, nothing, sizeof(uuid)) == 0)
        return 0;
    result = metadata_set_uuid(writer->metadata, uuid);
    if (result == 0)
        result = metadata_replace(writer->directory, writer->metadata);
    writer->placed = result == 0;
    return result;
}

static bool is_full(const char *path)
{
    struct statvfs status;

    return statvfs(path, &status) == 0 &&
           (uint64_t)status.f_bavail * status.f_frsize < FULL_DISK_BYTES;
}

static int full_disk(const char *directory)
{
    return err_set(ENOSPC,
                   "%s: the disk is full: what was recorded until then is kept and can be read",
                   directory);
}

static int writer_next(void *context, struct optrail_event *events, size_t capacity)
{
    struct writer *writer = context;
    int result = writer->placed ? 0 : place_metadata(writer);

    /* here and below: the stream's end rather than an error, for then all of it is written out */
    if (result == 0 && writer->placed && is_full(writer->directory)) {
        fail(writer, full_disk(writer->directory));
        return 0;
    }
    if (result == 0)
        result = writer->from->next(writer->from->context, events, capacity);
    if (result >= 0 || result == -EAGAIN)
        return result;
    fail(writer, result);
    return 0;
}

static uint64_t writer_lost(void *context, uint64_t *begin_ns, uint64_t *end_ns)
{
    struct writer *writer = context;

    return writer->from->lost(writer->from->context, begin_ns, end_ns);
}

/* What babeltrace2 says went wrong; takes its error away. */
static int complain(const char *directory)
{
    const bt_error *error = bt_current_thread_take_error();
    int result;

    if (is_full(directory))
        result = full_disk(directory);
    else if (!error || bt_error_get_cause_count(error) == 0)
        result = err_set(EIO, "%s: the trace cannot be written", directory);
    else
        result = err_set(EIO, "%s: the trace cannot be written (babeltrace2: %s)", directory,
                         bt_error_cause_get_message(bt_error_borrow_cause_by_index(error, 0)));
    if (error)
        bt_error_release(error);
    return result;
}

static bool add_sink(bt_graph *graph, const char *directory, const bt_component_sink **sink)
{
    const bt_plugin *plugin = NULL;
    bt_value *parameters = bt_value_map_create();
    bool fine;

    fine = parameters &&
           bt_value_map_insert_string_entry(parameters, "path", directory) ==
               BT_VALUE_MAP_INSERT_ENTRY_STATUS_OK &&
           bt_value_map_insert_bool_entry(parameters, "assume-single-trace", BT_TRUE) ==
               BT_VALUE_MAP_INSERT_ENTRY_STATUS_OK &&
           bt_value_map_insert_bool_entry(parameters, "quiet", BT_TRUE) ==
               BT_VALUE_MAP_INSERT_ENTRY_STATUS_OK &&
           bt_plugin_find("ctf", BT_FALSE, BT_FALSE, BT_TRUE, BT_TRUE, BT_FALSE, &plugin) ==
               BT_PLUGIN_FIND_STATUS_OK &&
           bt_graph_add_sink_component(
               graph, bt_plugin_borrow_sink_component_class_by_name_const(plugin, "fs"), "trace",
               parameters, BT_LOGGING_LEVEL_NONE, sink) == BT_GRAPH_ADD_COMPONENT_STATUS_OK;
    bt_plugin_put_ref(plugin);
    bt_value_put_ref(parameters);
    return fine;
}

static bool run(bt_graph *graph)
{
    bt_graph_run_status status;

    do
        status = bt_graph_run(graph);
    while (status == BT_GRAPH_RUN_STATUS_AGAIN);
    return status == BT_GRAPH_RUN_STATUS_OK;
}

/* A graph whose sink failed to write is kept for ever: sink.ctf.fs 2.0.4 frees things twice, or
 * asks a trace that is gone, when it is released then. There is one at most for each recording. */
struct abandoned {
    bt_graph *graph;
    struct abandoned *next;
};
static _Atomic(struct abandoned *) abandoned;

static void abandon(bt_graph *graph)
{
    struct abandoned *one = malloc(sizeof(*one));

    if (!one)
        return;
    one->graph = graph;
    one->next = atomic_load(&abandoned);
    while (!atomic_compare_exchange_weak(&abandoned, &one->next, one))
        ;
}

/* babeltrace2 has one list for the classes of all plugins, which is changed when a plugin is found
 * and when a graph goes, and says nothing of threads (src/lib/plugin/plugin-so.c): one at a time. A
 * graph that runs has all it needs to itself. */
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

/* The feed through the sink, and nothing else. */
static int run_sink(struct event_feed *feed, const char *directory)
{
    const struct bt_component_class_source *class;
    const bt_component_source *source;
    const bt_component_sink *sink;
    bt_graph *graph;
    bool made;
    int result = 0;

    pthread_mutex_lock(&making);
    bt_logging_set_global_level(BT_LOGGING_LEVEL_NONE);
    class = event_source_class_create();
    graph = bt_graph_create(0);
    made = class && graph &&
           bt_graph_add_source_component_with_initialize_method_data(
               graph, class, "events", NULL, feed, BT_LOGGING_LEVEL_NONE, &source) ==
               BT_GRAPH_ADD_COMPONENT_STATUS_OK &&
           add_sink(graph, directory, &sink) &&
           bt_graph_connect_ports(graph,
                                  bt_component_source_borrow_output_port_by_index_const(source, 0),
                                  bt_component_sink_borrow_input_port_by_index_const(sink, 0),
                                  NULL) == BT_GRAPH_CONNECT_PORTS_STATUS_OK;
    pthread_mutex_unlock(&making);
    if (!made) {
        result = complain(directory);
    } else if (!run(graph)) {
        bt_current_thread_clear_error();
        result = is_full(directory)
                     ? full_disk(directory)
                     : err_set(EIO,
                               "%s: cannot be written any further (a quota, a limit of the file's "
                               "size, a broken disk?): what was recorded until then can be read",
                               directory);
        abandon(graph);
        graph = NULL;
    }
    pthread_mutex_lock(&making);
    bt_graph_put_ref(graph);
    bt_component_class_source_put_ref(class);
    pthread_mutex_unlock(&making);
    return result;
}

/* The metadata that the trace will have, but for its uuid. */
static char *make_metadata(const struct event_feed *feed, const char *directory)
{
    struct pilot pilot = {0};
    struct event_feed all = {.context = &pilot, .next = pilot_next, .facts = feed->facts};
    char place[PATH_MAX], file[PATH_MAX + 16], *text = NULL;
    /* beside the trace and hidden: the sink insists on making its directory itself */
    const char *slash = strrchr(directory, '/');
    int parent = slash ? (int)(slash - directory + 1) : 0;

    if (snprintf(place, sizeof(place), "%.*s.pilot-%s", parent, directory, directory + parent) >=
        (int)sizeof(place)) {
        err_set(ENAMETOOLONG, "%s: the path is too long", directory);
        return NULL;
    }
    if (run_sink(&all, place) == 0)
        text = metadata_read(place);
    snprintf(file, sizeof(file), "%s/stream", place);
    unlink(file);
    snprintf(file, sizeof(file), "%s/metadata", place);
    unlink(file);
    rmdir(place);
    return text;
}

/* The sink has put its own metadata in the place of ours, with the same uuid. */
static int complete_metadata(struct writer *writer, const struct trace_ending *ending, bool whole)
{
    static const struct event_fact complete[] = {{.name = "complete", .number = 1}, {0}};
    const struct event_fact *facts = NULL;
    char *text, *more;
    int result = place_metadata(writer);

    if (result < 0)
        return result;
    if (ending && !(facts = ending->facts(ending->context)))
        return -ENOMEM;
    text = metadata_add_facts(writer->metadata, whole ? complete : NULL);
    more = text ? metadata_add_facts(text, facts) : NULL;
    result = more ? metadata_replace(writer->directory, more) : -ENOMEM;
    free(text);
    free(more);
    return result;
}

int trace_write(struct event_feed *feed, const char *directory, const struct trace_ending *ending)
{
    struct writer writer = {.from = feed, .directory = directory};
    int result, completed;

    writer.feed = (struct event_feed){.context = &writer,
                                      .next = writer_next,
                                      .lost = feed->lost ? writer_lost : NULL,
                                      .facts = feed->facts};
    writer.metadata = make_metadata(feed, directory);
    if (!writer.metadata)
        return is_full(directory) ? complain(directory) : -EIO;
    result = run_sink(&writer.feed, directory);
    if (writer.failure < 0)
        result = err_set(-writer.failure, "%s", writer.message);
    snprintf(writer.message, sizeof(writer.message), "%s", err_message());
    completed = complete_metadata(&writer, ending, result == 0);
    if (result < 0)
        err_set(-result, "%s", writer.message);
    else
        result = completed;
    free(writer.metadata);
    return result;
}
