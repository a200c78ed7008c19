/* SPDX-License-Identifier: MIT */
/* usage: fold_both PID STORE
 *
 * Traces the process until SIGINT, with the same hits folded in the kernel and handed up as events,
 * and prints the two reports as one JSON object: {"kernel": ..., "user": ..., "moved": how many
 * events came up so late that user space had to move them in time}. STORE: the path file
 * of a ceph-osd's store; "-": all paths. */
#include <babeltrace2/babeltrace.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis.h"
#include "err.h"
#include "event_source.h"
#include "fold_tables.h"
#include "probe_map.h"
#include "render.h"
#include "tracer.h"

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
    stop = number;
}

static int fail(void)
{
    fprintf(stderr, "fold_both: %s\n", err_message());
    return 1;
}

static void take_exemplar(void *context, const struct fold_op *op)
{
    struct trail trail;
    struct trail_mark marks[FOLD_MARKS];
    fold_exemplar_trail(op, &trail, marks);
    if (analysis_take_exemplar(context, &trail) < 0)
        exit(fail());
}

static int print_report(struct analysis *analysis, const struct read_counts *counts)
{
    struct report *report;
    if (analysis_report(analysis, counts, NULL, &report) < 0)
        return -1;
    int result = renderer_by_name("json")->render(report, NULL, stdout);
    report_free(report);
    return result;
}

int main(int argc, char **argv)
{
    struct target target;
    struct probe_map *map = NULL;
    struct analysis *user, *kernel;
    struct fold_table_set *set;
    struct tracer *tracer;
    bool exact;
    char path[4096];

    if (argc != 3)
        return 2;
    signal(SIGINT, on_signal);
    if (target_inspect(atoi(argv[1]), &target) < 0)
        return fail();
    if (!target.usdt_probes &&
        probe_map_find(probe_map_directory(), target.kind, target.version, &map, &exact) < 0)
        return fail();
    snprintf(path, sizeof(path), "%s/ceph-%s.yaml", path_default_directory(), argv[2]);
    struct analysis_options analysing = {.path = strcmp(argv[2], "-") == 0 ? NULL : path};
    if (analysis_new(&analysing, &user) < 0 || analysis_new(&analysing, &kernel) < 0 ||
        fold_tables_new(analysis_paths(kernel), &set) < 0)
        return fail();
    struct tracer_options tracing = {.detail = DETAIL_STANDARD,
                                     .stop = &stop,
                                     .fold = &set->tables,
                                     .fold_and_events = true,
                                     .exemplar = take_exemplar,
                                     .exemplar_context = kernel};
    if (tracer_open(&target, map, &tracing, &tracer) < 0)
        return fail();
    fprintf(stderr, "ready\n");

    const struct bt_component_class_source *source = event_source_class_create();
    struct read_counts counts = {0};
    struct tracer_fold read;
    if (!source ||
        reader_run_source(source, tracer_feed(tracer), analysis_consumer(user), NULL, &counts) < 0)
        return fail();
    bt_component_class_source_put_ref(source);
    if (tracer_fold_read(tracer, &read) < 0)
        return fail();
    struct fold_sums sums = {set,          read.cells,      read.client_count,
                             read.clients, read.peer_count, read.peers};
    struct read_counts folded = counts;
    folded.events = read.events;
    folded.begin_ns = read.first_ns;
    folded.end_ns = read.last_ns;
    if (analysis_take_sums(kernel, &sums, read.events, true) < 0)
        return fail();
    printf("{\"kernel\":");
    if (print_report(kernel, &folded) < 0)
        return fail();
    printf(",\"user\":");
    if (print_report(user, &counts) < 0)
        return fail();
    printf(",\"moved\":%llu}\n", (unsigned long long)tracer_counts(tracer).late);
    tracer_close(tracer);
    probe_map_free(map);
    analysis_free(user);
    analysis_free(kernel);
    fold_tables_free(set);
    return 0;
}
