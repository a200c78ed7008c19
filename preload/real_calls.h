/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_REAL_CALLS_H
#define OPTRAIL_REAL_CALLS_H

#include <pthread.h>
#include <time.h>

/*
 * libc's own functions behind our wrappers. Those that a program calls before any constructor of
 * ours, or from within dlsym, are references that the loader has resolved when it loaded us: libc
 * exports them by a second name. The others are looked up at the first use.
 */

struct real_calls {
    int (*mutex_lock)(pthread_mutex_t *);
    int (*mutex_trylock)(pthread_mutex_t *);
    int (*mutex_unlock)(pthread_mutex_t *);
    int (*rwlock_rdlock)(pthread_rwlock_t *);
    int (*rwlock_wrlock)(pthread_rwlock_t *);
    int (*rwlock_tryrdlock)(pthread_rwlock_t *);
    int (*rwlock_trywrlock)(pthread_rwlock_t *);
    int (*rwlock_unlock)(pthread_rwlock_t *);
    /* NULL until looked up: call through real_*() below */
    int (*mutex_timedlock)(pthread_mutex_t *, const struct timespec *);
    int (*mutex_clocklock)(pthread_mutex_t *, clockid_t, const struct timespec *);
    int (*cond_wait)(pthread_cond_t *, pthread_mutex_t *);
    int (*cond_timedwait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    int (*cond_clockwait)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
    int (*cond_signal)(pthread_cond_t *);
    int (*cond_broadcast)(pthread_cond_t *);
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
};

extern struct real_calls real_calls __attribute__((visibility("hidden")));

/* Looks up what is not there yet. Called by our constructor; before it, by the first wrapper that
 * needs one. Harmless to repeat, in several threads at once. A function that libc does not have
 * stays NULL: nobody can call our wrapper of it then, but for a version that is older than both. */
void real_calls_find(void) __attribute__((visibility("hidden")));

/* One that may not have been looked up yet. */
#define REAL_CALL(name)                                                                            \
    ({                                                                                             \
        if (__builtin_expect(!real_calls.name, 0))                                                 \
            real_calls_find();                                                                     \
        real_calls.name;                                                                           \
    })

#endif
