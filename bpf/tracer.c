/* SPDX-License-Identifier: MIT */
#include "tracer.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "err.h"
#include "tracer_internal.h"
#include "uprobe.skel.h"

/* The inode of the initial pid namespace is fixed: PROC_PID_INIT_INO in <linux/proc_ns.h>. */
#define INITIAL_PID_NAMESPACE 0xEFFFFFFCu
/* enum bpf_attach_type's BPF_TRACE_UPROBE_MULTI, Linux 6.6 */
#define ATTACH_TYPE_UPROBE_MULTI 48

bool tracer_supported(void)
{
    return true;
}

/* The program finds its registers by the kernel's type information. */
#define KERNEL_TYPES "/sys/kernel/btf/vmlinux"

static int open_programs(struct tracer *tracer, bool multi)
{
    struct uprobe_bpf *skeleton = uprobe_bpf__open();
    if (!skeleton)
        return uprobe_refused(-errno, "cannot open the BPF programs");
    tracer->skeleton = skeleton;
    skeleton->rodata->target_tgid = (uint32_t)tracer->target.pid;
    struct stat namespace;
    if (stat("/proc/self/ns/pid", &namespace) == 0 && namespace.st_ino != INITIAL_PID_NAMESPACE) {
        skeleton->rodata->namespace_device = namespace.st_dev;
        skeleton->rodata->namespace_inode = namespace.st_ino;
    }
    if (tracer->options.ring_bytes)
        bpf_map__set_max_entries(skeleton->maps.ring, tracer->options.ring_bytes);
    struct bpf_program *multis[] = {skeleton->progs.uprobe_multi, skeleton->progs.trial_multi};
    for (size_t i = 0; i < 2; i++) {
        bpf_program__set_autoload(multis[i], multi);
        bpf_program__set_expected_attach_type(multis[i],
                                              (enum bpf_attach_type)ATTACH_TYPE_UPROBE_MULTI);
    }
    return uprobe_bpf__load(skeleton);
}

/* Loads the programs: with those for uprobe_multi links, or, where the kernel has none, without. */
static int load_programs(struct tracer *tracer)
{
    libbpf_set_print(NULL); /* the message is ours to write */
    if (access(KERNEL_TYPES, R_OK))
        return err_set(ENOTSUP, "this kernel has no type information (" KERNEL_TYPES
                                "): it must be built with CONFIG_DEBUG_INFO_BTF");
    int error = open_programs(tracer, !tracer->options.one_by_one);
    if (error && error != -EPERM && !tracer->options.one_by_one) {
        uprobe_bpf__destroy(tracer->skeleton);
        tracer->skeleton = NULL;
        error = open_programs(tracer, false);
    }
    if (error == -EACCES)
        return err_set(EACCES,
                       "the kernel's verifier refuses the BPF programs: uprobes with cookies "
                       "need Linux 5.15 or later");
    return error ? uprobe_refused(error, "cannot load the BPF programs") : 0;
}

/* Tries what the kernel can do; says how the sites will be attached. */
static int try_kernel(struct tracer *tracer)
{
    struct uprobe_bpf *skeleton = tracer->skeleton;
    struct uprobe_programs programs = {.single = skeleton->progs.trial_single};
    if (bpf_program__fd(skeleton->progs.trial_multi) >= 0)
        programs.multi = skeleton->progs.trial_multi;
    /* the kernel stays the same while this process lives */
    static struct trial known[2];
    static bool tried[2];
    int kind = programs.multi != NULL;
    int error = tried[kind]
                    ? 0
                    : trial_run(programs, (const volatile uint64_t *)&skeleton->bss->trial_hits,
                                &known[kind]);
    tried[kind] = !error;
    tracer->trial = known[kind];
    return error;
}

static int attach(struct tracer *tracer)
{
    struct uprobe_programs programs = {.single = tracer->skeleton->progs.uprobe_single,
                                       .all_processes = tracer->trial.all_processes};
    if (tracer->trial.multi)
        programs.multi = tracer->skeleton->progs.uprobe_multi;
    const char *nops = trial_prefers_nop5(&tracer->trial) ? ", on 5-byte nops" : ", on 1-byte nops";
    snprintf(tracer->method, sizeof(tracer->method), "%s%s",
             tracer->trial.multi ? "uprobe_multi links" : "a perf event a probe",
             tracer->usdt.count ? nops : "");
    const char *file = tracer->target.program;
    pid_t pid = tracer->target.pid;
    size_t starts = tracer->start_count, others = tracer->place_count - starts;
    int error = 0;
    tracer->attached = true;
    if (others)
        error = uprobe_link_attach(&programs, file, pid, tracer->places + starts, others,
                                   &tracer->others);
    if (!error && starts)
        error = uprobe_link_attach(&programs, file, pid, tracer->places, starts, &tracer->starts);
    return error;
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
    tracer->process = (int)syscall(SYS_pidfd_open, target->pid, 0);
    tracer->cpus = libbpf_num_possible_cpus();
    int error = tracer->cpus < 1 ? err_set(EINVAL, "cannot tell the number of CPUs") : 0;
    if (!error)
        error = load_programs(tracer);
    if (!error)
        error = try_kernel(tracer);
    if (!error)
        error = tracer_choose_sites(tracer, map);
    if (!error)
        error = tracer_feed_open(tracer);
    if (!error)
        error = attach(tracer);
    if (error)
        tracer_close(tracer);
    else
        *result = tracer;
    return error;
}

void tracer_close(struct tracer *tracer)
{
    if (!tracer)
        return;
    tracer_stop(tracer);
    tracer_feed_close(tracer);
    uprobe_bpf__destroy(tracer->skeleton);
    if (tracer->process >= 0)
        close(tracer->process);
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
    tracer->told_ns = tracer_now_ns();
    tracer->cut_ns = tracer->starts_cut_ns = 0;
    tracer->ended = false;
    int error = attach(tracer);
    if (error)
        tracer_stop(tracer);
    tracer->starts_from_ns = tracer_now_ns();
    return error;
}

/* Detaches those of the links that are there, all at once. */
static void detach(struct tracer *const *tracers, size_t count, bool starts_only)
{
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
        tracers[i]->starts_cut_ns = tracer_now_ns();
    detach(tracers, count, true);
}

void tracers_stop(struct tracer *const *tracers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (tracers[i]->attached)
            tracers[i]->cut_ns = tracer_now_ns();
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
        for (int cpu = 0; cpu < tracer->cpus; cpu++) {
            site->events += rows[cpu].events;
            site->ignored += rows[cpu].ignored;
            site->unknown_text += rows[cpu].unknown_text;
            site->faults += rows[cpu].faults;
            site->lost += rows[cpu].lost;
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
    }
    counts.unset_stamps = tracer->unset_stamps;
    return counts;
}

bool tracer_target_exited(const struct tracer *tracer)
{
    return tracer->exited;
}

const char *tracer_method(const struct tracer *tracer)
{
    return tracer->method;
}
