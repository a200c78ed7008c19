/* SPDX-License-Identifier: MIT */
#include "tracer.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock_ns.h"
#include "err.h"
#include "tracer_internal.h"
#include "uprobe.skel.h"

/* The programs see the end of the tracing in time. */
#define CUT_AHEAD_NS 100000u

bool tracer_supported(void)
{
    return true;
}

static int attach(struct tracer *tracer)
{
    struct uprobe_programs programs = {.single = tracer->skeleton->progs.uprobe_single,
                                       .all_processes = tracer->trial.all_processes};
    if (tracer->trial.multi)
        programs.multi = tracer->skeleton->progs.uprobe_multi;
    int file = tracer->program;
    pid_t pid = tracer->target.pid;
    size_t starts = tracer->start_count, others = tracer->place_count - starts;
    int error = target_unchanged(&tracer->target);
    if (error)
        return error;
    tracer->attached = true;
    if (others)
        error = uprobe_link_attach(&programs, file, pid, tracer->places + starts, others,
                                   &tracer->others);
    if (!error && starts)
        error = uprobe_link_attach(&programs, file, pid, tracer->places, starts, &tracer->starts);
    /* the probes are in the file that was read and nowhere else, but is it still the process's? */
    return error ? error : target_unchanged(&tracer->target);
}

/* Gets hold of the process and of its executable, as long as they are those that were inspected:
 * the process may run another program from one moment to the next, or end and leave its number to
 * another one. */
static int open_process(struct tracer *tracer)
{
    const struct target *target = &tracer->target;
    struct stat status;
    tracer->process = (int)syscall(SYS_pidfd_open, target->pid, 0);
    tracer->program = open(target->program, O_RDONLY | O_CLOEXEC);
    int error = target_unchanged(target);
    if (error)
        return error;
    if (tracer->program < 0 || fstat(tracer->program, &status))
        return err_set(errno, "cannot open %s: %s", target->program, strerror(errno));
    if (status.st_dev != target->device || status.st_ino != target->inode)
        return err_set(ESTALE, "pid %d runs one program after the other: it is not probed",
                       target->pid);
    return 0;
}

int tracer_open(const struct target *target, const struct probe_map *map,
                const struct tracer_options *options, struct tracer **result)
{
    *result = NULL;
    struct tracer *tracer = calloc(1, sizeof(*tracer));
    if (!tracer)
        return err_no_memory();
    tracer->target = *target;
    tracer->options = *options;
    tracer->process = tracer->program = -1;
    tracer->cpus = libbpf_num_possible_cpus();
    int error = tracer->cpus < 1 ? err_set(EINVAL, "cannot tell the number of CPUs") : 0;
    if (!error)
        error = open_process(tracer);
    if (!error)
        error = tracer_load(tracer);
    if (!error)
        error = tracer_choose_sites(tracer, map);
    if (!error)
        error = tracer_fold_open(tracer);
    if (!error)
        error = tracer_feed_open(tracer);
    if (!error && !options->held)
        error = tracer_begin(tracer);
    if (error) {
        tracer_close(tracer);
        return error;
    }
    *result = tracer;
    return 0;
}

int tracer_begin(struct tracer *tracer)
{
    int error = attach(tracer);
    if (error)
        return error;
    tracer->attached_ns = tracer->drained_ns = monotonic_ns();
    if (tracer->options.seconds > 0)
        tracer->deadline_ns = tracer->attached_ns + (uint64_t)(tracer->options.seconds * 1e9);
    return 0;
}

void tracer_close(struct tracer *tracer)
{
    if (!tracer)
        return;
    tracer_stop(tracer);
    tracer_feed_close(tracer);
    tracer_fold_close(tracer);
    uprobe_bpf__destroy(tracer->skeleton);
    if (tracer->process >= 0)
        close(tracer->process);
    if (tracer->program >= 0)
        close(tracer->program);
    for (size_t i = 0; i < tracer->name_count; i++)
        free(tracer->names[i]);
    free(tracer->names);
    free(tracer->sites);
    free(tracer->specs);
    free(tracer->places);
    usdt_free(&tracer->usdt);
    free(tracer);
}

struct event_feed *tracer_feed(struct tracer *tracer)
{
    return &tracer->feed;
}

int tracer_resume(struct tracer *tracer)
{
    tracer->told_ns = monotonic_ns();
    tracer->cut_ns = tracer->starts_cut_ns = 0;
    tracer->skeleton->bss->cut_ns = 0;
    tracer->ended = false;
    int error = attach(tracer);
    if (error)
        tracer_stop(tracer);
    tracer->starts_from_ns = monotonic_ns();
    return error;
}

/* Detaches those of the links that are there, all at once. */
static void detach(struct tracer *const *tracers, size_t count, bool starts_only)
{
    if (count == 0)
        return;
    struct uprobe_link **links = calloc(2 * count, sizeof(struct uprobe_link *));
    for (size_t i = 0; i < count; i++) {
        struct tracer *tracer = tracers[i];
        struct uprobe_link *others = starts_only ? NULL : tracer->others;
        if (links) {
            links[i] = tracer->starts;
            links[count + i] = others;
        } else {
            uprobe_link_detach(tracer->starts);
            uprobe_link_detach(others);
        }
        tracer->starts = NULL;
        if (!starts_only)
            tracer->others = NULL;
    }
    if (links)
        uprobe_link_detach_all(links, 2 * count);
    free(links);
}

void tracers_pause(struct tracer *const *tracers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        tracers[i]->starts_cut_ns = monotonic_ns();
    detach(tracers, count, true);
}

/* Nothing that happens from now on is told. The kernel hears of it as well, a little ahead. */
static void tracer_cut(struct tracer *tracer)
{
    tracer->cut_ns = monotonic_ns() + (tracer->fold ? CUT_AHEAD_NS : 0);
    tracer->skeleton->bss->cut_ns = tracer->cut_ns;
}

void tracers_stop(struct tracer *const *tracers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (tracers[i]->attached)
            tracer_cut(tracers[i]);
    detach(tracers, count, false);
    for (size_t i = 0; i < count; i++)
        tracers[i]->attached = false;
}

void tracer_stop(struct tracer *tracer)
{
    if (tracer->attached)
        tracers_stop(&tracer, 1);
}

const struct tracer_site *tracer_sites(struct tracer *tracer, size_t *count)
{
    struct uprobe_counts *rows = calloc((size_t)tracer->cpus, sizeof(*rows));
    int map = bpf_map__fd(tracer->skeleton->maps.counts);
    for (uint32_t i = 0; rows && i < tracer->site_count; i++) {
        struct tracer_site *site = &tracer->sites[i];
        if (bpf_map_lookup_elem(map, &i, rows))
            continue;
        site->events = site->ignored = site->unknown_text = site->faults = site->lost = 0;
        site->unset_stamps = site->beside = 0;
        for (int cpu = 0; cpu < tracer->cpus; cpu++) {
            site->events += rows[cpu].events;
            site->beside += rows[cpu].beside;
            site->ignored += rows[cpu].ignored;
            site->unknown_text += rows[cpu].unknown_text;
            site->faults += rows[cpu].faults;
            site->lost += rows[cpu].lost;
            site->unset_stamps += rows[cpu].unset_stamps;
        }
    }
    free(rows);
    *count = tracer->site_count;
    return tracer->sites;
}

struct tracer_counts tracer_counts(struct tracer *tracer)
{
    size_t count;
    const struct tracer_site *sites = tracer_sites(tracer, &count);
    struct tracer_counts counts = {.events = tracer->delivered, .late = tracer->order.late};
    for (size_t i = 0; i < count; i++) {
        counts.lost += sites[i].lost;
        counts.unknown_text += sites[i].unknown_text;
        counts.faults += sites[i].faults;
        counts.unset_stamps += sites[i].unset_stamps;
        if (!sites[i].shares_hit)
            counts.hits += sites[i].events - sites[i].beside + sites[i].ignored +
                           sites[i].unknown_text + sites[i].faults + sites[i].lost +
                           sites[i].unset_stamps;
    }
    return counts;
}

bool tracer_target_exited(const struct tracer *tracer)
{
    return tracer->exited;
}

const char *tracer_method(const struct tracer *tracer)
{
    return tracer->trial.multi ? "eBPF" : "a perf event a probe";
}
