/* SPDX-License-Identifier: MIT */
#include "sample_probe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "err.h"
#include "sample.skel.h"
#include "uprobe_link.h"

/* The inode of the initial pid namespace is fixed: PROC_PID_INIT_INO in <linux/proc_ns.h>. */
#define INITIAL_PID_NAMESPACE 0xEFFFFFFCu
/* Stacks of waits that are copied between two looks at the most. */
#define SNAPSHOTS_A_LOOK 200
/* More ticks a second than that need a larger ring, each with a stack of some 10 kB. */
#define USUAL_RATE 250
#define LARGE_RING (32u << 20)
/* So few CPUs fill three quarters of the small one in a tenth of a second at the least, even with
 * the deepest stacks. */
#define FEW_CPUS   2
#define SMALL_RING (4u << 20)
/* Those of threads that run are few: most are in user space. */
#define KERNEL_STACKS_ON_CPU 4096
/* Waits a second that are handed up one by one. */
#define MOST_WAITS 5000
/* The first sample, when waits come too fast: those shorter than this. */
#define FIRST_SAMPLE_NS 20000

/* A map's memory is filled when it is made: those that are not needed are made small. */
static void size_maps(struct sample_bpf *skeleton, const struct sample_capture_options *options)
{
    if (options->rate > USUAL_RATE)
        bpf_map__set_max_entries(skeleton->maps.ring, LARGE_RING);
    else if (!options->off_cpu && libbpf_num_possible_cpus() <= FEW_CPUS)
        bpf_map__set_max_entries(skeleton->maps.ring, SMALL_RING);
    if (options->off_cpu)
        return;
    bpf_map__set_max_entries(skeleton->maps.threads, 1);
    bpf_map__set_max_entries(skeleton->maps.stacks, 1);
    bpf_map__set_max_entries(skeleton->maps.layouts, 1);
    bpf_map__set_max_entries(skeleton->maps.kernel_stacks, KERNEL_STACKS_ON_CPU);
}

int sample_probe_load(struct sample_probe *probe, const struct sample_capture_options *options,
                      sample_record_function *record, void *context)
{
    *probe = (struct sample_probe){0};
    libbpf_set_print(NULL); /* the message is ours to write */
    struct sample_bpf *skeleton = sample_bpf__open();
    if (!skeleton)
        return uprobe_refused(-errno, "cannot open the BPF programs");
    probe->skeleton = skeleton;
    struct stat namespace;
    if (stat("/proc/self/ns/pid", &namespace) == 0 && namespace.st_ino != INITIAL_PID_NAMESPACE) {
        skeleton->rodata->namespace_device = namespace.st_dev;
        skeleton->rodata->namespace_inode = namespace.st_ino;
    }
    skeleton->rodata->follow_wakers = options->wakers;
    skeleton->bss->snapshots_left = 4 * SNAPSHOTS_A_LOOK;
    size_maps(skeleton, options);
    bpf_program__set_autoload(skeleton->progs.on_cpu, options->on_cpu);
    bpf_program__set_autoload(skeleton->progs.switching, options->off_cpu);
    bpf_program__set_autoload(skeleton->progs.waking, options->off_cpu);
    bpf_program__set_autoload(skeleton->progs.exiting, options->off_cpu);
    int error = sample_bpf__load(skeleton);
    if (error)
        return uprobe_refused(error, "cannot load the BPF programs");
    probe->ring = ring_buffer__new(bpf_map__fd(skeleton->maps.ring), record, context, NULL);
    if (!probe->ring)
        return err_set(errno, "cannot map the ring of samples: %s", strerror(errno));
    return 0;
}

struct stack_tables sample_probe_tables(const struct sample_probe *probe)
{
    return (struct stack_tables){.layouts = bpf_map__fd(probe->skeleton->maps.layouts),
                                 .stacks = bpf_map__fd(probe->skeleton->maps.stacks),
                                 .known = true};
}

int sample_probe_add(struct sample_probe *probe, const struct watched_process *process)
{
    struct sample_bpf *skeleton = probe->skeleton;
    uint32_t pid = (uint32_t)process->target.pid, number = (uint32_t)probe->process_count;
    bool nested = skeleton->rodata->namespace_inode != 0;
    struct lock_process facts;
    struct process_maps maps = {0};
    int error = process_maps_read(&maps, process->target.pid);
    if (!error)
        error = watched_process_facts(&maps, &facts);
    process_maps_free(&maps);
    if (error)
        return error;
    memcpy(&skeleton->bss->process_facts[number], &facts, sizeof(facts));
    struct bpf_map *map = nested ? skeleton->maps.named_processes : skeleton->maps.processes;
    if (bpf_map_update_elem(bpf_map__fd(map), &pid, &number, BPF_ANY))
        return err_set(errno, "cannot tell the programs of pid %u: %s", pid, strerror(errno));
    skeleton->bss->only_tgid = ++probe->process_count == 1 && !nested ? pid : 0;
    return 0;
}

static int keep(struct sample_probe *probe, struct bpf_link *link)
{
    if (!link)
        return uprobe_refused(-errno, "cannot attach the BPF programs");
    probe->links[probe->link_count++] = link;
    return 0;
}

/* A clock on one CPU: with the descriptor it ends. */
static int attach_clock(struct sample_probe *probe, int cpu, uint32_t rate)
{
    struct perf_event_attr attributes = {.type = PERF_TYPE_SOFTWARE,
                                         .size = sizeof(attributes),
                                         .config = PERF_COUNT_SW_CPU_CLOCK,
                                         .sample_period = 1000000000ull / rate};
    int event = (int)syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (event < 0 && errno == ENODEV)
        return 0; /* the CPU is not there now */
    if (event < 0)
        return uprobe_refused(-errno, "cannot open the clock of a CPU");
    struct bpf_link *link = bpf_program__attach_perf_event(probe->skeleton->progs.on_cpu, event);
    if (!link) {
        int error = errno;
        close(event);
        errno = error;
    }
    return keep(probe, link);
}

int sample_probe_attach(struct sample_probe *probe, const struct sample_capture_options *options)
{
    struct sample_bpf *skeleton = probe->skeleton;
    int cpus = libbpf_num_possible_cpus(), error = 0;
    probe->links = cpus > 0 ? calloc((size_t)cpus + 3, sizeof(struct bpf_link *)) : NULL;
    if (!probe->links)
        return err_no_memory();
    if (options->off_cpu)
        error = keep(probe, bpf_program__attach(skeleton->progs.exiting));
    if (!error && options->off_cpu)
        error = keep(probe, bpf_program__attach(skeleton->progs.waking));
    if (!error && options->off_cpu)
        error = keep(probe, bpf_program__attach(skeleton->progs.switching));
    for (int cpu = 0; cpu < cpus && !error && options->on_cpu; cpu++)
        error = attach_clock(probe, cpu, options->rate);
    return error;
}

void sample_probe_detach(struct sample_probe *probe)
{
    while (probe->link_count)
        bpf_link__destroy(probe->links[--probe->link_count]);
}

void sample_probe_close(struct sample_probe *probe)
{
    sample_probe_detach(probe);
    free(probe->links);
    ring_buffer__free(probe->ring);
    sample_bpf__destroy(probe->skeleton);
    *probe = (struct sample_probe){0};
}

void sample_probe_counters(const struct sample_probe *probe, uint64_t counters[LOCK_COUNTERS])
{
    int cpus = libbpf_num_possible_cpus();
    int map = bpf_map__fd(probe->skeleton->maps.counters);
    uint64_t *values = cpus > 0 ? calloc((size_t)cpus, sizeof(*values)) : NULL;
    for (uint32_t i = 0; i < LOCK_COUNTERS; i++) {
        counters[i] = 0;
        if (!values || bpf_map_lookup_elem(map, &i, values))
            continue;
        for (int cpu = 0; cpu < cpus; cpu++)
            counters[i] += values[cpu];
    }
    free(values);
}

bool sample_probe_adapt(struct sample_probe *probe, uint64_t now)
{
    uint64_t counters[LOCK_COUNTERS] = {0};
    struct sample_bpf__bss *bss = probe->skeleton->bss;
    /* what was not used lapses */
    __atomic_store_n(&bss->snapshots_left, SNAPSHOTS_A_LOOK, __ATOMIC_RELAXED);
    sample_probe_counters(probe, counters);
    uint64_t taken = counters[LOCK_WAITS] - counters[LOCK_SAMPLED_OUT];
    double seconds = (double)(now - probe->last_ns) / 1e9;
    double rate = (double)(taken - probe->last_taken) / seconds;
    bool first = probe->last_ns == 0;
    uint64_t below = bss->sample_below_ns;
    probe->last_ns = now;
    probe->last_taken = taken;
    if (!first && rate > MOST_WAITS)
        below = below ? 2 * below : FIRST_SAMPLE_NS;
    else if (!first && rate < 0.25 * MOST_WAITS)
        below = below > FIRST_SAMPLE_NS ? below / 2 : 0;
    __atomic_store_n(&bss->sample_below_ns, below, __ATOMIC_RELAXED);
    return below != 0;
}

size_t sample_probe_kernel_stack(const struct sample_probe *probe, int32_t number,
                                 uint64_t frames[SAMPLE_KERNEL_FRAMES])
{
    size_t count = 0;
    memset(frames, 0, SAMPLE_KERNEL_FRAMES * sizeof(*frames));
    if (number < 0 ||
        bpf_map_lookup_elem(bpf_map__fd(probe->skeleton->maps.kernel_stacks), &number, frames))
        return 0;
    while (count < SAMPLE_KERNEL_FRAMES && frames[count])
        count++;
    return count;
}

int sample_probe_name_functions(struct sample_probe *probe, const uint64_t *addresses, size_t count,
                                char names[][SAMPLE_KERNEL_NAME])
{
    struct sample_bpf__bss *bss = probe->skeleton->bss;
    LIBBPF_OPTS(bpf_test_run_opts, options);
    memcpy(bss->asked, addresses, count * sizeof(*addresses));
    bss->asked_count = (uint32_t)count;
    int error =
        bpf_prog_test_run_opts(bpf_program__fd(probe->skeleton->progs.name_functions), &options);
    if (error)
        return err_set(-error, "cannot ask the kernel for the names of its functions: %s",
                       strerror(-error));
    for (size_t i = 0; i < count; i++) {
        const char *told = bss->told[i];
        size_t length = strncmp(told, "0x", 2) == 0 ? 0 : strnlen(told, SAMPLE_KERNEL_NAME - 1);
        /* a module's function has the module's name behind it, in brackets */
        const char *space = memchr(told, ' ', length);
        length = space ? (size_t)(space - told) : length;
        memcpy(names[i], told, length);
        names[i][length] = 0;
    }
    return 0;
}

int sample_probe_unfinished(const struct sample_probe *probe, uint64_t now,
                            sample_record_function *record, void *context)
{
    int map = bpf_map__fd(probe->skeleton->maps.threads), error = 0;
    uint32_t key, *previous = NULL;
    while (!error && bpf_map_get_next_key(map, previous, &key) == 0) {
        struct sample_thread thread;
        previous = &key;
        if (bpf_map_lookup_elem(map, &key, &thread) || !thread.off_ns || thread.off_ns > now)
            continue;
        struct sample_wait wait = {
            .type = SAMPLE_RECORD_WAIT,
            .weight = 1,
            .begin_ns = thread.off_ns,
            .end_ns = now,
            .wake_ns = thread.wake_ns,
            .pid = thread.pid,
            .tid = thread.tid,
            .stack = thread.stack,
            .kernel_stack = thread.kernel_stack,
            .flags = thread.flags | SAMPLE_WAIT_UNFINISHED,
            .waker = thread.waker,
        };
        memcpy(wait.name, thread.name, sizeof(wait.name));
        error = record(context, &wait, sizeof(wait));
    }
    return error;
}
