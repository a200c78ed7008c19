/* SPDX-License-Identifier: MIT */
#include "cpu_use.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clock_ns.h"
#include "err.h"

/* A thread at one moment. */
struct thread_time {
    pid_t tid;
    uint64_t run_ns, wait_ns;
};

struct look {
    uint64_t time_ns;
    size_t process_count; /* that were there */
    size_t thread_count;
    struct thread_time *threads;                  /* owned; by number */
    cpu_set_t allowed;                            /* to any of them */
    uint64_t busy[CPU_SETSIZE], all[CPU_SETSIZE]; /* ticks of each CPU */
};

struct cpu_use {
    size_t count;
    pid_t *pids; /* owned */
    struct look first;
};

static bool add_thread(struct look *look, struct thread_time thread)
{
    /* the array grows at powers of two */
    if ((look->thread_count & (look->thread_count - 1)) == 0) {
        size_t capacity = look->thread_count ? 2 * look->thread_count : 1;
        struct thread_time *bigger = reallocarray(look->threads, capacity, sizeof(*look->threads));
        if (!bigger)
            return false;
        look->threads = bigger;
    }
    look->threads[look->thread_count++] = thread;
    return true;
}

/* A thread that has ended meanwhile is passed over. False: no memory. */
static bool look_at_thread(struct look *look, pid_t pid, pid_t tid)
{
    struct thread_time thread = {.tid = tid};
    cpu_set_t allowed;
    char file[64], line[96];

    snprintf(file, sizeof(file), "/proc/%d/task/%d/schedstat", pid, tid);
    FILE *in = fopen(file, "re");
    if (!in)
        return true;
    char *end = fgets(line, sizeof(line), in);
    fclose(in);
    if (!end)
        return true;
    thread.run_ns = strtoull(line, &end, 10);
    thread.wait_ns = strtoull(end, NULL, 10);
    if (sched_getaffinity(tid, sizeof(allowed), &allowed) == 0)
        CPU_OR(&look->allowed, &look->allowed, &allowed);
    return add_thread(look, thread);
}

static bool look_at_process(struct look *look, pid_t pid)
{
    char name[32];
    bool room = true;

    snprintf(name, sizeof(name), "/proc/%d/task", pid);
    DIR *directory = opendir(name);
    if (!directory)
        return true;
    size_t before = look->thread_count;
    for (struct dirent *entry; room && (entry = readdir(directory));)
        if (isdigit((unsigned char)*entry->d_name))
            room = look_at_thread(look, pid, (pid_t)strtol(entry->d_name, NULL, 10));
    closedir(directory);
    look->process_count += look->thread_count > before;
    return room;
}

/* "cpu3 user nice system idle iowait irq softirq steal ...": what is neither idle nor iowait is
 * busy; that includes what the hypervisor took. */
static void look_at_cpus(struct look *look)
{
    char line[4096];
    FILE *in = fopen("/proc/stat", "re");

    while (in && fgets(line, sizeof(line), in)) {
        uint64_t ticks[8] = {0};
        char *at = line + 3;
        if (strncmp(line, "cpu", 3) != 0)
            break; /* they come first */
        if (!isdigit((unsigned char)*at))
            continue; /* the sum of all */
        unsigned long cpu = strtoul(at, &at, 10);
        if (cpu >= CPU_SETSIZE)
            continue;
        for (int i = 0; i < 8; i++) {
            ticks[i] = strtoull(at, &at, 10);
            look->all[cpu] += ticks[i];
        }
        look->busy[cpu] = look->all[cpu] - ticks[3] - ticks[4];
    }
    if (in)
        fclose(in);
}

static int by_tid(const void *a, const void *b)
{
    const struct thread_time *left = a, *right = b;

    return (left->tid > right->tid) - (left->tid < right->tid);
}

static bool look_at(struct look *look, const pid_t *pids, size_t count)
{
    bool room = true;

    look->time_ns = monotonic_ns();
    look_at_cpus(look);
    for (size_t i = 0; room && i < count; i++)
        room = look_at_process(look, pids[i]);
    if (look->thread_count > 0)
        qsort(look->threads, look->thread_count, sizeof(*look->threads), by_tid);
    return room;
}

int cpu_use_begin(const pid_t *pids, size_t count, struct cpu_use **result)
{
    struct cpu_use *use = calloc(1, sizeof(*use));

    *result = NULL;
    if (!use)
        return err_no_memory();
    use->count = count;
    use->pids = calloc(count + 1, sizeof(*use->pids));
    if (!use->pids || !look_at(&use->first, pids, count)) {
        cpu_use_free(use);
        return err_no_memory();
    }
    if (count > 0)
        memcpy(use->pids, pids, count * sizeof(*pids));
    *result = use;
    return 0;
}

void cpu_use_free(struct cpu_use *use)
{
    if (!use)
        return;
    free(use->first.threads);
    free(use->pids);
    free(use);
}

/* One that has begun meanwhile has had all of its time since. */
static void add_threads(const struct look *first, const struct look *last, struct report_cpu *cpu)
{
    size_t known = 0;

    for (size_t i = 0; i < last->thread_count; i++) {
        const struct thread_time *now = &last->threads[i];
        const struct thread_time *then =
            first->thread_count
                ? bsearch(now, first->threads, first->thread_count, sizeof(*first->threads), by_tid)
                : NULL;
        known += then != NULL;
        if (then && (now->run_ns < then->run_ns || now->wait_ns < then->wait_ns))
            continue; /* another thread of this number: how much of it is new is not known */
        cpu->run_ns += now->run_ns - (then ? then->run_ns : 0);
        cpu->wait_ns += now->wait_ns - (then ? then->wait_ns : 0);
    }
    cpu->threads = last->thread_count;
    cpu->ended = first->thread_count - known;
}

static void add_cpus(const struct look *first, const struct look *last, struct report_cpu *cpu)
{
    uint64_t busy = 0, all = 0;

    for (size_t i = 0; i < CPU_SETSIZE; i++) {
        if (!CPU_ISSET(i, &last->allowed) || last->all[i] <= first->all[i])
            continue;
        cpu->cpus++;
        all += last->all[i] - first->all[i];
        busy += last->busy[i] > first->busy[i] ? last->busy[i] - first->busy[i] : 0;
    }
    /* in millionths, as a trace has it */
    cpu->busy = all ? round((double)busy / (double)all * 1e6) / 1e6 : 0;
}

void cpu_use_read(const struct cpu_use *use, struct report_cpu *cpu)
{
    struct look *last = calloc(1, sizeof(*last));

    *cpu = (struct report_cpu){0};
    if (last && look_at(last, use->pids, use->count) && use->count > 0 &&
        use->first.process_count == use->count && last->process_count == use->count) {
        add_threads(&use->first, last, cpu);
        add_cpus(&use->first, last, cpu);
        cpu->seconds = (double)(last->time_ns - use->first.time_ns) / 1e9;
        cpu->known = cpu->run_ns > 0 && cpu->seconds > 0;
    }
    if (last)
        free(last->threads);
    free(last);
}
