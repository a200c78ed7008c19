/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_HELD_LOCKS_H
#define OPTRAIL_HELD_LOCKS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Locks that have been waited for, by address: who holds them since when, and who released them
 * last. A table of a fixed size without locks. A lock that nobody has waited for is not in it, and
 * costs one look at one cache line.
 */

struct held_lock {
    _Atomic uintptr_t lock;      /* its address; 0: free place */
    _Atomic uint32_t waiters;    /* threads that wait now */
    _Atomic uint32_t owner;      /* who has it by itself, tid; 0: nobody, or not known */
    _Atomic uint64_t since_ns;   /* since when */
    _Atomic uint64_t used_ns;    /* when it was waited for last */
    _Atomic uint32_t releaser;   /* of the last release that found waiters, tid; 0: none */
    _Atomic uint32_t stack;      /* of that release */
    _Atomic uint64_t hold_ns;    /* how long it had held the lock; 0: not known */
    _Atomic uint64_t release_ns; /* when */
};

enum { HELD_LOCKS = 4096, HELD_LOCK_PROBES = 8 };

extern struct held_lock held_locks[HELD_LOCKS] __attribute__((visibility("hidden")));

static inline unsigned held_lock_place(uintptr_t lock)
{
    /* multiplicative hashing (Knuth): the product's upper bits */
    return (unsigned)((uint64_t)lock * UINT64_C(0x9e3779b97f4a7c15) >> 52);
}

/* The lock's place; NULL: nobody has waited for it. Safe anywhere. */
static inline struct held_lock *held_lock_find(const void *lock)
{
    unsigned place = held_lock_place((uintptr_t)lock);

    for (unsigned i = 0; i < HELD_LOCK_PROBES; i++) {
        struct held_lock *held = &held_locks[(place + i) % HELD_LOCKS];
        uintptr_t at = atomic_load_explicit(&held->lock, memory_order_relaxed);
        if (at == (uintptr_t)lock)
            return held;
        if (at == 0)
            return NULL;
    }
    return NULL;
}

/* The same, and a new place if there is none; a lock that was not waited for during the last ten
 * seconds may lose its own. NULL: no room. */
struct held_lock *held_lock_get(const void *lock, uint64_t now_ns)
    __attribute__((visibility("hidden")));

/* In a forked child: nobody waits, nothing is known. */
void held_locks_forget(void) __attribute__((visibility("hidden")));

#endif
