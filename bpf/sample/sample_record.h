/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
#ifndef OPTRAIL_SAMPLE_RECORD_H
#define OPTRAIL_SAMPLE_RECORD_H

/*
 * What sample.bpf.c and its loader agree on. Shared with BPF: lock_record.h, which has the
 * snapshots of stacks, comes before it.
 */

#define SAMPLE_MAX_THREADS   16384
#define SAMPLE_MAX_STACKS    32768 /* of those who sleep, and of those who wake them */
#define SAMPLE_KERNEL_STACKS 16384
#define SAMPLE_KERNEL_FRAMES 64
#define SAMPLE_NAME          16
#define SAMPLE_KERNEL_NAME   128 /* of a function of the kernel's, with its NUL */

/* Beside LOCK_RECORD_SNAPSHOT. */
enum sample_record_type { SAMPLE_RECORD_CPU = 16, SAMPLE_RECORD_WAIT };

#define SAMPLE_WAIT_DISK       1u /* uninterruptible, or said to wait for input and output */
#define SAMPLE_WAIT_PREEMPTED  2u /* did not want to leave the CPU */
#define SAMPLE_WAIT_WAKER      8u /* who woke it is known */
#define SAMPLE_WAIT_UNFINISHED 4u /* the capture ended first; made in user space */

/* A thread was on a CPU when the clock ticked. */
struct sample_cpu {
    uint32_t type;
    uint32_t tid; /* as user space names it; 0: unknown */
    uint64_t time_ns;
    int32_t kernel_stack; /* number in the table; negative: none */
    uint32_t unused;
    char name[SAMPLE_NAME];
    struct lock_snapshot snapshot; /* of user space; must be the last */
};

/* Who woke a thread: whatever ran on the CPU where that was done. An interrupt comes upon any
 * thread; the kernel's stack tells it. */
struct sample_waker {
    uint32_t pid, tid; /* as user space names it; 0: not known */
    uint32_t stack;    /* of user space, of a watched process; 0: none */
    int32_t kernel_stack;
    char name[SAMPLE_NAME];
};

/* A thread was off the CPU, and is on it again. */
struct sample_wait {
    uint32_t type;
    uint32_t weight; /* how many waits like this it stands for */
    uint64_t begin_ns, end_ns;
    uint64_t wake_ns; /* when it became runnable; 0: not seen */
    uint32_t pid, tid;
    uint32_t stack;       /* of user space; 0: none */
    int32_t kernel_stack; /* negative: none */
    uint32_t flags;       /* SAMPLE_WAIT_* */
    char name[SAMPLE_NAME];
    uint32_t unused;
    struct sample_waker waker;
};

/* A thread that is off the CPU, by the kernel's number. */
struct sample_thread {
    uint64_t off_ns; /* 0: it is on a CPU */
    uint64_t wake_ns;
    uint32_t pid, tid;
    uint32_t stack;
    int32_t kernel_stack;
    uint32_t flags;
    char name[SAMPLE_NAME];
    uint32_t unused;
    struct sample_waker waker;
};

#endif
