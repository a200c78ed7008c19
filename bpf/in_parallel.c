/* SPDX-License-Identifier: MIT */
#include "in_parallel.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "err.h"

/* Others need the machine as well. */
#define MOST_THREADS 4

struct share {
    int (*work)(void *context, size_t index);
    void *context;
    size_t count;
    atomic_size_t next;
    pthread_mutex_t lock; /* of the rest */
    int error;
    size_t failed; /* the index */
    char message[1024];
};

static void fail(struct share *share, size_t index, int error)
{
    pthread_mutex_lock(&share->lock);
    if (!share->error || index < share->failed) {
        share->error = error;
        share->failed = index;
        snprintf(share->message, sizeof(share->message), "%s", err_message());
    }
    pthread_mutex_unlock(&share->lock);
}

static void *take_part(void *argument)
{
    struct share *share = argument;
    size_t index;
    while ((index = atomic_fetch_add(&share->next, 1)) < share->count) {
        int error = share->work(share->context, index);
        if (error)
            fail(share, index, error);
    }
    return NULL;
}

int in_parallel(size_t count, int (*work)(void *context, size_t index), void *context)
{
    struct share share = {
        .work = work, .context = context, .count = count, .lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t threads[MOST_THREADS];
    size_t helpers = 0;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    size_t most = count < MOST_THREADS ? count : MOST_THREADS;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    while (helpers + 1 < most && (long)helpers + 1 < cpus &&
           pthread_create(&threads[helpers], NULL, take_part, &share) == 0)
        helpers++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    take_part(&share);
    for (size_t i = 0; i < helpers; i++)
        pthread_join(threads[i], NULL);
    return share.error ? err_set(-share.error, "%s", share.message) : 0;
}
