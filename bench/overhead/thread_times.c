/* SPDX-License-Identifier: MIT */
#include "thread_times.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"

/* Calls `each` for every thread until it fails. */
static int each_thread(pid_t pid, int (*each)(void *context, pid_t pid, pid_t tid), void *context)
{
    char name[64];
    int result = 0;

    snprintf(name, sizeof(name), "/proc/%d/task", pid);
    DIR *directory = opendir(name);
    if (!directory)
        return err_set(ESRCH, "pid %d is gone", pid);
    for (const struct dirent *entry; result == 0 && (entry = readdir(directory));) {
        char *end;
        long tid = strtol(entry->d_name, &end, 10);
        if (end != entry->d_name && !*end)
            result = each(context, pid, (pid_t)tid);
    }
    closedir(directory);
    return result;
}

static int add_time(void *context, pid_t pid, pid_t tid)
{
    uint64_t *sum = context, ns;
    char name[96];

    snprintf(name, sizeof(name), "/proc/%d/task/%d/schedstat", pid, tid);
    FILE *file = fopen(name, "re");
    if (!file)
        return 0; /* it has ended meanwhile */
    if (fscanf(file, "%" SCNu64, &ns) == 1)
        *sum += ns;
    fclose(file);
    return 0;
}

int thread_times_read(pid_t pid, uint64_t *ns)
{
    *ns = 0;
    return each_thread(pid, add_time, ns);
}

struct bound_thread {
    pid_t tid;
    cpu_set_t cpus;
};

struct thread_binding {
    pid_t pid;
    int cpu;
    size_t count;
    struct bound_thread *threads;
};

static int bind_thread(void *context, pid_t pid, pid_t tid)
{
    struct thread_binding *binding = context;
    struct bound_thread *threads, row = {.tid = tid};
    cpu_set_t one;

    if (sched_getaffinity(tid, sizeof(row.cpus), &row.cpus))
        return 0; /* it has ended */
    threads = reallocarray(binding->threads, binding->count + 1, sizeof(*threads));
    if (!threads)
        return err_no_memory();
    binding->threads = threads;
    CPU_ZERO(&one);
    CPU_SET(binding->cpu, &one);
    if (sched_setaffinity(tid, sizeof(one), &one) && errno != ESRCH)
        return err_set(errno, "pid %d cannot be bound to CPU %d: %s", pid, binding->cpu,
                       strerror(errno));
    threads[binding->count++] = row;
    return 0;
}

int thread_binding_make(pid_t pid, int cpu, struct thread_binding **result)
{
    struct thread_binding *binding = calloc(1, sizeof(*binding));

    if (!binding)
        return err_no_memory();
    binding->pid = pid;
    binding->cpu = cpu;
    int error = each_thread(pid, bind_thread, binding);
    if (error)
        thread_binding_undo(binding);
    else
        *result = binding;
    return error;
}

static int unbind_thread(void *context, pid_t pid, pid_t tid)
{
    const struct thread_binding *binding = context;
    const cpu_set_t *cpus = &binding->threads[0].cpus;

    (void)pid;
    for (size_t i = 0; i < binding->count; i++)
        if (binding->threads[i].tid == tid)
            cpus = &binding->threads[i].cpus;
    sched_setaffinity(tid, sizeof(*cpus), cpus); /* it may have ended */
    return 0;
}

void thread_binding_undo(struct thread_binding *binding)
{
    if (!binding)
        return;
    if (binding->count)
        each_thread(binding->pid, unbind_thread, binding);
    free(binding->threads);
    free(binding);
}
