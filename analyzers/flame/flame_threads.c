/* SPDX-License-Identifier: MIT */
#include "flame_threads.h"

#include <stdio.h>
#include <stdlib.h>

#include "err.h"

#define NAME_SIZE 32

struct flame_thread {
    uint32_t pid, tid; /* tid 0: the row is free */
    char name[NAME_SIZE];
    uint64_t end_ns;          /* of its last sleep; 0: none */
    struct flame_waker waker; /* who ended it */
};

void flame_threads_free(struct flame_threads *threads)
{
    free(threads->rows);
    *threads = (struct flame_threads){0};
}

/* The thread's row, or the free one for it. */
static struct flame_thread *row_of(const struct flame_threads *threads, uint32_t pid, uint32_t tid)
{
    uint64_t hash = ((uint64_t)pid << 32 | tid) * 0x9e3779b97f4a7c15ull;
    for (size_t at = hash >> 51;; at++) {
        struct flame_thread *row = &threads->rows[at % FLAME_THREADS];
        if (!row->tid || (row->pid == pid && row->tid == tid))
            return row;
    }
}

/* *row NULL: there is no room. */
static int row_for(struct flame_threads *threads, uint32_t pid, uint32_t tid,
                   struct flame_thread **row)
{
    *row = NULL;
    if (!threads->rows && !(threads->rows = calloc(FLAME_THREADS, sizeof(*threads->rows))))
        return err_no_memory();
    if (tid == 0)
        return 0;
    struct flame_thread *found = row_of(threads, pid, tid);
    if (!found->tid && threads->used >= FLAME_THREADS / 4 * 3)
        return 0;
    if (!found->tid) {
        threads->used++;
        found->pid = pid;
        found->tid = tid;
    }
    *row = found;
    return 0;
}

int flame_threads_named(struct flame_threads *threads, const struct optrail_event *event)
{
    struct flame_thread *row;
    const char *name = (const char *)(uintptr_t)event->arg0;
    int result = row_for(threads, event->pid, event->tid, &row);
    if (result < 0 || !name)
        return result;
    if (row)
        snprintf(row->name, sizeof(row->name), "%s", name);
    else
        threads->no_room++;
    return 0;
}

int flame_threads_woken(struct flame_threads *threads, const struct thread_sample *sleep,
                        struct flame_waker *chain, uint32_t *count)
{
    struct flame_thread *row;
    struct flame_waker waker = {sleep->waker_pid, sleep->waker_tid, sleep->waker_stack, sleep->pid};
    uint64_t begin = thread_sample_begin(sleep);
    int result = row_for(threads, sleep->pid, sleep->tid, &row);
    *count = 0;
    if (result < 0)
        return result;
    chain[(*count)++] = waker;
    /* whoever woke did so after its own sleep; one that was over before this one began has nothing
     * to do with it */
    for (uint64_t until = sleep->end_ns; *count < FLAME_CHAIN && chain[*count - 1].tid;) {
        const struct flame_waker *last = &chain[*count - 1];
        const struct flame_thread *of = row_of(threads, last->pid, last->tid);
        if (!of->tid || of->end_ns <= begin || of->end_ns > until)
            break;
        until = of->end_ns;
        chain[(*count)++] = of->waker;
    }
    if (row) {
        row->end_ns = sleep->end_ns;
        row->waker = waker;
    }
    return 0;
}

const char *flame_threads_name(const struct flame_threads *threads, uint32_t pid, uint32_t tid)
{
    const struct flame_thread *row = threads->rows && tid ? row_of(threads, pid, tid) : NULL;
    return row && row->tid && row->name[0] ? row->name : NULL;
}
