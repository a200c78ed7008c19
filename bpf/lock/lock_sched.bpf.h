/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
#ifndef OPTRAIL_LOCK_SCHED_BPF_H
#define OPTRAIL_LOCK_SCHED_BPF_H

/*
 * What the scheduler tells: who wakes whom, and what the owners of locks do meanwhile. It is looked
 * at only while somebody waits.
 */
static __always_inline struct lock_thread *row_of(struct task_struct *task)
{
    __u32 tgid = task->tgid;
    if (is_foreign(tgid) || !bpf_map_lookup_elem(&processes, &tgid))
        return NULL;
    __u64 key = thread_key(tgid, task);
    return bpf_map_lookup_elem(&threads, &key);
}

/* The current thread is in a wake of its own, and wakes this waiter by it. */
static __always_inline void released(struct lock_thread *waiter, __u64 waiter_key, __u64 now)
{
    struct task_struct *task = bpf_get_current_task_btf();
    __u32 tgid = task->tgid;
    __u64 key = thread_key(tgid, task);
    struct lock_thread *releaser = bpf_map_lookup_elem(&threads, &key);
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
    if (waiters <= 0)
        return 0;
    __u32 tgid = task->tgid;
    if (is_foreign(tgid) || !bpf_map_lookup_elem(&processes, &tgid))
        return 0;
    __u64 key = thread_key(tgid, task);
    struct lock_thread *thread = bpf_map_lookup_elem(&threads, &key);
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
    if (waiters <= 0)
        return 0;
    struct lock_thread *thread = row_of(from);
    if (thread && thread->watchers > 0) {
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
    thread = row_of(to);
    if (thread && thread->watchers > 0)
        change_state(thread, LOCK_STATE_RUNNABLE, LOCK_STATE_RUNNING, bpf_ktime_get_ns());
    return 0;
}

static __always_inline void tell_exit(const struct lock_process *process, __u64 key, __u64 now)
{
    struct lock_exit *record = bpf_ringbuf_reserve(&ring, sizeof(*record), 0);
    if (!record) {
        count(LOCK_LOST);
        return;
    }
    record->type = LOCK_RECORD_EXIT;
    record->pid = process->pid;
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
    const struct lock_process *process =
        is_foreign(tgid) ? NULL : bpf_map_lookup_elem(&processes, &tgid);
    if (!process)
        return 0;
    __u64 key = thread_key(tgid, task), now = bpf_ktime_get_ns();
    tell_exit(process, key, now);
    struct lock_thread *thread = bpf_map_lookup_elem(&threads, &key);
    if (!thread)
        return 0;
    if (thread->lock && thread->followed) {
        settle(thread, now);
        count_waiter(thread->word, -1);
    }
    bpf_map_delete_elem(&threads, &key);
    return 0;
}

#endif
