/* SPDX-License-Identifier: MIT */
/*
 * stale-locks: a thread that waits for a mutex again and again, by two ways in turn, and whose
 * stack is littered each time with other addresses of code, as calls leave them that are over.
 * After "pid N" it waits for a line on the standard input; then "lock ADDRESS" and "done".
 */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "until_asleep.h"

#define ROUNDS 400

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint32_t waiter;
static _Atomic int asked, answered;

int main(int argc, char **argv);
void go_one_way(void);
void go_another_way(void);

/* A call that is over leaves what was in its frame. */
__attribute__((noinline)) static void litter(int seed)
{
    volatile uintptr_t words[96];
    for (int i = 0; i < 96; i++)
        words[i] = (uintptr_t)&main + (uintptr_t)seed + (uintptr_t)(i % 5);
    (void)words[0];
}

/* A frame that is used in part. */
__attribute__((noinline)) static void take(void)
{
    volatile char unused[200];
    unused[0] = 1;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    (void)unused[0];
}

__attribute__((noinline)) void go_one_way(void)
{
    take();
    atomic_fetch_add(&answered, 1);
}

__attribute__((noinline)) void go_another_way(void)
{
    take();
    atomic_fetch_or(&answered, 0); /* else both were one function */
    atomic_fetch_add(&answered, 1);
}

static void *wait_often(void *argument)
{
    atomic_store(&waiter, (uint32_t)gettid());
    for (int i = 0; i < ROUNDS; i++) {
        while (atomic_load(&asked) != i + 1)
            sched_yield();
        litter(i);
        if (i % 2)
            go_another_way();
        else
            go_one_way();
    }
    return argument;
}

int main(int argc, char **argv)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    pthread_t thread;
    (void)argc;
    (void)argv;
    printf("pid %d\n", getpid());
    fflush(stdout);
    if (getchar() == EOF || pthread_create(&thread, NULL, wait_often, NULL))
        return 2;
    while (!atomic_load(&waiter))
        sched_yield();
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&mutex);
        atomic_store(&asked, i + 1);
        until_asleep(waiter, "S");
        pthread_mutex_unlock(&mutex);
        while (atomic_load(&answered) != i + 1)
            sched_yield();
        nanosleep(&pause, NULL);
    }
    pthread_join(thread, NULL);
    printf("lock %" PRIuPTR "\ndone\n", (uintptr_t)&mutex);
    fflush(stdout);
    while (getchar() != EOF)
        ;
    return 0;
}
