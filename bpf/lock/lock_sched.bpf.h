/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
#ifndef OPTRAIL_LOCK_SCHED_BPF_H
#define OPTRAIL_LOCK_SCHED_BPF_H

/*
 * What the scheduler tells: who wakes whom, and what the owners of locks do meanwhile. A few bits
 * tell of most threads that they are of no interest.
 */
/* The thread's row, if somebody waits for it. */
static __always_inline struct lock_thread *watched_row(struct task_struct *task)
{
    __u32 tgid = task->tgid;
    if (is_foreign(tgid))
        return NULL;
    __u64 key = thread_key(tgid, task);
    if (!*watched_count(key))
        return NULL;
    struct lock_thread *thread = find_thread(key);
    return thread && thread->watchers > 0 ? thread : NULL;
}

/* The current thread is in a wake of its own, and wakes this waiter by it. */
static __always_inline void released(struct lock_thread *waiter, __u64 waiter_key, __u64 now)
{
    struct task_struct *task = bpf_get_current_task_btf();
    __u32 tgid = task->tgid;
    __u64 key = thread_key(tgid, task);
    if (!(*busy_bits(key) & BUSY_INSIDE))
        return;
    struct lock_thread *releaser = find_thread(key);
    if (!releaser || !releaser->wake_word || key >> 32 != waiter_key >> 32)
        return;
    waiter->releaser = releaser->tid;
    waiter->hold_ns = releaser->wake_hold_ns;
    settle(waiter, now);
    waiter->wake_ns = now;
    releaser->woken = waiter->tid;
    releaser->woken_ns = now;
    releaser->woken_long = now - waiter->begin_ns >= SHORT_WAIT_NS;
    releaser->woken_key = waiter_key;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(waking, struct task_struct *task)
{
    __u32 tgid = task->tgid;
    if (is_foreign(tgid))
        return 0;
    __u64 key = thread_key(tgid, task);
    bool is_watched = *watched_count(key), inside = *busy_bits(key) & BUSY_INSIDE;
    if (!is_watched && !inside)
        return 0;
    struct lock_thread *thread = find_thread(key);
    if (!thread)
        return 0;
    __u64 now = bpf_ktime_get_ns();
    if (thread->watchers > 0) {
        __u32 slept = task->__state & TASK_UNINTERRUPTIBLE ? LOCK_STATE_DISK : LOCK_STATE_ASLEEP;
        change_state(thread, slept, LOCK_STATE_RUNNABLE, now);
    }
    if (thread->lock && thread->followed && !thread->wake_ns)
        released(thread, key, now);
    return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switching, bool preempted, struct task_struct *from, struct task_struct *to)
{
    struct lock_thread *thread = watched_row(from);
    if (thread) {
        __u32 task_state = from->__state;
        __u32 state = LOCK_STATE_ASLEEP;
        if (preempted || task_state == 0)
            state = LOCK_STATE_RUNNABLE;
        else if (thread->lock)
            state = LOCK_STATE_CHAIN;
        else if (task_state & TASK_UNINTERRUPTIBLE)
            state = LOCK_STATE_DISK;
        change_state(thread, LOCK_STATE_RUNNING, state, bpf_ktime_get_ns());
    }
    thread = watched_row(to);
    if (thread)
        change_state(thread, LOCK_STATE_RUNNABLE, LOCK_STATE_RUNNING, bpf_ktime_get_ns());
    return 0;
}

static __always_inline void tell_exit(__u32 pid, __u64 key, __u64 now)
{
    struct lock_exit *record = bpf_ringbuf_reserve(&ring, sizeof(*record), 0);
    if (!record) {
        count(LOCK_LOST);
        return;
    }
    record->type = LOCK_RECORD_EXIT;
    record->pid = pid;
    record->inner = (__u32)key;
    record->tid = tid_of_current();
    record->time_ns = now;
    bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

/* A thread ends, perhaps in the middle of a wait. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(exiting, struct task_struct *task)
{
    __u32 tgid = task->tgid;
    if (is_foreign(tgid))
        return 0;
    __u32 process = process_of_current(tgid);
    if (process >= LOCK_MAX_PROCESSES)
        return 0;
    __u64 key = thread_key(tgid, task), now = bpf_ktime_get_ns();
    tell_exit(process_facts[process & (LOCK_MAX_PROCESSES - 1)].pid, key, now);
    struct lock_thread *thread = find_thread(key);
    if (!thread)
        return 0;
    if (thread->lock && thread->followed) {
        settle(thread, now);
        count_waiter(thread->word, -1);
    }
    *busy_bits(key) = 0;
    free_thread(thread);
    return 0;
}

#endif
