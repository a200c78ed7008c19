/* SPDX-License-Identifier: MIT */
#include "held_locks.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define UNUSED_NS 10000000000ull

struct held_lock held_locks[HELD_LOCKS];

_Static_assert(HELD_LOCKS == 1 << 12, "held_lock_place() takes the upper twelve bits");

/* What stands there tells of another lock. */
static void clear(struct held_lock *held, uint64_t now_ns)
{
    atomic_store_explicit(&held->owner, 0, memory_order_relaxed);
    atomic_store_explicit(&held->releaser, 0, memory_order_relaxed);
    atomic_store_explicit(&held->release_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&held->used_ns, now_ns, memory_order_relaxed);
}

static bool is_unused(struct held_lock *held, uint64_t now_ns)
{
    uint64_t used = atomic_load_explicit(&held->used_ns, memory_order_relaxed);

    return atomic_load_explicit(&held->waiters, memory_order_relaxed) == 0 && now_ns > used &&
           now_ns - used > UNUSED_NS;
}

struct held_lock *held_lock_get(const void *lock, uint64_t now_ns)
{
    unsigned place = held_lock_place((uintptr_t)lock);
    struct held_lock *held = held_lock_find(lock);

    for (unsigned i = 0; !held && i < HELD_LOCK_PROBES; i++) {
        struct held_lock *candidate = &held_locks[(place + i) % HELD_LOCKS];
        uintptr_t at = atomic_load_explicit(&candidate->lock, memory_order_relaxed);
        if (at == 0 || (at != (uintptr_t)lock && is_unused(candidate, now_ns))) {
            if (atomic_compare_exchange_strong_explicit(&candidate->lock, &at, (uintptr_t)lock,
                                                        memory_order_relaxed,
                                                        memory_order_relaxed)) {
                clear(candidate, now_ns);
                at = (uintptr_t)lock;
            }
        }
        if (at == (uintptr_t)lock)
            held = candidate;
    }
    if (held)
        atomic_store_explicit(&held->used_ns, now_ns, memory_order_relaxed);
    return held;
}

void held_locks_forget(void)
{
    memset(held_locks, 0, sizeof(held_locks));
}
