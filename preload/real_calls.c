/* SPDX-License-Identifier: MIT */
#include "real_calls.h"

#include <dlfcn.h>
#include <stddef.h>

/* The oldest version of each port of glibc, under which the second names stand. */
#if defined(__x86_64__)
#define OLDEST "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define OLDEST "GLIBC_2.17"
#else
#error "which version of glibc is this machine's oldest?"
#endif

#define SECOND_NAME(ours, theirs, type)                                                            \
    int ours(type *) __attribute__((weak));                                                        \
    __asm__(".symver " #ours "," #theirs "@" OLDEST)

SECOND_NAME(libc_mutex_lock, __pthread_mutex_lock, pthread_mutex_t);
SECOND_NAME(libc_mutex_trylock, __pthread_mutex_trylock, pthread_mutex_t);
SECOND_NAME(libc_mutex_unlock, __pthread_mutex_unlock, pthread_mutex_t);
SECOND_NAME(libc_rdlock, __pthread_rwlock_rdlock, pthread_rwlock_t);
SECOND_NAME(libc_wrlock, __pthread_rwlock_wrlock, pthread_rwlock_t);
SECOND_NAME(libc_tryrdlock, __pthread_rwlock_tryrdlock, pthread_rwlock_t);
SECOND_NAME(libc_trywrlock, __pthread_rwlock_trywrlock, pthread_rwlock_t);
SECOND_NAME(libc_unlock, __pthread_rwlock_unlock, pthread_rwlock_t);

struct real_calls real_calls = {
    .mutex_lock = libc_mutex_lock,
    .mutex_trylock = libc_mutex_trylock,
    .mutex_unlock = libc_mutex_unlock,
    .rwlock_rdlock = libc_rdlock,
    .rwlock_wrlock = libc_wrlock,
    .rwlock_tryrdlock = libc_tryrdlock,
    .rwlock_trywrlock = libc_trywrlock,
    .rwlock_unlock = libc_unlock,
};

/* The same value may be stored twice; a reader sees it whole. */
static void find(void *place, const char *name, const char *version)
{
    void *found = version ? dlvsym(RTLD_NEXT, name, version) : NULL;

    if (!found)
        found = dlsym(RTLD_NEXT, name);
    if (found)
        __atomic_store_n((void **)place, found, __ATOMIC_RELAXED);
}

void real_calls_find(void)
{
#if defined(__x86_64__)
    static const char condition_version[] = "GLIBC_2.3.2";
#else
    static const char *const condition_version = NULL;
#endif
    find(&real_calls.mutex_timedlock, "pthread_mutex_timedlock", NULL);
    find(&real_calls.mutex_clocklock, "pthread_mutex_clocklock", NULL);
    find(&real_calls.cond_wait, "pthread_cond_wait", condition_version);
    find(&real_calls.cond_timedwait, "pthread_cond_timedwait", condition_version);
    find(&real_calls.cond_clockwait, "pthread_cond_clockwait", NULL);
    find(&real_calls.cond_signal, "pthread_cond_signal", condition_version);
    find(&real_calls.cond_broadcast, "pthread_cond_broadcast", condition_version);
    find(&real_calls.create, "pthread_create", NULL);
    /* a libc without the second names */
    if (!libc_mutex_lock)
        find(&real_calls.mutex_lock, "pthread_mutex_lock", NULL);
    if (!libc_mutex_trylock)
        find(&real_calls.mutex_trylock, "pthread_mutex_trylock", NULL);
    if (!libc_mutex_unlock)
        find(&real_calls.mutex_unlock, "pthread_mutex_unlock", NULL);
    if (!libc_rdlock)
        find(&real_calls.rwlock_rdlock, "pthread_rwlock_rdlock", NULL);
    if (!libc_wrlock)
        find(&real_calls.rwlock_wrlock, "pthread_rwlock_wrlock", NULL);
    if (!libc_tryrdlock)
        find(&real_calls.rwlock_tryrdlock, "pthread_rwlock_tryrdlock", NULL);
    if (!libc_trywrlock)
        find(&real_calls.rwlock_trywrlock, "pthread_rwlock_trywrlock", NULL);
    if (!libc_unlock)
        find(&real_calls.rwlock_unlock, "pthread_rwlock_unlock", NULL);
}
