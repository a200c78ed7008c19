/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
#ifndef OPTRAIL_LOCK_WAIT_H
#define OPTRAIL_LOCK_WAIT_H

/*
 * One contended wait, complete: what every way of capturing lock contention (eBPF at the futex,
 * lock points of a daemon, the preloaded wrapper, a recorded trace) hands to the analysis. Shared
 * with BPF: vmlinux.h or <stdint.h> comes before it.
 */

enum wait_kind {
#define OPTRAIL_WAIT(name, class, owner, text) WAIT_##name,
#include <optrail/waits.def>
#undef OPTRAIL_WAIT
    WAIT_KIND_COUNT
};

enum wait_class { WAIT_CLASS_LOCK, WAIT_CLASS_THROTTLE, WAIT_CLASS_IDLE };

#define LOCK_WAIT_NO_POINT 0xffffu

/* Times are ns of CLOCK_MONOTONIC, durations ns. 0 means "not known" wherever nothing else is said.
 */
struct lock_wait {
    uint64_t begin_ns; /* of the first futex call of this acquisition */
    uint64_t end_ns;   /* of the last */
    uint64_t lock;     /* address of the lock object */
    uint64_t instance; /* what the daemon says it is of: a placement group, an image */
    uint64_t hold_ns;  /* how long it was held by the one who released it to the waiter: from that
                          thread's acquisition to its release; 0: not measured */
    uint64_t op;       /* the waiter's op: its key at its start */
    uint64_t holder_op;

    /* What the owner (as of begin_ns) did until the wait ended; they add up to at most the wait. */
    uint64_t running_ns;
    uint64_t runnable_ns; /* wanted a CPU */
    uint64_t disk_ns;     /* slept uninterruptibly */
    uint64_t asleep_ns;   /* slept otherwise: network, timers */
    uint64_t chain_ns;    /* waited for another lock */
    uint64_t chain_lock;  /* which */

    uint32_t pid;          /* as user space names it; so the tids */
    uint32_t tid;          /* who waited */
    uint32_t owner_tid;    /* who held it at begin_ns */
    uint32_t releaser_tid; /* who woke the waiter */
    uint32_t stack;        /* of the waiter: number of a call stack in its stack table */
    uint32_t holder_stack; /* of the release */
    uint32_t weight; /* how many such waits this one stands for, at least 1: more when sampled */
    uint32_t futex_calls; /* joined into this acquisition */
    uint16_t kind;        /* enum wait_kind */
    uint16_t point;       /* the point the waiter's op had passed last; LOCK_WAIT_NO_POINT */
    uint16_t holder_point;
    uint16_t flags; /* LOCK_WAIT_* */
};

#define LOCK_WAIT_GAVE_UP 1u /* a time limit passed, the lock was not had */
#define LOCK_WAIT_ROBUST  2u /* its owner had died */
#define LOCK_WAIT_OWNERLESS                                                                        \
    4u /* the kind has an owner, but the word named none, or a dead thread */

#define LOCK_WAIT_UNFINISHED                                                                       \
    8u /* it had not ended: end_ns is when the capture did, nothing is known of a release */

#endif
