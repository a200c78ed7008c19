/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
#ifndef OPTRAIL_LOCK_SCHED_BPF_H
#define OPTRAIL_LOCK_SCHED_BPF_H

/*
 * What the scheduler tells: who goes to sleep, who wakes whom, who comes back; and what the owners
 * of locks do meanwhile. A few bits tell of most threads that they are of no interest.
 */
SEC("tp_btf/sched_waking")
int BPF_PROG(waking, struct task_struct *task)
{
    __u32 tgid = task->tgid;
    if (is_foreign(tgid))
        return 0;
    __u64 key = thread_key(tgid, task);
    if (task->on_cpu && !*is_waiting(key))
        come_early(key);
    if (!*watched_count(key) && !*is_waiting(key))
        return 0;
    struct lock_thread *thread = find_thread(key);
    if (!thread)
        return 0;
    __u64 now = bpf_ktime_get_ns();
    if (thread->watchers > 0) {
        __u32 slept = task->__state & TASK_UNINTERRUPTIBLE ? LOCK_STATE_DISK : LOCK_STATE_ASLEEP;
        change_state(thread, slept, LOCK_STATE_RUNNABLE, now);
    }
    if (thread->lock)
        end_sleep(thread, key, now);
    return 0;
}

/* A thread is taken off the CPU. */
static __always_inline void leave(struct task_struct *task, bool preempted)
{
    __u32 tgid = task->tgid, task_state = task->__state;
    if (is_foreign(tgid))
        return;
    __u64 key = thread_key(tgid, task);
    if (!preempted && task_state & (TASK_INTERRUPTIBLE | TASK_WAKING)) {
        const struct pt_regs *registers = (struct pt_regs *)bpf_task_pt_regs(task);
        if (in_futex(registers) && !(task->flags & PF_KTHREAD))
            begin_wait(task, registers, tgid, key);
    }
    if (!*watched_count(key))
        return;
    struct lock_thread *thread = find_thread(key);
    if (!thread || thread->watchers <= 0)
        return;
    __u32 state = LOCK_STATE_ASLEEP;
    if (preempted || task_state == 0)
        state = LOCK_STATE_RUNNABLE;
    else if (thread->lock)
        state = LOCK_STATE_CHAIN;
    else if (task_state & TASK_UNINTERRUPTIBLE)
        state = LOCK_STATE_DISK;
    change_state(thread, LOCK_STATE_RUNNING, state, bpf_ktime_get_ns());
}

/* A thread is put on it. */
static __always_inline void come(struct task_struct *task)
{
    __u32 tgid = task->tgid;
    if (is_foreign(tgid))
        return;
    __u64 key = thread_key(tgid, task);
    bool waiting = *is_waiting(key);
    if (!waiting && !*watched_count(key))
        return;
    struct lock_thread *thread = find_thread(key);
    if (!thread)
        return;
    __u64 now = bpf_ktime_get_ns();
    if (waiting && thread->lock)
        end_wait(thread, task, key, now);
    change_state(thread, LOCK_STATE_RUNNABLE, LOCK_STATE_RUNNING, now);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switching, bool preempted, struct task_struct *from, struct task_struct *to)
{
    leave(from, preempted);
    come(to);
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
        settle(thread, false, now);
        count_waiter(thread->word, -1);
    }
    *is_waiting(key) = 0;
    free_thread(thread);
    return 0;
}

#endif
