/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
#ifndef OPTRAIL_LOCK_THREADS_BPF_H
#define OPTRAIL_LOCK_THREADS_BPF_H

#include "watched.bpf.h"

/*
 * Rows of threads: found by the number that the process itself knows the thread by, for that is
 * what it writes into its locks. And what the owner of a lock does while somebody waits for it.
 */

/* The thread's number in the innermost pid namespace. */
static __always_inline __u32 inner_tid(struct task_struct *task)
{
    if (!inner_numbers)
        return task->pid; /* without a look at one more of the kernel's structures */
    struct pid *pid = task->thread_pid;
    __u32 number = task->pid;
    if (!pid)
        return number;
    __u32 level = pid->level;
    if (level)
        bpf_probe_read_kernel(&number, sizeof(number), &pid->numbers[level].nr);
    return number;
}

static __always_inline __u64 thread_key(__u32 tgid, struct task_struct *task)
{
    return (__u64)tgid << 32 | inner_tid(task);
}

static __always_inline __u8 *is_waiting(__u64 key)
{
    return &interest[key & (LOCK_INTEREST - 1)].waits;
}

static __always_inline __u32 waited_at(__u64 word)
{
    return (word >> 2) * 0x9e3779b97f4a7c15ull >> 48;
}

/* One more, or one less, who waits for what somebody has. */
static __always_inline void count_waiter(__u64 word, int change)
{
    __sync_fetch_and_add(&waited[waited_at(word) & (WAITED_ROOM - 1)], change);
}

static __always_inline bool has_waiters(__u64 word)
{
    return waited[waited_at(word) & (WAITED_ROOM - 1)] != 0;
}

static __always_inline __u32 *watched_count(__u64 key)
{
    return &interest[key & (LOCK_INTEREST - 1)].watched;
}

/* A thread's row is at one of so many places. */
#define PLACES 4

static __always_inline struct lock_thread *place_of(__u64 key, __u32 which)
{
    __u32 at = (__u32)key ^ (__u32)(key >> 32) * 0x9e37 ^ which * 0x2f6b;
    return &threads[at & (LOCK_MAX_THREADS - 1)];
}

static __noinline struct lock_thread *find_further(__u64 key)
{
    for (__u32 i = 1; i < PLACES; i++) {
        struct lock_thread *thread = place_of(key, i);
        if (thread->key == key)
            return thread;
    }
    return NULL;
}

/* NULL: there is none. */
static __always_inline struct lock_thread *find_thread(__u64 key)
{
    struct lock_thread *thread = place_of(key, 0);
    return thread->key == key ? thread : find_further(key);
}

static __noinline struct lock_thread *make_thread(__u64 key)
{
    for (__u32 i = 0; i < PLACES; i++) {
        struct lock_thread *thread = place_of(key, i);
        __u64 before = __sync_val_compare_and_swap(&thread->key, 0, key);
        if (before == 0 || before == key)
            return thread;
    }
    count(LOCK_THREADS_FULL);
    return NULL;
}

/* Made if it is not there. `own`: the current thread's. */
static __always_inline struct lock_thread *thread_row(__u64 key, __u32 process, bool own)
{
    struct lock_thread *thread = find_thread(key);
    if (!thread)
        thread = make_thread(key);
    if (!thread)
        return NULL;
    if (thread->pid == 0) {
        thread->process = process;
        thread->pid = process_facts[process & (LOCK_MAX_PROCESSES - 1)].pid;
    }
    if (own && thread->tid == 0)
        thread->tid = tid_of_current();
    return thread;
}

/* The thread has ended: its row is somebody else's from now on. */
static __always_inline void free_thread(struct lock_thread *thread)
{
    __u64 key = thread->key;
    if (thread->watchers > 0)
        __sync_fetch_and_add(watched_count(key), -thread->watchers);
    __builtin_memset((char *)thread + sizeof(key), 0, sizeof(*thread) - sizeof(key));
    asm volatile("" ::: "memory");
    thread->key = 0;
}

/* The time up to now belongs to what it did until now. */
static __always_inline void spend(struct lock_thread *thread, __u32 state, __u64 now)
{
    __u64 since = thread->since_ns;
    if (now > since)
        thread->spent_ns[state & (LOCK_STATE_ROOM - 1)] += now - since;
    thread->since_ns = now;
}

/* The thread comes to do something else; `was`: what it must have done, if that was not known. */
static __always_inline void change_state(struct lock_thread *thread, __u32 was, __u32 becomes,
                                         __u64 now)
{
    if (thread->watchers <= 0)
        return;
    __u32 state = thread->state;
    spend(thread, state == LOCK_STATE_UNKNOWN ? was : state, now);
    thread->state = becomes;
}

/* From now on the waiter wants to know what the owner does. Returns that one; NULL: no room. */
static __always_inline struct lock_thread *watch(struct lock_thread *waiter, __u64 owner_key,
                                                 __u32 process, __u64 now)
{
    struct lock_thread *owner = thread_row(owner_key, process, false);
    if (!owner)
        return NULL;
    if (__sync_fetch_and_add(&owner->watchers, 1) <= 0) {
        owner->since_ns = now;
        owner->state = owner->lock ? LOCK_STATE_CHAIN : LOCK_STATE_UNKNOWN;
    }
    __sync_fetch_and_add(watched_count(owner_key), 1);
    __u64 going_on = now - owner->since_ns;
    __u32 state = owner->state;
#pragma unroll
    for (__u32 i = 0; i < LOCK_STATES; i++)
        waiter->owner_before[i] = owner->spent_ns[i] + (i == state ? going_on : 0);
    waiter->owner_key = owner_key;
    waiter->chain_lock = owner->lock;
    return owner;
}

/* The current thread gives back what others wait for, perhaps to another than those who watch it:
 * what it does from here on is no business of theirs. */
static __always_inline void give_back(struct lock_thread *owner, __u64 word, __u64 now)
{
    if (owner->watchers <= 0)
        return;
    spend(owner, LOCK_STATE_RUNNING, now);
    owner->state = LOCK_STATE_RUNNING;
#pragma unroll
    for (__u32 i = 0; i < LOCK_STATES; i++)
        owner->spent_until[i] = owner->spent_ns[i];
    owner->gave_word = word;
    owner->gave_ns = now;
}

/* The lock is free, or the wait over: what the owner has done up to now, or until it gave the lock
 * to another, is what it did meanwhile. `running`: it is the current thread. */
static __always_inline void settle(struct lock_thread *waiter, bool running, __u64 now)
{
    if (waiter->settled || !waiter->owner_key)
        return;
    struct lock_thread *owner = find_thread(waiter->owner_key);
    if (!owner)
        return;
    waiter->settled = 1;
    __u32 state = owner->state;
    /* Nothing began and nothing ended: one that gives the lock back was running. Of another one,
     * asleep perhaps when the waiter gives up, or of another process, it is not known. */
    if (state == LOCK_STATE_UNKNOWN && running)
        state = LOCK_STATE_RUNNING;
    bool gone = owner->gave_word == waiter->word && owner->gave_ns > waiter->begin_ns;
    __u64 until = gone ? owner->gave_ns : now;
    __u64 going_on = now > owner->since_ns ? now - owner->since_ns : 0;
    __u64 longest = until > waiter->begin_ns ? until - waiter->begin_ns : 0;
#pragma unroll
    for (__u32 i = 0; i < LOCK_STATES; i++) {
        __u64 spent =
            gone ? owner->spent_until[i] : owner->spent_ns[i] + (i == state ? going_on : 0);
        __u64 before = waiter->owner_before[i];
        __u64 meanwhile = spent > before ? spent - before : 0;
        if (meanwhile > longest)
            meanwhile = longest;
        longest -= meanwhile;
        waiter->meanwhile[i] = meanwhile;
    }
    if (owner->lock && waiter->chain_lock == 0 && !gone)
        waiter->chain_lock = owner->lock;
    __sync_fetch_and_add(&owner->watchers, -1);
    __sync_fetch_and_add(watched_count(waiter->owner_key), -1);
}

#endif
