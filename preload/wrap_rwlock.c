/* SPDX-License-Identifier: MIT */
/* Wrappers of pthread rwlocks. Who holds it is known of writers; readers are many, and how long
 * each of them has had it is not measured. Calls with a time limit are not wrapped. */
#include <errno.h>
#include <pthread.h>

#include "real_calls.h"
#include "wait_recorder.h"
#include "wrappers.h"

static void note_written(pthread_rwlock_t *rwlock)
{
    struct held_lock *held = held_lock_find(rwlock);

    if (__builtin_expect(held != NULL, 0))
        held_lock_taken(held);
}

EXPORTED int pthread_rwlock_rdlock(pthread_rwlock_t *rwlock)
{
    struct pending_wait wait;
    int result = real_calls.rwlock_tryrdlock(rwlock);

    if (__builtin_expect(result == 0, 1))
        return 0;
    if (result != EBUSY || !recorder_wants_wait())
        return real_calls.rwlock_rdlock(rwlock);
    wait_begin(&wait, rwlock, OPTRAIL_WAIT_rwlock_read, &rwlock->__data.__cur_writer);
    result = real_calls.rwlock_rdlock(rwlock);
    wait_end(&wait, result == 0, false);
    return result;
}

EXPORTED int pthread_rwlock_wrlock(pthread_rwlock_t *rwlock)
{
    struct pending_wait wait;
    int result = real_calls.rwlock_trywrlock(rwlock);

    if (__builtin_expect(result == 0, 1)) {
        note_written(rwlock);
        return 0;
    }
    if (result != EBUSY || !recorder_wants_wait()) {
        result = real_calls.rwlock_wrlock(rwlock);
        if (result == 0)
            note_written(rwlock);
        return result;
    }
    wait_begin(&wait, rwlock, OPTRAIL_WAIT_rwlock_write, &rwlock->__data.__cur_writer);
    result = real_calls.rwlock_wrlock(rwlock);
    wait_end(&wait, result == 0, true);
    return result;
}

EXPORTED int pthread_rwlock_trywrlock(pthread_rwlock_t *rwlock)
{
    int result = real_calls.rwlock_trywrlock(rwlock);

    if (result == 0)
        note_written(rwlock);
    return result;
}

EXPORTED int pthread_rwlock_unlock(pthread_rwlock_t *rwlock)
{
    struct held_lock *held = held_lock_find(rwlock);

    if (__builtin_expect(held != NULL, 0))
        held_lock_released(held);
    return real_calls.rwlock_unlock(rwlock);
}
