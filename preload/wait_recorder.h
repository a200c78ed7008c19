/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_WAIT_RECORDER_H
#define OPTRAIL_WAIT_RECORDER_H

#include <optrail/probe.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "held_locks.h"

/* What could not be told, and why; written to $OPTRAIL_LOCK_STATS at the end. RECORDER(field, text)
 */
#define RECORDER_ROWS(RECORDER)                                                                    \
    RECORDER(waits, "waits above the threshold that were told")                                    \
    RECORDER(wait_ns, "their time")                                                                \
    RECORDER(short_waits, "waits below the threshold")                                             \
    RECORDER(short_wait_ns, "their time")                                                          \
    RECORDER(owner_unknown, "waits for locks of which nobody knew who had them")                   \
    RECORDER(hold_unknown, "waits after which it was not known how long the lock had been held")   \
    RECORDER(nested, "waits in a signal handler that had interrupted the telling of another")      \
    RECORDER(unprepared, "waits of threads that LTTng could not be made ready for")                \
    RECORDER(locks_without_room, "waits for locks that found no place in the table")               \
    RECORDER(stacks_unwound, "stacks that were unwound, not just remembered")                      \
    RECORDER(stacks_cut, "stacks deeper than is kept")                                             \
    RECORDER(stacks_without_room, "stacks that found no place in the table")                       \
    RECORDER(stacks_on_other_stacks, "waits on a signal handler's own stack: it may be small")     \
    RECORDER(forks, "forks that this process came from")

struct recorder_counts {
#define RECORDER_FIELD(field, text) _Atomic uint64_t field;
    RECORDER_ROWS(RECORDER_FIELD)
#undef RECORDER_FIELD
};

extern struct recorder_counts recorder_counts __attribute__((visibility("hidden")));

#define recorder_count(field, amount)                                                              \
    ((void)atomic_fetch_add_explicit(&recorder_counts.field, (amount), memory_order_relaxed))

/* A thread's own. "initial exec": the other models may allocate memory at the first use. */
struct recorder_thread {
    uint32_t tid;          /* 0: not asked yet */
    volatile uint8_t busy; /* it is telling: what its signal handlers wait for is not told */
    uint8_t prepared;      /* LTTng has what it needs for this thread */
};

extern __thread struct recorder_thread recorder_thread
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

static inline uint64_t recorder_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Whether LTTng is there, or is just coming in. */
extern _Atomic bool recorder_lttng __attribute__((visibility("hidden")));

/* Whether this thread may tell: USDT probes need nothing of a thread. */
static inline bool recorder_is_prepared(void)
{
    return recorder_thread.prepared || !atomic_load_explicit(&recorder_lttng, memory_order_relaxed);
}

/* Whether waits are told now: somebody listens, and this thread can tell and is not telling
 * already.
 */
static inline bool recorder_listens(void)
{
    return OPTRAIL_ENABLED(lock_waited) && !recorder_thread.busy && recorder_is_prepared();
}

/* When this process began, or was forked. */
extern uint64_t recorder_process_began_ns __attribute__((visibility("hidden")));

/* The same for who is about to wait. */
static inline bool recorder_wants_wait(void)
{
    if (!OPTRAIL_ENABLED(lock_waited))
        return false;
    if (recorder_thread.busy)
        recorder_count(nested, 1);
    else if (!recorder_is_prepared())
        recorder_count(unprepared, 1);
    return !recorder_thread.busy && recorder_is_prepared();
}

uint32_t recorder_tid(void) __attribute__((visibility("hidden")));

/* A wait that is about to begin. Lives on the waiter's stack. */
struct pending_wait {
    const void *lock;
    struct held_lock *held; /* NULL: no room in the table */
    uint64_t begin_ns;
    uint32_t owner; /* at its beginning; 0: not known */
    uint16_t kind;  /* enum optrail_wait_kind */
};

/* `owner`: the word in the lock that tells who has it; NULL: there is none. */
void wait_begin(struct pending_wait *wait, const void *lock, uint16_t kind, const int *owner)
    __attribute__((visibility("hidden")));

/* It is over, with the lock (`had`) or without. Tells it if it was long enough. With `alone` the
 * thread holds the lock by itself now. */
void wait_end(struct pending_wait *wait, bool had, bool alone)
    __attribute__((visibility("hidden")));

/* It is over because the thread is cancelled: nothing is told. */
void wait_abandon(struct pending_wait *wait) __attribute__((visibility("hidden")));

/* For `held` that was found: the calling thread has got the lock without waiting, alone. */
void held_lock_taken(struct held_lock *held) __attribute__((visibility("hidden")));

/* For `held` that was found: the calling thread gives the lock back, or wakes who waits, just now.
 */
void held_lock_released(struct held_lock *held) __attribute__((visibility("hidden")));

/* Loads the LTTng provider, once: when the program is about to have a second thread. Prepares the
 * calling thread. */
void recorder_start(void) __attribute__((visibility("hidden")));

/* Makes LTTng allocate what it keeps for the calling thread. It would do so at the thread's first
 * event, and by then the thread may hold the lock of the very allocator: it would wait for itself.
 */
void recorder_prepare_thread(void) __attribute__((visibility("hidden")));

/* Whether recorder_prepare_thread() can do anything: LTTng is there. */
bool recorder_can_prepare(void) __attribute__((visibility("hidden")));

#endif
