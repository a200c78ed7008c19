/* SPDX-License-Identifier: MIT */
/* Wrappers of pthread mutexes. Who finds the mutex free pays for a look into the table of locks
 * that were waited for; who does not, would have slept anyway. */
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "real_calls.h"
#include "wait_recorder.h"
#include "wrappers.h"

/* What glibc keeps in `__kind` (its nptl/pthreadP.h; an ABI: static initialisers hold it). */
#define KIND_ROBUST  16
#define KIND_INHERIT 32
#define KIND_CEILING 64
#define KIND_SHARED  128
#define KIND_TYPE(k) ((k)&3)

static uint16_t wait_kind(const pthread_mutex_t *mutex)
{
    int kind = mutex->__data.__kind;

    if (kind & KIND_INHERIT)
        return OPTRAIL_WAIT_mutex_pi;
    return kind & (KIND_ROBUST | KIND_SHARED) ? OPTRAIL_WAIT_mutex_shared : OPTRAIL_WAIT_mutex;
}

/* Whether the holder, who asks, has it more than once: then it is neither taken nor given back. */
static bool is_nested(const pthread_mutex_t *mutex)
{
    return KIND_TYPE(mutex->__data.__kind) == PTHREAD_MUTEX_RECURSIVE && mutex->__data.__count > 1;
}

static bool is_had(int result)
{
    return result == 0 || result == EOWNERDEAD;
}

static void note_taken(pthread_mutex_t *mutex)
{
    struct held_lock *held = held_lock_find(mutex);

    if (__builtin_expect(held != NULL, 0) && !is_nested(mutex))
        held_lock_taken(held);
}

void note_mutex_released(pthread_mutex_t *mutex)
{
    struct held_lock *held = held_lock_find(mutex);

    if (__builtin_expect(held != NULL, 0) && !is_nested(mutex))
        held_lock_released(held);
}

void note_mutex_taken(pthread_mutex_t *mutex)
{
    note_taken(mutex);
}

/* Takes it if it is free; EBUSY: the call that was asked for has to wait, or to say what is wrong.
 * Robust mutexes and those with priorities are only looked at: glibc's trylock (2.36) leaves a
 * robust one that is not recoverable locked for good. */
static int take_if_free(pthread_mutex_t *mutex)
{
    if (__builtin_expect(mutex->__data.__kind & (KIND_ROBUST | KIND_INHERIT | KIND_CEILING), 0))
        return __atomic_load_n(&mutex->__data.__owner, __ATOMIC_RELAXED) ? EBUSY : EAGAIN;
    return real_calls.mutex_trylock(mutex);
}

EXPORTED int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    struct pending_wait wait;
    int result = take_if_free(mutex);

    if (__builtin_expect(is_had(result), 1)) {
        note_taken(mutex);
        return result;
    }
    /* any other answer is given again by the call that was asked for */
    if (result != EBUSY || !recorder_wants_wait()) {
        result = real_calls.mutex_lock(mutex);
        if (is_had(result))
            note_taken(mutex);
        return result;
    }
    wait_begin(&wait, mutex, wait_kind(mutex), &mutex->__data.__owner);
    result = real_calls.mutex_lock(mutex);
    wait_end(&wait, is_had(result), true);
    return result;
}

EXPORTED int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    int result = real_calls.mutex_trylock(mutex);

    if (is_had(result))
        note_taken(mutex);
    return result;
}

EXPORTED int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    note_mutex_released(mutex);
    return real_calls.mutex_unlock(mutex);
}

/* With a time limit by one clock or the other. A limit that is none is told by the call itself. */
static int lock_until(pthread_mutex_t *mutex, bool has_clock, clockid_t clock,
                      const struct timespec *until)
{
    struct pending_wait wait;
    bool listens;
    int result = take_if_free(mutex);

    if (is_had(result)) {
        note_taken(mutex);
        return result;
    }
    listens = result == EBUSY && recorder_wants_wait();
    if (listens)
        wait_begin(&wait, mutex, OPTRAIL_WAIT_mutex_timed, &mutex->__data.__owner);
    result = has_clock ? REAL_CALL(mutex_clocklock)(mutex, clock, until)
                       : REAL_CALL(mutex_timedlock)(mutex, until);
    if (listens)
        wait_end(&wait, is_had(result), true);
    else if (is_had(result))
        note_taken(mutex);
    return result;
}

EXPORTED int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until)
{
    return lock_until(mutex, false, 0, until);
}

EXPORTED int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock,
                                     const struct timespec *until)
{
    return lock_until(mutex, true, clock, until);
}
