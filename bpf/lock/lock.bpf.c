// SPDX-License-Identifier: (MIT OR GPL-2.0)
/*
 * Contended waits at futexes, seen by the scheduler alone: a thread that goes to sleep inside of
 * futex(2) waits, one that is there for a wake and wakes it gives back what it waits for, and the
 * wait is over when the thread is put on a CPU again. What call a thread is in, its user registers
 * tell, which the kernel keeps where it was entered. The system calls' own tracepoints are left
 * alone: while anybody looks at these, every system call of every process takes a longer way.
 */
#include "vmlinux.h"
/* vmlinux.h has the fixed-width types; the headers of ours ask for <stdint.h> */
#define _STDINT_H
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "lock_wait.h"
#include "lock_record.h"

#include "wait_sample.bpf.h"
#include "watched.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* from <linux/futex.h> */
#define FUTEX_WAIT           0
#define FUTEX_WAKE           1
#define FUTEX_REQUEUE        3
#define FUTEX_CMP_REQUEUE    4
#define FUTEX_WAKE_OP        5
#define FUTEX_LOCK_PI        6
#define FUTEX_UNLOCK_PI      7
#define FUTEX_WAIT_BITSET    9
#define FUTEX_WAKE_BITSET    10
#define FUTEX_LOCK_PI2       13
#define FUTEX_PRIVATE_FLAG   128
#define FUTEX_COMMAND        0x7f
#define FUTEX_WAITERS        0x80000000u
#define FUTEX_TID            0x3fffffffu
#define NR_FUTEX             202 /* <asm/unistd_64.h> */
#define TASK_INTERRUPTIBLE   1   /* <linux/sched.h> */
#define TASK_UNINTERRUPTIBLE 2
#define TASK_WAKING          0x200
#define PF_EXITING           0x4
#define PF_KTHREAD           0x200000
#define SIGNAL_PENDING       (1u << 2) /* TIF_SIGPENDING in <asm/thread_info.h> */

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
/* No wait begins to be told; those that have begun are told when they end. */
bool draining = false;
/* By the low bits of a thread's number: so most switches and wakes are known to be of no interest
 * without a look at the thread's row. */
struct lock_interest interest[LOCK_INTEREST];
/* How many wait at words of this hash, of those that are followed. */
#define WAITED_ROOM 65536
__u32 waited[WAITED_ROOM];
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
 * while a word is 0. Most are those of threads that have nothing to do; so a sample is enough.
 * Returns what this one stands for; 0: it is not told. */
static __always_inline __u32 choose_idle(void)
{
    __u32 which = LOCK_CONDVAR_IDLE;
    __u64 *seen = bpf_map_lookup_elem(&counters, &which);
    __u64 number = seen ? ++*seen : 0;
    if (condvars == CONDVARS_ALL)
        return 1;
    return condvars == CONDVARS_SAMPLED && number % CONDVAR_SAMPLE == 0 ? CONDVAR_SAMPLE : 0;
}

#include "lock_waits.bpf.h"
#include "lock_sched.bpf.h"
