/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
#ifndef OPTRAIL_LOCK_THREADS_BPF_H
#define OPTRAIL_LOCK_THREADS_BPF_H

/*
 * Rows of threads: found by the number that the process itself knows the thread by, for that is
 * what it writes into its locks. And what the owner of a lock does while somebody waits for it.
 */

/* The thread's number in the innermost pid namespace. */
static __always_inline __u32 inner_tid(struct task_struct *task)
{
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

/* What can be told without a look into a table. */
static __always_inline bool is_foreign(__u32 tgid)
{
    return only_tgid && tgid != only_tgid;
}

static __always_inline __u8 *busy_bits(__u64 key)
{
    return &busy[key & (BUSY_ROOM - 1)];
}

static __always_inline __u32 waited_at(__u64 word)
{
    return (word >> 2) * 0x9e3779b97f4a7c15ull >> 52;
}

/* One more, or one less, who waits for what somebody has. */
static __always_inline void count_waiter(__u64 word, int change)
{
    __sync_fetch_and_add(&waited[waited_at(word) & (WAITED_ROOM - 1)], change);
    __sync_fetch_and_add(&waiters, change);
}

/* The watched process that the current one is; NULL: it is none. */
static __always_inline const struct lock_process *process_of_current(__u32 tgid)
{
    const struct lock_process *process = bpf_map_lookup_elem(&processes, &tgid);
    if (process || !namespace_inode)
        return process;
    struct bpf_pidns_info info = {};
    if (bpf_get_ns_current_pid_tgid(namespace_device, namespace_inode, &info, sizeof(info)))
        return NULL;
    process = bpf_map_lookup_elem(&named_processes, &info.tgid);
    if (!process)
        return NULL;
    bpf_map_update_elem(&processes, &tgid, process, BPF_NOEXIST);
    return bpf_map_lookup_elem(&processes, &tgid);
}

/* As user space names it. */
static __always_inline __u32 tid_of_current(void)
{
    if (!namespace_inode)
        return (__u32)bpf_get_current_pid_tgid();
    struct bpf_pidns_info info = {};
    if (bpf_get_ns_current_pid_tgid(namespace_device, namespace_inode, &info, sizeof(info)))
        return 0;
    return info.pid;
}

/* The row, made if it is not there. tid 0: not known yet. */
static __always_inline struct lock_thread *thread_row(__u64 key, __u32 pid, __u32 tid)
{
    struct lock_thread *thread = bpf_map_lookup_elem(&threads, &key);
    if (!thread) {
        __u32 zero = 0;
        struct lock_thread *blank = bpf_map_lookup_elem(&blank_thread, &zero);
        if (!blank)
            return NULL;
        bpf_map_update_elem(&threads, &key, blank, BPF_NOEXIST);
        thread = bpf_map_lookup_elem(&threads, &key);
        if (!thread) {
            count(LOCK_THREADS_FULL);
            return NULL;
        }
    }
    if (thread->pid == 0)
        thread->pid = pid;
    if (thread->tid == 0)
        thread->tid = tid;
    return thread;
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

/* From now on the waiter wants to know what the owner does. */
static __always_inline void watch(struct lock_thread *waiter, __u64 owner_key, __u32 pid, __u64 now)
{
    struct lock_thread *owner = thread_row(owner_key, pid, 0);
    if (!owner)
        return;
    if (__sync_fetch_and_add(&owner->watchers, 1) <= 0) {
        owner->since_ns = now;
        owner->state = owner->lock ? LOCK_STATE_CHAIN : LOCK_STATE_UNKNOWN;
    }
    __u64 going_on = now - owner->since_ns;
    __u32 state = owner->state;
#pragma unroll
    for (__u32 i = 0; i < LOCK_STATES; i++)
        waiter->owner_before[i] = owner->spent_ns[i] + (i == state ? going_on : 0);
    waiter->owner_key = owner_key;
    waiter->chain_lock = owner->lock;
}

/* The lock is free, or the wait over: what the owner has done up to now is what it did meanwhile.
 */
static __always_inline void settle(struct lock_thread *waiter, __u64 now)
{
    if (waiter->settled || !waiter->owner_key)
        return;
    struct lock_thread *owner = bpf_map_lookup_elem(&threads, &waiter->owner_key);
    if (!owner)
        return;
    waiter->settled = 1;
    __u32 state = owner->state;
    /* nothing began and nothing ended: one that gave the lock back was running */
    if (state == LOCK_STATE_UNKNOWN)
        state = LOCK_STATE_RUNNING;
    __u64 going_on = now > owner->since_ns ? now - owner->since_ns : 0;
    __u64 longest = now - waiter->begin_ns;
#pragma unroll
    for (__u32 i = 0; i < LOCK_STATES; i++) {
        __u64 spent = owner->spent_ns[i] + (i == state ? going_on : 0);
        __u64 before = waiter->owner_before[i];
        __u64 meanwhile = spent > before ? spent - before : 0;
        if (meanwhile > longest)
            meanwhile = longest;
        longest -= meanwhile;
        waiter->meanwhile[i] = meanwhile;
    }
    if (owner->lock && waiter->chain_lock == 0)
        waiter->chain_lock = owner->lock;
    __sync_fetch_and_add(&owner->watchers, -1);
}

#endif
