/* SPDX-License-Identifier: MIT */
#include "lock_process.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"

#define LIST_AGAIN_NS 500000000ull

/* The last number of the line NSpid: how the thread is numbered where it lives. 0: not known. */
static uint32_t inner_number(pid_t pid, uint32_t tid, bool *nested)
{
    char path[64], line[256];
    uint32_t inner = 0;
    snprintf(path, sizeof(path), "/proc/%d/task/%u/status", pid, tid);
    FILE *status = fopen(path, "re");
    while (status && fgets(line, sizeof(line), status)) {
        if (strncmp(line, "NSpid:", 6) != 0)
            continue;
        const char *last = strrchr(line, '\t');
        inner = (uint32_t)strtoul(last, NULL, 10);
        *nested = last != strchr(line, '\t');
        break;
    }
    if (status)
        fclose(status);
    return inner;
}

static int compare_tids(const void *left, const void *right)
{
    const struct lock_tid *a = left, *b = right;
    return a->inner < b->inner ? -1 : a->inner > b->inner;
}

static int add_tid(struct watched_process *process, uint32_t tid)
{
    bool nested;
    if (process->tid_count == process->tid_capacity) {
        size_t capacity = process->tid_capacity ? 2 * process->tid_capacity : 128;
        struct lock_tid *tids = realloc(process->tids, capacity * sizeof(*tids));
        if (!tids)
            return err_no_memory();
        process->tids = tids;
        process->tid_capacity = capacity;
    }
    uint32_t inner = process->nested ? inner_number(process->target.pid, tid, &nested) : tid;
    process->tids[process->tid_count++] = (struct lock_tid){inner, tid};
    return 0;
}

static void list_threads(struct watched_process *process)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task", process->target.pid);
    DIR *tasks = opendir(path);
    if (!tasks)
        return; /* it is gone: what was known last stays */
    process->tid_count = 0;
    for (struct dirent *entry = readdir(tasks); entry; entry = readdir(tasks)) {
        uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);
        if (tid && add_tid(process, tid))
            break;
    }
    closedir(tasks);
    if (process->tid_count)
        qsort(process->tids, process->tid_count, sizeof(*process->tids), compare_tids);
}

struct watched_process *watched_process_find(struct watched_process *processes, size_t count,
                                             uint32_t pid)
{
    for (size_t i = 0; i < count; i++)
        if ((uint32_t)processes[i].target.pid == pid)
            return &processes[i];
    return NULL;
}

void watched_process_exit(struct watched_process *process, const struct lock_exit *record)
{
    process->ended_tids[record->inner % ENDED_TIDS] =
        (struct ended_tid){record->inner, record->tid, record->time_ns};
    if (record->time_ns > process->exit_ns)
        process->exit_ns = record->time_ns;
}

uint64_t watched_process_end_ns(const struct watched_process *process)
{
    /* an end before it was seen alive is another thread's: that of the last one was lost */
    bool known = !process->replaced && process->exit_ns > process->seen_ns;
    return known ? process->exit_ns : process->ended_ns;
}

static const struct lock_tid *find_thread(const struct watched_process *process, uint32_t inner)
{
    struct lock_tid wanted = {inner, 0};
    if (process->tid_count == 0)
        return NULL;
    return bsearch(&wanted, process->tids, process->tid_count, sizeof(*process->tids),
                   compare_tids);
}

uint32_t watched_process_tid(struct watched_process *process, uint32_t inner, uint64_t time_ns,
                             uint64_t now)
{
    const struct ended_tid *ended = &process->ended_tids[inner % ENDED_TIDS];
    if (ended->inner == inner)
        return ended->time_ns > time_ns ? ended->tid : 0;
    const struct lock_tid *found = find_thread(process, inner);
    if (!found && now - process->tids_ns < LIST_AGAIN_NS)
        return process->nested ? 0 : inner;
    if (!found) {
        process->tids_ns = now;
        list_threads(process);
        found = find_thread(process, inner);
    }
    return found ? found->tid : 0;
}

int watched_process_open(pid_t pid, bool stacks, struct watched_process *process)
{
    *process = (struct watched_process){0};
    int error = target_inspect(pid, &process->target);
    if (!error && stacks)
        error = unwinder_open(pid, &process->unwinder);
    if (error)
        return error;
    process->ended_tids = calloc(ENDED_TIDS, sizeof(*process->ended_tids));
    if (!process->ended_tids)
        return err_no_memory();
    inner_number(pid, (uint32_t)pid, &process->nested);
    list_threads(process);
    return 0;
}

void watched_process_close(struct watched_process *process)
{
    unwinder_close(process->unwinder);
    free(process->tids);
    free(process->ended_tids);
    *process = (struct watched_process){0};
}

struct text_range {
    uint64_t begin, end;
};

/* Joins the two neighbours with the smallest gap, until few enough are left. */
static size_t join_ranges(struct text_range *ranges, size_t count, size_t limit)
{
    while (count > limit) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < count; i++)
            if (ranges[i + 1].begin - ranges[i].end < ranges[best + 1].begin - ranges[best].end)
                best = i;
        ranges[best].end = ranges[best + 1].end;
        memmove(&ranges[best + 1], &ranges[best + 2], (count - best - 2) * sizeof(ranges[0]));
        count--;
    }
    return count;
}

int watched_process_facts(const struct process_maps *maps, struct lock_process *facts)
{
    enum { MOST = 1024 };
    size_t count = 0;
    *facts = (struct lock_process){.pid = (uint32_t)maps->pid};
    struct text_range *ranges = calloc(MOST, sizeof(*ranges));
    if (!ranges)
        return err_no_memory();
    for (size_t i = 0; i < maps->count && count < MOST; i++)
        if (strchr(maps->maps[i].path, '/'))
            ranges[count++] = (struct text_range){maps->maps[i].start, maps->maps[i].end};
    count = join_ranges(ranges, count, LOCK_TEXT_RANGES);
    for (size_t i = 0; i < count; i++) {
        facts->text_begin[i] = ranges[i].begin;
        facts->text_size[i] = ranges[i].end - ranges[i].begin;
    }
    free(ranges);
    return 0;
}
