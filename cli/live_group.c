/* SPDX-License-Identifier: MIT */
#include "live_group_private.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "live_source.h"
#include "target_options.h"

/* Events on their way to the analyses */

static int take_event(void *context, const struct optrail_event *event)
{
    struct live_group *group = context;
    int result = 0;

    if (group->each) {
        if (event->pid != group->pid || group->member < 0) {
            group->pid = event->pid;
            group->member = tracer_group_find(group->tracers, event->pid);
        }
        if (group->member >= 0) {
            struct live_one *one = &group->each[group->member];
            const struct event_consumer *consumer = analysis_consumer(one->analysis);
            if (one->counts.events++ == 0)
                one->counts.begin_ns = event->time_ns;
            one->counts.end_ns = event->time_ns;
            result = consumer->event(consumer->context, event);
        }
    }
    if (result == 0 && group->all) {
        const struct event_consumer *consumer = analysis_consumer(group->all);
        result = consumer->event(consumer->context, event);
    }
    return result;
}

static int take_loss(void *context, uint64_t count, uint64_t begin_ns, uint64_t end_ns)
{
    struct live_group *group = context;
    int result = 0;

    for (size_t i = 0; group->each && result == 0 && i < group->count; i++) {
        struct live_one *one = &group->each[i];
        uint64_t lost = tracer_group_counts(group->tracers, i).lost;
        if (lost == one->lost_seen)
            continue;
        const struct event_consumer *consumer = analysis_consumer(one->analysis);
        result = consumer->lost(consumer->context, lost - one->lost_seen, begin_ns, end_ns);
        one->counts.lost += lost - one->lost_seen;
        one->lost_seen = lost;
    }
    if (result == 0 && group->all) {
        const struct event_consumer *consumer = analysis_consumer(group->all);
        result = consumer->lost(consumer->context, count, begin_ns, end_ns);
    }
    return result;
}

/* What the tracers say meanwhile */

static void take_notice(void *context, enum tracer_notice notice, size_t index)
{
    struct live_group *group = context;
    const struct tracer_member *member = tracer_group_member(group->tracers, index);
    char name[256];

    target_full_name(&member->target, name, sizeof(name));
    switch (notice) {
    case TRACER_PROBED:
        live_source_announce(&member->target, tracer_group_tracer(group->tracers, index),
                             member->exact, member->map);
        break;
    case TRACER_ENDED:
        fprintf(stderr, "optrail: %s has ended: %s\n", name,
                group->options.tracing.follow ? "waiting for its next process"
                                              : "the report has what there was");
        break;
    case TRACER_REFUSED:
        fprintf(stderr, "optrail: %s cannot be probed again yet: %s\n", name, err_message());
        break;
    }
}

static uint64_t slowest_ns(void *context)
{
    struct live_group *group = context;
    uint64_t most = group->all ? analysis_slowest_ns(group->all) : 0;

    for (size_t i = 0; group->each && i < group->count; i++) {
        uint64_t one = analysis_slowest_ns(group->each[i].analysis);
        if (one > most)
            most = one;
    }
    return most;
}

/* What the kernel folds by itself */

static struct analysis *receiver(void *context, uint32_t pid, size_t which)
{
    struct live_group *group = context;
    int member = tracer_group_find(group->tracers, pid);

    if (which == 0 && group->each && member >= 0)
        return group->each[member].analysis;
    return which == (group->each && member >= 0) ? group->all : NULL;
}

static int open_fold(struct live_group *group, struct tracer_group_options *tracing)
{
    const char *obstacle = NULL;

    if (!group->all)
        obstacle = "the daemons' paths differ";
    else if (tracing->duty > 0)
        obstacle = "with --duty it must be known which ops began in a pause";
    else if (tracing->follow)
        obstacle = "with --follow one process's ops go on with the next one's";
    return live_fold_open(group->options.fold, obstacle,
                          group->all ? analysis_paths(group->all) : NULL, &tracing->each,
                          &group->fold);
}

int live_group_take_sums(struct live_group *group, struct read_counts *counts)
{
    int error = 0;

    for (size_t i = 0; !error && i < group->count; i++) {
        struct tracer *tracer = tracer_group_tracer(group->tracers, i);
        struct read_counts one = {
            .tracer = "bpf", .pid = (uint32_t)tracer_group_member(group->tracers, i)->target.pid};
        struct fold_sums sums;
        error = live_fold_read(group->fold, tracer, &sums, &one);
        if (!error && group->each)
            error = analysis_take_sums(group->each[i].analysis, &sums, one.events, true);
        if (!error)
            error = analysis_take_sums(group->all, &sums, one.events, i == 0);
        if (group->each)
            group->each[i].counts = one;
        if (one.events && (counts->begin_ns == 0 || one.begin_ns < counts->begin_ns))
            counts->begin_ns = one.begin_ns;
        if (one.end_ns > counts->end_ns)
            counts->end_ns = one.end_ns;
        counts->events += one.events;
        counts->lost += one.lost;
        counts->pid = group->count == 1 ? one.pid : 0;
        counts->tracer = one.tracer;
    }
    return error;
}

/* Life */

static int open_analyses(struct live_group *group)
{
    const struct live_group_options *options = &group->options;
    char first[PATH_MAX], file[PATH_MAX];
    bool same = true;
    int error = 0;

    group->each = options->count > 1 ? calloc(options->count, sizeof(*group->each)) : NULL;
    if (options->count > 1 && !group->each)
        return err_no_memory();
    const char *common = options->path
                             ? options->path
                             : target_path_file(&options->targets[0], first, sizeof(first));
    for (size_t i = 0; !error && i < options->count; i++) {
        struct analysis_options one = {
            .windows = options->windows,
            .path = options->path ? options->path
                                  : target_path_file(&options->targets[i], file, sizeof(file))};
        same =
            same && (one.path == common || (one.path && common && strcmp(one.path, common) == 0));
        if (group->each)
            error = analysis_new(&one, &group->each[i].analysis);
    }
    struct analysis_options all = {.path = common, .windows = options->windows};
    if (!error && !same && options->save)
        error =
            err_set(ENOTSUP, "--save: the daemons' paths differ, and a profile is of one: trace "
                             "them one by one");
    return !error && same ? analysis_new(&all, &group->all) : error;
}

/* The first look at what the daemons have of the CPUs. */
static int watch_cpus(struct live_group *group)
{
    pid_t *pids = calloc(group->count, sizeof(*pids));
    int error = pids ? 0 : err_no_memory();

    for (size_t i = 0; !error && i < group->count; i++) {
        pids[i] = tracer_group_member(group->tracers, i)->target.pid;
        if (group->each)
            error = cpu_use_begin(&pids[i], 1, &group->each[i].cpu);
    }
    if (!error)
        error = cpu_use_begin(pids, group->count, &group->cpu);
    free(pids);
    return error;
}

void live_group_take_cpus(struct live_group *group)
{
    struct report_cpu cpu;

    for (size_t i = 0; group->each && i < group->count; i++) {
        cpu_use_read(group->each[i].cpu, &cpu);
        analysis_take_cpu(group->each[i].analysis, &cpu);
    }
    if (!group->all)
        return;
    cpu_use_read(group->cpu, &cpu);
    analysis_take_cpu(group->all, &cpu);
}

/* The daemons are probed. */
static int begun(struct live_group *group)
{
    int error = watch_cpus(group);

    for (size_t i = 0; !error && i < group->count; i++)
        take_notice(group, TRACER_PROBED, i);
    return error;
}

int live_group_open(const struct live_group_options *options, struct live_group **result)
{
    *result = NULL;
    struct live_group *group = calloc(1, sizeof(*group));
    if (!group)
        return err_no_memory();
    group->options = *options;
    group->count = options->count;
    group->member = -1;
    group->consumer =
        (struct event_consumer){.context = group, .event = take_event, .lost = take_loss};
    int error = open_analyses(group);
    if (!error) {
        struct tracer_group_options tracing = options->tracing;
        tracing.slowest_ns = slowest_ns;
        tracing.notice = take_notice;
        tracing.context = group;
        error = open_fold(group, &tracing);
        if (!error)
            error = tracer_group_open(options->targets, options->count, &tracing, &group->tracers);
        if (!error && group->fold)
            live_fold_receive(group->fold, receiver, group);
        if (!error && !tracing.each.held)
            error = begun(group);
    }
    if (error) {
        live_group_close(group);
        return error;
    }
    *result = group;
    return 0;
}

int live_group_begin(struct live_group *group)
{
    int error = tracer_group_begin(group->tracers);

    return error ? error : begun(group);
}

void live_group_close(struct live_group *group)
{
    if (!group)
        return;
    tracer_group_close(group->tracers);
    live_fold_close(group->fold);
    for (size_t i = 0; group->each && i < group->count; i++) {
        cpu_use_free(group->each[i].cpu);
        analysis_free(group->each[i].analysis);
    }
    cpu_use_free(group->cpu);
    free(group->each);
    analysis_free(group->all);
    free(group);
}

struct event_feed *live_group_feed(struct live_group *group)
{
    return tracer_group_feed(group->tracers);
}

const struct event_consumer *live_group_consumer(struct live_group *group)
{
    return &group->consumer;
}
