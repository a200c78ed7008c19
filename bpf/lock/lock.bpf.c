// SPDX-License-Identifier: (MIT OR GPL-2.0)
/*
 * Contended waits at futexes. A thread's wait is written down in its row when the futex call is
 * entered, its release by the scheduler's tracepoint in the context of who wakes it, and told when
 * the call is left: nothing that takes time is done between the lock's release and the wake.
 */
#include "vmlinux.h"
/* vmlinux.h has the fixed-width types; the headers of ours ask for <stdint.h> */
#define _STDINT_H
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "lock_wait.h"
#include "lock_record.h"

#include "watched.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* from <linux/futex.h> */
#define FUTEX_WAIT            0
#define FUTEX_WAKE            1
#define FUTEX_REQUEUE         3
#define FUTEX_CMP_REQUEUE     4
#define FUTEX_WAKE_OP         5
#define FUTEX_LOCK_PI         6
#define FUTEX_UNLOCK_PI       7
#define FUTEX_WAIT_BITSET     9
#define FUTEX_WAKE_BITSET     10
#define FUTEX_LOCK_PI2        13
#define FUTEX_PRIVATE_FLAG    128
#define FUTEX_COMMAND         0x7f
#define FUTEX_WAITERS         0x80000000u
#define FUTEX_OWNER_DIED      0x40000000u
#define FUTEX_TID             0x3fffffffu
#define EINTR                 4
#define EAGAIN                11
#define ETIMEDOUT             110
#define ERESTARTSYS           512
#define ERESTART_RESTARTBLOCK 516
#define TASK_UNINTERRUPTIBLE  2

/* Set before loading. */
const volatile __u32 condvars = 0; /* enum lock_condvars */
const volatile bool take_stacks = true;
const volatile bool follow_owners = true;

#define CONDVARS_SAMPLED 0
#define CONDVARS_ALL     1
#define CONDVARS_NONE    2
#define CONDVAR_SAMPLE   61 /* a prime: no pattern of threads has its length */

/* Of the releases that end a wait shorter than this, the stacks of one in so many are taken. */
#define SHORT_WAIT_NS  1000000
#define SHORT_RELEASES 8

/* Whether a process may be in a pid namespace: its threads have other numbers for themselves. */
bool inner_numbers = false;
/* By the low bits of a thread's number, so that most calls are told to be of no interest without a
 * look into a table: BUSY_* of any thread with these bits. */
#define BUSY_ROOM   65536
#define BUSY_INSIDE 1 /* in a wait, or in a wake that matters */
#define BUSY_HOLDS  2 /* has a lock that it waited for */
__u8 busy[BUSY_ROOM];
/* By the low bits of a thread's number: how many wait for something that such a thread has. Without
 * any, what the scheduler does with it is of no interest. */
#define WATCHED_THREADS 16384
__u32 watched[WATCHED_THREADS];
/* How many wait at words of this hash, of those that are followed: most wakes are for others. */
#define WAITED_ROOM 4096
__u32 waited[WAITED_ROOM];
/* Shorter waits are sampled in proportion to their length; 0: none. Set by the loader as it goes.
 */
__u64 sample_below_ns = 0;
/* Snapshots left until the loader raises it again. */
int snapshots_left = 0;
__u32 stack_count = 0;

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, LOCK_MAX_SITES);
    __type(key, struct lock_site_key);
    __type(value, struct lock_site);
} sites SEC(".maps");

/* Rows of threads. A thread's is at one of a few places that follow from its number: no helper is
 * called to find it. */
struct lock_thread threads[LOCK_MAX_THREADS];

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, LOCK_MAX_STACKS);
    __type(key, struct lock_stack_key);
    __type(value, struct lock_stack);
} stacks SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, LOCK_COUNTERS);
    __type(key, __u32);
    __type(value, __u64);
} counters SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 8 * 1024 * 1024); /* the loader may set another size */
} ring SEC(".maps");

static __always_inline void count(__u32 which)
{
    __u64 *counter = bpf_map_lookup_elem(&counters, &which);
    if (counter)
        (*counter)++;
}

#include "lock_threads.bpf.h"
#include "lock_kinds.bpf.h"
#include "lock_stack.bpf.h"

/* Waits for something that need not come: at a condition variable or a semaphore, which both wait
 * while a word is 0. Most are those of threads that have nothing to do; so a sample is enough. */
static __always_inline bool choose_idle(__u32 *weight)
{
    __u32 which = LOCK_CONDVAR_IDLE;
    __u64 *seen = bpf_map_lookup_elem(&counters, &which);
    __u64 number = seen ? ++*seen : 0;
    if (condvars == CONDVARS_ALL)
        return true;
    if (condvars == CONDVARS_SAMPLED && number % CONDVAR_SAMPLE == 0) {
        *weight = CONDVAR_SAMPLE;
        return true;
    }
    return false;
}

static __always_inline void begin_wait(__u32 process, __u32 tgid, __u64 uaddr, __u32 op,
                                       __u32 value)
{
    __u32 weight = 0;
    bool shared, asked = (op & FUTEX_COMMAND) == FUTEX_WAIT_BITSET && value == 0;
    /* before anything that takes time */
    if (asked && !choose_idle(&weight))
        return;
    struct task_struct *task = bpf_get_current_task_btf();
    struct pt_regs *registers = (struct pt_regs *)bpf_task_pt_regs(task);
    __u64 now = bpf_ktime_get_ns(), counter = registers->ip, stack_pointer = registers->sp;
    __u64 key = thread_key(tgid, task);
    struct lock_thread *thread = thread_row(key, process, true);
    if (!thread)
        return;
    struct wait_facts facts = {.lock = uaddr};
    __u16 flags = 0;
    __u32 class = site_class(thread, counter, stack_pointer, &shared);
    if (class == LOCK_SITE_CONDVAR && shared) {
        if (!asked && !choose_idle(&weight))
            return;
        flags |= LOCK_RECORD_IDLE;
    }
    __u32 words[WORDS];
    if (bpf_probe_read_user(words, sizeof(words), (void *)uaddr)) {
        /* the word alone may still be there */
        __builtin_memset(words, 0, sizeof(words));
        if (bpf_probe_read_user(words, sizeof(words[0]), (void *)uaddr)) {
            count(LOCK_FAULTS_WORD);
            return;
        }
    }
    find_facts(&facts, class, shared, words, op, value);
    bool pi = (op & FUTEX_COMMAND) == FUTEX_LOCK_PI || (op & FUTEX_COMMAND) == FUTEX_LOCK_PI2;
    if (pi ? !(words[0] & FUTEX_TID) : words[0] != value) {
        count(LOCK_REFUSED);
        return;
    }
    if (wakes_when_released(facts.kind) && thread->last_word == uaddr &&
        thread->last_counter == counter && thread->last_stack_pointer == stack_pointer)
        flags |= LOCK_RECORD_CONTINUES;
    else
        thread->acquisition++;
    thread->word = uaddr;
    thread->begin_ns = now;
    thread->counter = counter;
    thread->stack_pointer = stack_pointer;
    thread->value = value;
    thread->owner = facts.owner;
    thread->kind = (__u16)facts.kind;
    thread->weight = weight ? weight : 1;
    thread->wake_ns = 0;
    thread->holder_stack = 0;
    thread->settled = 0;
    thread->chain_lock = 0;
    if (facts.owned && !facts.owner)
        flags |= LOCK_RECORD_OWNERLESS;
    thread->flags = flags;
    thread->owner_key = 0;
    thread->followed = follow_owners && is_followed(facts.kind);
    if (thread->followed) {
        if (facts.owner)
            watch(thread, (__u64)tgid << 32 | facts.owner, process, now);
        count_waiter(uaddr, 1);
    }
    thread->lock = facts.lock;
    *busy_bits(key) |= BUSY_INSIDE;
}

/* What the thread waited for may be given back: which of the locks that it had is it? */
static __always_inline __u64 held_for(struct lock_thread *thread, __u64 uaddr, __u64 now)
{
    __u64 held = 0;
#pragma unroll
    for (int i = 0; i < LOCK_HAD; i++) {
        __u64 above = uaddr - thread->had_lock[i];
        if (thread->had_lock[i] && (above == 0 || above == 8 || above == 12)) {
            held = now - thread->had_ns[i];
            thread->had_lock[i] = 0;
        }
    }
    return held;
}

static __always_inline void begin_wake(__u32 process, __u32 tgid, __u64 uaddr)
{
    __u64 key = thread_key(tgid, bpf_get_current_task_btf());
    __u8 *bits = busy_bits(key);
    bool is_waited = waited[waited_at(uaddr) & (WAITED_ROOM - 1)];
    if (!(*bits & BUSY_HOLDS) && !is_waited)
        return;
    struct lock_thread *thread = is_waited ? thread_row(key, process, true) : find_thread(key);
    if (!thread)
        return;
    __u64 now = bpf_ktime_get_ns();
    thread->wake_hold_ns = held_for(thread, uaddr, now);
    if (is_waited)
        give_back(thread, uaddr, now);
    if (!thread->had_lock[0] && !thread->had_lock[1] && !thread->had_lock[2] &&
        !thread->had_lock[3])
        *bits &= ~BUSY_HOLDS;
    if (thread->last_word == uaddr)
        thread->last_word = 0;
    thread->woken = 0;
    thread->wake_word = uaddr;
    *bits |= BUSY_INSIDE;
}

static __always_inline void enter(__u64 uaddr, __u32 op, __u32 value)
{
    __u32 tgid = bpf_get_current_pid_tgid() >> 32;
    if (is_foreign(tgid))
        return;
    __u32 process = process_of_current(tgid);
    if (process >= LOCK_MAX_PROCESSES)
        return;
    switch (op & FUTEX_COMMAND) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
    case FUTEX_LOCK_PI:
    case FUTEX_LOCK_PI2:
        begin_wait(process, tgid, uaddr, op, value);
        return;
    case FUTEX_WAKE:
    case FUTEX_WAKE_OP:
    case FUTEX_WAKE_BITSET:
    case FUTEX_UNLOCK_PI:
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE:
        begin_wake(process, tgid, uaddr);
        return;
    default:
        return;
    }
}

/* From now on the thread has the lock, as far as it is sure to tell by a wake when it gives it
 * back: else the time of another turn would be taken for part of this one. A writer that has slept
 * for other writers is sure to; one that slept for readers only is not. */
static __always_inline void remember_lock(struct lock_thread *thread, __u64 now)
{
    __u64 lock = thread->lock;
    bool sure = wakes_when_released(thread->kind) || thread->kind == WAIT_mutex_pi ||
                (thread->kind == WAIT_rwlock_write && (thread->value & 1));
    bool had = false;
#pragma unroll
    for (int i = 0; i < LOCK_HAD; i++) {
        if (thread->had_lock[i] != lock)
            continue;
        thread->had_ns[i] = now;
        had = true;
    }
    if (!sure || had)
        return;
#pragma unroll
    for (int i = LOCK_HAD - 1; i > 0; i--) {
        thread->had_lock[i] = thread->had_lock[i - 1];
        thread->had_ns[i] = thread->had_ns[i - 1];
    }
    thread->had_lock[0] = lock;
    thread->had_ns[0] = now;
}

/* The sample: longer waits always, shorter ones in proportion to their length; the weight is a
 * whole number, so that sums stay what they are on average. False: not this one. */
static __always_inline bool sample(__u64 waited, __u32 *weight)
{
    __u64 below = sample_below_ns;
    if (waited >= below)
        return true;
    __u64 each = below / (waited ? waited : 1) + 1;
    if (each > 1u << 20)
        each = 1u << 20;
    if (bpf_get_prandom_u32() % (__u32)each)
        return false;
    *weight *= (__u32)each;
    return true;
}

static __always_inline void tell_wait(struct lock_thread *thread, __u64 now, __u32 weight,
                                      __u32 stack)
{
    struct lock_record *record = bpf_ringbuf_reserve(&ring, sizeof(*record), 0);
    if (!record) {
        count(LOCK_LOST);
        return;
    }
    record->type = LOCK_RECORD_WAIT;
    record->weight = weight;
    record->begin_ns = thread->begin_ns;
    record->end_ns = now;
    record->lock = thread->lock;
    record->counter = thread->counter;
    record->wake_ns = thread->wake_ns;
    record->hold_ns = thread->wake_ns ? thread->hold_ns : 0;
    record->releaser = thread->wake_ns ? thread->releaser : 0;
    record->chain_lock = thread->chain_lock;
#pragma unroll
    for (int i = 0; i < LOCK_STATES; i++)
        record->meanwhile[i] = thread->settled ? thread->meanwhile[i] : 0;
    record->pid = thread->pid;
    record->tid = thread->tid;
    record->owner = thread->owner;
    record->stack = stack;
    record->holder_stack = thread->wake_ns ? thread->holder_stack : 0;
    record->acquisition = thread->acquisition;
    record->kind = thread->kind;
    record->flags = thread->flags;
    thread->told_ns = now;
    bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

static __always_inline void end_wait(struct lock_thread *thread, __u32 tgid, long result)
{
    __u64 now = bpf_ktime_get_ns();
    __u32 weight = thread->weight;
    if (thread->followed) {
        settle(thread, now);
        count_waiter(thread->word, -1);
    }
    thread->last_word = thread->word;
    thread->last_counter = thread->counter;
    thread->last_stack_pointer = thread->stack_pointer;
    if (result == -EAGAIN) {
        count(LOCK_REFUSED); /* the word changed on the way in */
        thread->lock = 0;
        return;
    }
    count(LOCK_WAITS);
    if (result == -ETIMEDOUT)
        thread->flags |= LOCK_RECORD_GAVE_UP;
    else if (result < 0)
        thread->flags |= LOCK_RECORD_INTERRUPTED;
    else
        remember_lock(thread, now);
    if (thread->kind == WAIT_mutex_shared && thread->value & FUTEX_WAITERS) {
        __u32 word = 0;
        if (bpf_probe_read_user(&word, sizeof(word), (void *)thread->word) == 0 &&
            word & FUTEX_OWNER_DIED)
            thread->flags |= LOCK_RECORD_OWNER_DIED;
    }
    if (sample(now - thread->begin_ns, &weight)) {
        __u32 stack = take_stacks ? stack_number(thread, tgid, thread->word, false) : 0;
        tell_wait(thread, now, weight, stack);
    } else {
        count(LOCK_SAMPLED_OUT);
    }
    thread->lock = 0;
}

/* A wake is over, and it woke somebody who is watched: from where was it? If the one who was woken
 * has told its wait already, the stack follows. */
static __always_inline void end_wake(struct lock_thread *thread, __u32 tgid)
{
    __u64 word = thread->wake_word;
    thread->wake_word = 0;
    if (!thread->woken || !take_stacks)
        return;
    /* those that ended short waits are many: a part of them is enough */
    if (!thread->woken_long && (bpf_get_prandom_u32() & (SHORT_RELEASES - 1)))
        return;
    __u32 stack = stack_number(thread, tgid, word, true);
    struct lock_thread *woken = find_thread(thread->woken_key);
    if (!stack || !woken || woken->wake_ns != thread->woken_ns)
        return;
    woken->holder_stack = stack;
    if (woken->told_ns < thread->woken_ns)
        return; /* it will tell by itself */
    struct lock_release *record = bpf_ringbuf_reserve(&ring, sizeof(*record), 0);
    if (!record) {
        count(LOCK_RELEASES_CROSSED);
        return;
    }
    record->type = LOCK_RECORD_RELEASE;
    record->pid = thread->pid;
    record->waiter = thread->woken;
    record->stack = stack;
    record->wake_ns = thread->woken_ns;
    bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

static __always_inline void leave(long result)
{
    __u32 tgid = bpf_get_current_pid_tgid() >> 32;
    if (is_foreign(tgid))
        return;
    __u64 key = thread_key(tgid, bpf_get_current_task_btf());
    __u8 *bits = busy_bits(key);
    if (!(*bits & BUSY_INSIDE))
        return;
    struct lock_thread *thread = find_thread(key);
    if (!thread)
        return;
    *bits &= ~BUSY_INSIDE;
    if (thread->lock)
        end_wait(thread, tgid, result);
    else if (thread->wake_word)
        end_wake(thread, tgid);
    if (thread->had_lock[0])
        *bits |= BUSY_HOLDS;
}

SEC("tp/syscalls/sys_enter_futex")
int futex_enter(struct trace_event_raw_sys_enter *ctx)
{
    enter(ctx->args[0], (__u32)ctx->args[1], (__u32)ctx->args[2]);
    return 0;
}

SEC("tp/syscalls/sys_exit_futex")
int futex_exit(struct trace_event_raw_sys_exit *ctx)
{
    leave(ctx->ret);
    return 0;
}

#include "lock_sched.bpf.h"
