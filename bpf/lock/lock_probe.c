/* SPDX-License-Identifier: MIT */
#include "lock_probe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "err.h"
#include "lock.skel.h"
#include "lock_sites.h"
#include "uprobe_link.h"
#include "wait_kinds.h"

/* The inode of the initial pid namespace is fixed: PROC_PID_INIT_INO in <linux/proc_ns.h>. */
#define INITIAL_PID_NAMESPACE 0xEFFFFFFCu
/* As the only one there is: none is called so. */
#define NO_PROCESS UINT32_MAX
/* Stacks that are copied between two looks at the most: each costs its thread some 5 us. */
#define SNAPSHOTS_A_LOOK 200
/* The first sample, when waits come too fast: those shorter than this. */
#define FIRST_SAMPLE_NS 20000

int lock_probe_load(struct lock_probe *probe, const struct lock_capture_options *options,
                    lock_record_function *record, void *context)
{
    *probe = (struct lock_probe){0};
    libbpf_set_print(NULL); /* the message is ours to write */
    struct lock_bpf *skeleton = lock_bpf__open();
    if (!skeleton)
        return uprobe_refused(-errno, "cannot open the BPF programs");
    probe->skeleton = skeleton;
    struct stat namespace;
    if (stat("/proc/self/ns/pid", &namespace) == 0 && namespace.st_ino != INITIAL_PID_NAMESPACE) {
        skeleton->rodata->namespace_device = namespace.st_dev;
        skeleton->rodata->namespace_inode = namespace.st_ino;
    }
    skeleton->rodata->condvars = (uint32_t)options->condvars;
    skeleton->rodata->take_stacks = !options->no_stacks;
    skeleton->rodata->follow_owners = !options->no_meanwhile;
    skeleton->bss->snapshots_left = 4 * SNAPSHOTS_A_LOOK;
    if (options->ring_bytes)
        bpf_map__set_max_entries(skeleton->maps.ring, options->ring_bytes);
    int error = lock_bpf__load(skeleton);
    if (error)
        return uprobe_refused(error, "cannot load the BPF programs");
    probe->ring = ring_buffer__new(bpf_map__fd(skeleton->maps.ring), record, context, NULL);
    if (!probe->ring)
        return err_set(errno, "cannot map the ring of waits: %s", strerror(errno));
    return 0;
}

struct stack_tables lock_probe_tables(const struct lock_probe *probe)
{
    return (struct stack_tables){.layouts = bpf_map__fd(probe->skeleton->maps.layouts),
                                 .stacks = bpf_map__fd(probe->skeleton->maps.stacks),
                                 .known = true};
}

/* Programs find sites by the kernel's number of the process. In a pid namespace that is not known
 * here; sites are then found by ours. */
static int add_sites(struct lock_probe *probe, const struct process_maps *maps)
{
    struct lock_sites sites;
    int map = bpf_map__fd(probe->skeleton->maps.sites);
    int error = lock_sites_find(maps, &sites);
    for (size_t i = 0; i < sites.count && !error; i++) {
        struct lock_site_key key = {.pid = (uint32_t)maps->pid, .counter = sites.rows[i].counter};
        if (bpf_map_update_elem(map, &key, &sites.rows[i].site, BPF_ANY))
            error = err_set(errno, "cannot fill the table of futex calls: %s", strerror(errno));
    }
    lock_sites_free(&sites);
    return error;
}

/* Whether it is in a pid namespace below the initial one; when in doubt, it is. */
static bool has_inner_numbers(pid_t pid)
{
    char path[64];
    struct stat namespace;
    snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
    return stat(path, &namespace) || namespace.st_ino != INITIAL_PID_NAMESPACE;
}

static struct bpf_map *process_map(const struct lock_probe *probe)
{
    return probe->skeleton->rodata->namespace_inode ? probe->skeleton->maps.named_processes
                                                    : probe->skeleton->maps.processes;
}

int lock_probe_add(struct lock_probe *probe, const struct watched_process *process)
{
    struct lock_bpf__bss *bss = probe->skeleton->bss;
    uint32_t pid = (uint32_t)process->target.pid, number = (uint32_t)probe->process_count;
    struct lock_process facts;
    struct process_maps maps = {0};
    if (number == LOCK_MAX_PROCESSES)
        return err_set(ENOSPC, "locks of %d processes are captured already", LOCK_MAX_PROCESSES);
    int error = process_maps_read(&maps, process->target.pid);
    if (!error)
        error = add_sites(probe, &maps);
    if (!error)
        error = watched_process_facts(&maps, &facts);
    process_maps_free(&maps);
    if (error)
        return error;
    memcpy(&bss->process_facts[number], &facts, sizeof(facts));
    if (has_inner_numbers(process->target.pid))
        bss->inner_numbers = true;
    if (bpf_map_update_elem(bpf_map__fd(process_map(probe)), &pid, &number, BPF_ANY))
        error = err_set(errno, "cannot tell the programs of pid %u: %s", pid, strerror(errno));
    bool only = ++probe->process_count == 1 && !probe->skeleton->rodata->namespace_inode;
    bss->only_tgid = only ? pid : 0;
    return error;
}

void lock_probe_remove(struct lock_probe *probe, const struct watched_process *process)
{
    uint32_t pid = (uint32_t)process->target.pid, *previous = NULL, tgid;
    bpf_map_delete_elem(bpf_map__fd(process_map(probe)), &pid);
    if (probe->skeleton->bss->only_tgid == pid)
        probe->skeleton->bss->only_tgid = NO_PROCESS;
    if (!probe->skeleton->rodata->namespace_inode)
        return;
    int map = bpf_map__fd(probe->skeleton->maps.processes);
    uint32_t number;
    while (bpf_map_get_next_key(map, previous, &tgid) == 0) {
        if (bpf_map_lookup_elem(map, &tgid, &number) == 0 && number < LOCK_MAX_PROCESSES &&
            probe->skeleton->bss->process_facts[number].pid == pid) {
            bpf_map_delete_elem(map, &tgid);
            return;
        }
        previous = &tgid;
    }
}

static int keep(struct lock_probe *probe, struct bpf_link *link)
{
    if (!link)
        return uprobe_refused(-errno, "cannot attach the BPF programs");
    probe->links[probe->link_count++] = link;
    return 0;
}

int lock_probe_attach(struct lock_probe *probe)
{
    struct lock_bpf *skeleton = probe->skeleton;
    int error = keep(probe, bpf_program__attach(skeleton->progs.exiting));
    if (!error)
        error = keep(probe, bpf_program__attach(skeleton->progs.waking));
    if (!error)
        error = keep(probe, bpf_program__attach(skeleton->progs.switching));
    return error;
}

void lock_probe_detach(struct lock_probe *probe)
{
    while (probe->link_count)
        bpf_link__destroy(probe->links[--probe->link_count]);
}

void lock_probe_close(struct lock_probe *probe)
{
    lock_probe_detach(probe);
    ring_buffer__free(probe->ring);
    lock_bpf__destroy(probe->skeleton);
    *probe = (struct lock_probe){0};
}

void lock_probe_let_begin(struct lock_probe *probe, bool begin)
{
    __atomic_store_n(&probe->skeleton->bss->draining, !begin, __ATOMIC_RELAXED);
}

static bool is_at_lock(uint32_t kind)
{
    return kind < WAIT_KIND_COUNT && wait_kind_rows[kind].class == WAIT_CLASS_LOCK;
}

uint64_t lock_probe_waiting(const struct lock_probe *probe, uint64_t now, uint64_t *longest)
{
    uint64_t waiting = 0;
    *longest = 0;
    for (size_t i = 0; i < LOCK_MAX_THREADS; i++) {
        const struct lock_thread *thread = &probe->skeleton->bss->threads[i];
        if (!thread->key || !thread->lock || !is_at_lock(thread->kind) || thread->begin_ns > now)
            continue;
        waiting++;
        if (now - thread->begin_ns > *longest)
            *longest = now - thread->begin_ns;
    }
    return waiting;
}

void lock_probe_forget(struct lock_probe *probe)
{
    /* most rows are free: they need not be touched */
    for (size_t i = 0; i < LOCK_MAX_THREADS; i++) {
        struct lock_thread *thread = &probe->skeleton->bss->threads[i];
        if (thread->key)
            memset(thread, 0, sizeof(*thread));
    }
    probe->last_ns = 0; /* the rate of waits is looked at anew */
    memset(probe->skeleton->bss->interest, 0, sizeof(probe->skeleton->bss->interest));
    memset(probe->skeleton->bss->waited, 0, sizeof(probe->skeleton->bss->waited));
}

void lock_probe_spent(const struct lock_probe *probe, struct lock_capture_spent *spent)
{
    struct bpf_program *program;
    size_t count = 0;
    bpf_object__for_each_program(program, probe->skeleton->obj)
    {
        struct bpf_prog_info info = {0};
        uint32_t size = sizeof(info);
        int fd = bpf_program__fd(program);
        if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size))
            continue;
        spent->ns += info.run_time_ns;
        spent->runs += info.run_cnt;
        if (count < LOCK_CAPTURE_PROGRAMS)
            spent->programs[count++] = (struct lock_program_spent){
                .name = bpf_program__name(program), .ns = info.run_time_ns, .runs = info.run_cnt};
    }
}

int lock_probe_counters(const struct lock_probe *probe, uint64_t counters[LOCK_COUNTERS])
{
    int cpus = libbpf_num_possible_cpus();
    int map = bpf_map__fd(probe->skeleton->maps.counters);
    uint64_t *values = cpus > 0 ? calloc((size_t)cpus, sizeof(*values)) : NULL;
    if (!values)
        return err_no_memory();
    for (uint32_t i = 0; i < LOCK_COUNTERS; i++) {
        counters[i] = 0;
        if (bpf_map_lookup_elem(map, &i, values))
            continue;
        for (int cpu = 0; cpu < cpus; cpu++)
            counters[i] += values[cpu];
    }
    free(values);
    return 0;
}

bool lock_probe_adapt(struct lock_probe *probe, uint32_t rate, uint64_t now)
{
    uint64_t counters[LOCK_COUNTERS] = {0};
    struct lock_bpf__bss *bss = probe->skeleton->bss;
    /* what was not used lapses */
    __atomic_store_n(&bss->snapshots_left, SNAPSHOTS_A_LOOK, __ATOMIC_RELAXED);
    if (lock_probe_counters(probe, counters))
        return bss->sample_below_ns != 0;
    uint64_t kept = counters[LOCK_WAITS] - counters[LOCK_SAMPLED_OUT];
    double seconds = (double)(now - probe->last_ns) / 1e9;
    double waits = (double)(counters[LOCK_WAITS] - probe->last_waits) / seconds;
    double keeps = (double)(kept - probe->last_kept) / seconds;
    double below = (double)bss->sample_below_ns;
    bool first = probe->last_ns == 0;
    probe->last_waits = counters[LOCK_WAITS];
    probe->last_kept = kept;
    probe->last_ns = now;
    if (first || seconds <= 0)
        return below != 0;
    if (waits <= rate)
        below = 0;
    else if (below == 0)
        below = FIRST_SAMPLE_NS;
    else if (keeps > 1.1 * rate || keeps < 0.8 * rate)
        below *= keeps > 4.0 * rate ? 4 : keeps < 0.25 * rate ? 0.25 : keeps / rate;
    if (waits > rate && below < 1000)
        below = 1000;
    __atomic_store_n(&bss->sample_below_ns, (uint64_t)below, __ATOMIC_RELAXED);
    return below != 0;
}

int lock_probe_unfinished(struct lock_probe *probe, uint64_t now, lock_record_function *record,
                          void *context)
{
    for (size_t i = 0; i < LOCK_MAX_THREADS; i++) {
        struct lock_thread thread;
        memcpy(&thread, &probe->skeleton->bss->threads[i], sizeof(thread));
        if (thread.key == 0 || thread.lock == 0 || thread.begin_ns > now ||
            thread.flags & LOCK_RECORD_IDLE)
            continue;
        struct lock_record wait = {
            .type = LOCK_RECORD_WAIT,
            .weight = thread.weight,
            .begin_ns = thread.begin_ns,
            .end_ns = now,
            .lock = thread.lock,
            .counter = thread.counter,
            .pid = thread.pid,
            .tid = thread.tid,
            .owner = thread.owner,
            .stack = thread.stack,
            .acquisition = thread.acquisition,
            .kind = thread.kind,
            .flags = (uint16_t)(thread.flags | LOCK_RECORD_UNFINISHED),
        };
        int error = record(context, &wait, sizeof(wait));
        if (error)
            return error;
    }
    return 0;
}
