// SPDX-License-Identifier: (MIT OR GPL-2.0)
/*
 * Where threads spend their time: on a CPU, by a clock that ticks on each; off it, by what the
 * scheduler does. A thread's stacks are taken when it leaves the CPU, while it is the current one;
 * how long it was away is known when it is back.
 */
#include "vmlinux.h"
/* vmlinux.h has the fixed-width types; the headers of ours ask for <stdint.h> */
#define _STDINT_H
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "lock_wait.h"
#include "lock_record.h"
#include "sample_record.h"
#include "wait_sample.bpf.h"
#include "watched.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* from <linux/sched.h> */
#define TASK_UNINTERRUPTIBLE 2
#define TASK_NOLOAD          0x400

/* Whether it is told who woke a thread. Set before loading. */
const volatile bool follow_wakers = false;
/* Snapshots left until the loader raises it again. */
int snapshots_left = 0;
__u32 stack_count = 0;

/* Names of the kernel's functions, that user space asks for: see name_functions. */
__u64 asked[SAMPLE_KERNEL_FRAMES] = {};
__u32 asked_count = 0;
char told[SAMPLE_KERNEL_FRAMES][SAMPLE_KERNEL_NAME] = {};

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, SAMPLE_MAX_STACKS);
    __type(key, struct lock_stack_key);
    __type(value, struct lock_stack);
} stacks SEC(".maps");

/* All rows are there from the beginning: the scheduler must not wait for memory. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, SAMPLE_MAX_THREADS);
    __type(key, __u32);
    __type(value, struct sample_thread);
} threads SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_STACK_TRACE);
    __uint(max_entries, SAMPLE_KERNEL_STACKS);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, SAMPLE_KERNEL_FRAMES * sizeof(__u64));
} kernel_stacks SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, LOCK_COUNTERS);
    __type(key, __u32);
    __type(value, __u64);
} counters SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 8 * 1024 * 1024);
} ring SEC(".maps");

static __always_inline void count(__u32 which)
{
    __u64 *counter = bpf_map_lookup_elem(&counters, &which);
    if (counter)
        (*counter)++;
}

#define MAX_STACKS SAMPLE_MAX_STACKS
#include "lock_stack.bpf.h"

static __always_inline __u32 pid_of(__u32 process)
{
    return process_facts[process & (LOCK_MAX_PROCESSES - 1)].pid;
}

/* The tick of a clock: `room` bytes of the stack at the most. */
#define TAKE_CPU(room)                                                                             \
    static __always_inline void take_cpu_##room(struct bpf_perf_event_data *context, __u32 pid,    \
                                                const struct pt_regs *registers, __u32 bytes)      \
    {                                                                                              \
        struct sample_cpu *sample =                                                                \
            bpf_ringbuf_reserve(&ring, sizeof(struct sample_cpu) + (room), 0);                     \
        if (!sample) {                                                                             \
            count(LOCK_LOST);                                                                      \
            return;                                                                                \
        }                                                                                          \
        sample->type = SAMPLE_RECORD_CPU;                                                          \
        sample->tid = tid_of_current();                                                            \
        sample->time_ns = bpf_ktime_get_ns();                                                      \
        sample->kernel_stack = (int)bpf_get_stackid(context, &kernel_stacks, 0);                   \
        bpf_get_current_comm(sample->name, sizeof(sample->name));                                  \
        sample->snapshot.pid = pid;                                                                \
        take_registers(&sample->snapshot, registers);                                              \
        copy_stack(&sample->snapshot, registers->sp, bytes, (room));                               \
        bpf_ringbuf_submit(sample, BPF_RB_NO_WAKEUP);                                              \
    }

TAKE_CPU(SMALL_BYTES)
TAKE_CPU(MEDIUM_BYTES)
TAKE_CPU(LARGE_BYTES)
TAKE_CPU(HUGE_BYTES)

SEC("perf_event")
int on_cpu(struct bpf_perf_event_data *context)
{
    struct task_struct *task = bpf_get_current_task_btf();
    __u32 tgid = task->tgid;
    if (is_foreign(tgid))
        return 0;
    __u32 process = process_of_current(tgid);
    if (process >= LOCK_MAX_PROCESSES)
        return 0;
    const struct pt_regs *registers = (struct pt_regs *)bpf_task_pt_regs(task);
    __u32 depth = stack_depth(task, registers->sp), pid = pid_of(process);
    __u32 bytes = bytes_of(depth), room = room_for(registers->sp, bytes);
    count(LOCK_SNAPSHOTS);
    /* waits are small and each counts with all its time: there is always room for them */
    if (bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >
        bpf_ringbuf_query(&ring, BPF_RB_RING_SIZE) / 4 * 3) {
        count(LOCK_LOST);
        return 0;
    }
    if (room <= SMALL_BYTES)
        take_cpu_SMALL_BYTES(context, pid, registers, bytes);
    else if (room <= MEDIUM_BYTES)
        take_cpu_MEDIUM_BYTES(context, pid, registers, bytes);
    else if (room <= LARGE_BYTES)
        take_cpu_LARGE_BYTES(context, pid, registers, bytes);
    else
        take_cpu_HUGE_BYTES(context, pid, registers, bytes);
    return 0;
}

/* The number of the current thread's user stack; 0: none. */
static __always_inline __u32 user_stack(__u32 process)
{
    struct lock_layout layout;
    __u64 hash;
    return find_number(&process_facts[process & (LOCK_MAX_PROCESSES - 1)], 1, &layout, &hash);
}

/* The thread was off the CPU until `now`. */
static __always_inline void tell(struct sample_thread *thread, __u64 now)
{
    __u64 begin = thread->off_ns;
    __u32 weight = weight_of(now - begin);
    thread->off_ns = 0;
    count(LOCK_WAITS);
    if (!weight) {
        count(LOCK_SAMPLED_OUT);
        return;
    }
    struct sample_wait *wait = bpf_ringbuf_reserve(&ring, sizeof(*wait), 0);
    if (!wait) {
        count(LOCK_LOST);
        return;
    }
    wait->type = SAMPLE_RECORD_WAIT;
    wait->weight = weight;
    wait->begin_ns = begin;
    wait->end_ns = now;
    wait->wake_ns = thread->wake_ns;
    wait->pid = thread->pid;
    wait->tid = thread->tid;
    wait->stack = thread->stack;
    wait->kernel_stack = thread->kernel_stack;
    wait->flags = thread->flags;
    __builtin_memcpy(wait->name, thread->name, sizeof(wait->name));
    __builtin_memcpy(&wait->waker, &thread->waker, sizeof(wait->waker));
    bpf_ringbuf_submit(wait, BPF_RB_NO_WAKEUP);
}

/* A thread gets the CPU again. */
static __always_inline void come_back(__u32 key, __u64 now)
{
    struct sample_thread *thread = bpf_map_lookup_elem(&threads, &key);
    if (thread && thread->off_ns)
        tell(thread, now);
}

/* The current thread leaves the CPU. */
static __always_inline void leave(void *context, struct task_struct *task, bool preempted,
                                  __u32 process, __u64 now)
{
    __u32 key = task->pid, state = task->__state;
    struct sample_thread *thread = bpf_map_lookup_elem(&threads, &key);
    if (!thread) {
        struct sample_thread fresh = {.pid = pid_of(process), .tid = tid_of_current()};
        if (bpf_map_update_elem(&threads, &key, &fresh, BPF_NOEXIST)) {
            count(LOCK_THREADS_FULL);
            return;
        }
        thread = bpf_map_lookup_elem(&threads, &key);
        if (!thread)
            return;
    }
    if (thread->off_ns) {
        /* its return was not seen; when it was woken is known all the same */
        count(LOCK_UNMATCHED);
        if (thread->wake_ns > thread->off_ns)
            tell(thread, thread->wake_ns);
    }
    bool wants = preempted || state == 0;
    bool disk = (state & (TASK_UNINTERRUPTIBLE | TASK_NOLOAD)) == TASK_UNINTERRUPTIBLE ||
                BPF_CORE_READ_BITFIELD(task, in_iowait);
    thread->flags = wants ? SAMPLE_WAIT_PREEMPTED : disk ? SAMPLE_WAIT_DISK : 0;
    thread->stack = user_stack(process);
    thread->kernel_stack = (int)bpf_get_stackid(context, &kernel_stacks, 0);
    bpf_get_current_comm(thread->name, sizeof(thread->name));
    thread->wake_ns = wants ? now : 0;
    thread->off_ns = now;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switching, bool preempted, struct task_struct *from, struct task_struct *to)
{
    __u32 leaving = from->tgid, coming = to->tgid;
    __u64 now = bpf_ktime_get_ns();
    if (!is_foreign(leaving) && !from->exit_state) {
        __u32 process = process_of_current(leaving);
        if (process < LOCK_MAX_PROCESSES)
            leave(ctx, from, preempted, process, now);
    }
    if (!is_foreign(coming) && (only_tgid || bpf_map_lookup_elem(&processes, &coming)))
        come_back(to->pid, now);
    return 0;
}

/* The current thread wakes another one. */
static __always_inline void take_waker(void *context, struct sample_thread *woken)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct sample_waker *waker = &woken->waker;
    __u32 tgid = task->tgid;
    __u32 process = is_foreign(tgid) ? LOCK_MAX_PROCESSES : process_of_current(tgid);
    bool watched = process < LOCK_MAX_PROCESSES;
    waker->pid = watched           ? pid_of(process)
                 : namespace_inode ? 0
                                   : (__u32)(bpf_get_current_pid_tgid() >> 32);
    waker->tid = tid_of_current();
    waker->stack = watched && task->mm ? user_stack(process) : 0;
    waker->kernel_stack = (int)bpf_get_stackid(context, &kernel_stacks, 0);
    bpf_get_current_comm(waker->name, sizeof(waker->name));
    woken->flags |= SAMPLE_WAIT_WAKER;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(waking, struct task_struct *task)
{
    __u32 tgid = task->tgid, key = task->pid;
    if (is_foreign(tgid))
        return 0;
    struct sample_thread *thread = bpf_map_lookup_elem(&threads, &key);
    if (!thread || !thread->off_ns || thread->wake_ns)
        return 0;
    thread->wake_ns = bpf_ktime_get_ns();
    if (follow_wakers)
        take_waker(ctx, thread);
    return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(exiting, struct task_struct *task)
{
    __u32 key = task->pid;
    if (!is_foreign(task->tgid))
        bpf_map_delete_elem(&threads, &key);
    return 0;
}

/* Run by user space, not by an event: the name of the function that each of some addresses lies in.
 * An address that lies in none comes back as a number. */
SEC("syscall")
int name_functions(void *context)
{
    (void)context;
    for (__u32 i = 0; i < SAMPLE_KERNEL_FRAMES && i < asked_count; i++) {
        __u64 address = asked[i];
        bpf_snprintf(told[i], SAMPLE_KERNEL_NAME, "%ps", &address, sizeof(address));
    }
    return 0;
}
