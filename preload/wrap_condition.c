/* SPDX-License-Identifier: MIT */
/* Wrappers of condition variables: each wait is told as a wait for room or for a result; whether
 * the thread had nothing to do is for the one who reads the trace. The mutex is free meanwhile;
 * having it again is a part of the wait. */
#include <pthread.h>
#include <time.h>

#include "real_calls.h"
#include "wait_recorder.h"
#include "wrappers.h"

/* A wait that the thread may be cancelled in. */
struct condition_wait {
    struct pending_wait wait;
    bool listens;
};

static void abandon(struct condition_wait *waiting)
{
    if (waiting->listens)
        wait_abandon(&waiting->wait);
}

static void begin(struct condition_wait *waiting, pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    note_mutex_released(mutex);
    waiting->listens = recorder_wants_wait();
    if (waiting->listens)
        wait_begin(&waiting->wait, condition, OPTRAIL_WAIT_condvar, NULL);
}

static int end(struct condition_wait *waiting, pthread_mutex_t *mutex, int result)
{
    note_mutex_taken(mutex);
    if (waiting->listens)
        wait_end(&waiting->wait, result == 0, false);
    waiting->listens = false;
    return result;
}

#define WAITING struct condition_wait waiting __attribute__((cleanup(abandon))) = {.listens = false}

EXPORTED int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    WAITING;
    begin(&waiting, condition, mutex);
    return end(&waiting, mutex, REAL_CALL(cond_wait)(condition, mutex));
}

EXPORTED int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                    const struct timespec *until)
{
    WAITING;
    begin(&waiting, condition, mutex);
    return end(&waiting, mutex, REAL_CALL(cond_timedwait)(condition, mutex, until));
}

EXPORTED int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                    clockid_t clock, const struct timespec *until)
{
    WAITING;
    begin(&waiting, condition, mutex);
    return end(&waiting, mutex, REAL_CALL(cond_clockwait)(condition, mutex, clock, until));
}

/* Who wakes a waiter is its releaser. */
static void note_woken(const pthread_cond_t *condition)
{
    struct held_lock *held = held_lock_find(condition);

    if (__builtin_expect(held != NULL, 0))
        held_lock_released(held);
}

EXPORTED int pthread_cond_signal(pthread_cond_t *condition)
{
    note_woken(condition);
    return REAL_CALL(cond_signal)(condition);
}

EXPORTED int pthread_cond_broadcast(pthread_cond_t *condition)
{
    note_woken(condition);
    return REAL_CALL(cond_broadcast)(condition);
}
