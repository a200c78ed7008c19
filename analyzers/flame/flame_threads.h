/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_FLAME_THREADS_H
#define OPTRAIL_FLAME_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"
#include "thread_sample.h"

/*
 * What a trace tells of threads beside their samples: what they are called, and who ended the sleep
 * that each had last. Bounded; a thread that finds no room has no name. Not thread-safe.
 */
#define FLAME_THREADS 8192u
#define FLAME_CHAIN   4u /* wakers that are followed from one to the next */

struct flame_thread;

struct flame_threads {
    struct flame_thread *rows; /* owned; NULL until the first one */
    size_t used;
    uint64_t no_room; /* names of threads that were left out */
};

/* One who woke: the thread (tid 0: an interrupt), and its stack, of the table of the process of the
 * one that slept. */
struct flame_waker {
    uint32_t pid, tid, stack, stack_pid;
};

void flame_threads_free(struct flame_threads *threads);

/* Takes thread.named. -ENOMEM with the message. */
int flame_threads_named(struct flame_threads *threads, const struct optrail_event *event);

/* Takes a sleep, its waker included, and fills `chain` with who woke the thread, who had woken that
 * one meanwhile, and so on: a waker that did not itself sleep during what it ended is the last.
 * *count: how many, at most FLAME_CHAIN. -ENOMEM with the message. */
int flame_threads_woken(struct flame_threads *threads, const struct thread_sample *sleep,
                        struct flame_waker *chain, uint32_t *count);

/* What the thread is called: weak, until the next name; NULL: not known. */
const char *flame_threads_name(const struct flame_threads *threads, uint32_t pid, uint32_t tid);

#endif
