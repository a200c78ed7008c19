/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_LOCK_CAPTURE_H
#define OPTRAIL_LOCK_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lock_wait.h"
#include "unwind.h"

/*
 * Contended waits of running processes, seen at the futex: who waited for which lock and how long,
 * who had it, what the owner did meanwhile, who released it, and both call stacks. Nothing in the
 * processes is changed; whatever ends this one, the kernel takes the programs away.
 *
 * Waits that no futex shows (spinning) are not seen. Condition variables are no contention, and
 * most who wait there have nothing to do: of them, and of semaphores, a sample is told, as
 * `condvar_idle` and `semaphore`. Whoever knows what the thread was doing, or by the stack, may
 * know better. Waits carry no op and no point (LOCK_WAIT_NO_POINT): put among the events of the
 * process's probes (lock_feed.h), they are those of the thread at that time.
 */
struct lock_target {
    pid_t pid; /* as user space names it */
};

enum lock_condvars {
    LOCK_CONDVARS_SAMPLED, /* one in 64, with that weight */
    LOCK_CONDVARS_ALL,
    LOCK_CONDVARS_NONE,
};

struct lock_capture_options {
    const struct lock_target *targets; /* weak: during lock_capture_open() */
    size_t target_count;
    enum lock_condvars condvars;
    /* Waits a second, of all targets, that are handed on one by one. Beyond it they are sampled in
     * proportion to their duration, and carry a weight. 0: 20,000. */
    uint32_t rate;
    uint32_t ring_bytes;  /* a power of two; 0: 8 MiB */
    bool no_stacks;       /* stack numbers stay 0 */
    bool no_meanwhile;    /* what owners do is not followed */
    bool whole_functions; /* stacks' text: functions with their arguments */
    /* Waits that begin in one in so many of the time alone are told, each with that weight; the
     * programs are out for most of the rest. 0, 1: all of the time. */
    uint32_t one_in;
    bool held; /* nothing is attached before lock_capture_begin() */
};

/* All since the beginning. What is counted under `lost` and below is missing in what was handed
 * on. */
struct lock_capture_counts {
    uint64_t waits;     /* contended waits that ended, by the kernel's count, futex call by call */
    uint64_t delivered; /* handed to the callback: acquisitions */
    uint64_t joined;    /* futex calls that went on with the acquisition before them */
    uint64_t sampled_out;  /* stand behind the weights of others */
    uint64_t condvar_idle; /* waits at condition variables and for semaphores, told or not */
    uint64_t unfinished;   /* waits that had not ended when the capture did; handed on as such */

    uint64_t lost;          /* the ring was full */
    uint64_t threads_full;  /* the table of threads was full: their waits are not seen */
    uint64_t stacks_full;   /* the table of stacks was full: waits without a stack */
    uint64_t stacks_late;   /* snapshots put off by the limit of their rate, so far without one */
    uint64_t faults_word;   /* locks whose memory could not be read: no owner */
    uint64_t faults_stack;  /* stacks whose memory could not be read */
    uint64_t owner_unknown; /* the kind has an owner, but none was found in the word */
    uint64_t owner_gone;    /* the owner's thread had ended */
    uint64_t releaser_unknown;
    /* the releaser had got the lock without waiting, or before we came; or it may have had it more
     * than once since */
    uint64_t hold_unmeasured;
    uint64_t address_reused;  /* an address that was a lock of another kind before */
    uint64_t unmatched_sites; /* futex calls from code that libc's tables do not tell of */

    uint64_t stacks;                     /* distinct ones */
    uint64_t snapshots;                  /* taken */
    uint64_t ended[UNWIND_END_COUNT];    /* stacks, by how their unwinding ended */
    uint64_t ended_ns[UNWIND_END_COUNT]; /* the waits' time, by how their stack's did */
    uint64_t no_stack_ns;                /* of waits that have no stack */
    uint64_t snapshots_differ; /* taken again, and not the same: two stacks under one number */

    uint64_t observed_ns; /* for how long waits that began were told; 0: all of the time */
    uint64_t slices;      /* in how many pieces */
    uint32_t one_in;      /* each stands for so many */
    uint64_t cut;         /* waits for locks that had not ended when their slice did: not told */

    bool sampling;       /* engaged now */
    uint64_t sampled_ns; /* for how long it was */
};

struct lock_capture;

/* False when this optrail was built without eBPF: lock_capture_open() then says so. */
bool lock_capture_supported(void);

/* Loads and attaches, unless `held`. Owned by the caller, who closes it. Negative errno with the
 * message: -EPERM without the capabilities, -ESRCH when a process is gone, -ENOTSUP on kernels that
 * cannot. */
int lock_capture_open(const struct lock_capture_options *options, struct lock_capture **capture);
void lock_capture_close(struct lock_capture *capture); /* NULL is fine */

/* Attaches what was opened `held`; once. Negative errno with the message. */
int lock_capture_begin(struct lock_capture *capture);

/* Hands on what has come up since the last call, each process's waits roughly in the order of their
 * ends: a wait is held back until it is known that its acquisition is over, for a second at most.
 * To be called every 100 to 200 ms; nothing wakes it. One thread at a time, that of
 * lock_capture_stack(). Returns how many, or a negative errno with the message; a negative number
 * that the callback returns ends it and is returned. */
typedef int lock_wait_callback(void *context, const struct lock_wait *wait);
int lock_capture_poll(struct lock_capture *capture, lock_wait_callback *callback, void *context);

/* Detaches, and hands on what is left; waits that have not ended as well (LOCK_WAIT_UNFINISHED). */
int lock_capture_finish(struct lock_capture *capture, lock_wait_callback *callback, void *context);

/* For a capture of all of the time: takes the programs out, and puts them in again: what happens
 * between is not seen, and waits that were under way are forgotten. -errno with the message when
 * they cannot be put in; nothing is done when they are in. */
void lock_capture_pause(struct lock_capture *capture);
int lock_capture_resume(struct lock_capture *capture);

/* What the kernel has spent in the programs, in ns, while it counts that (BPF_ENABLE_STATS or
 * kernel.bpf_stats_enabled); and how often they ran. */
#define LOCK_CAPTURE_PROGRAMS 3
struct lock_capture_spent {
    uint64_t ns, runs;
    struct lock_program_spent {
        const char *name; /* weak: as long as the capture; NULL: there is no such program */
        uint64_t ns, runs;
    } programs[LOCK_CAPTURE_PROGRAMS];
};
struct lock_capture_spent lock_capture_spent(const struct lock_capture *capture);

/* The stack as the text of stack.define: frames parted by ';', the innermost first. Numbers are
 * unique within the capture. NULL when there is none: 0, or its snapshot has not been taken. Weak:
 * as long as the capture. *end, if wanted: how its unwinding ended. */
const char *lock_capture_stack(struct lock_capture *capture, uint32_t stack, enum unwind_end *end);

struct lock_capture_counts lock_capture_counts(struct lock_capture *capture);

/* Whether all targets have ended. */
bool lock_capture_targets_ended(const struct lock_capture *capture);

/* When the last of them did, once its last waits were polled; 0: one still runs. */
uint64_t lock_capture_end_ns(const struct lock_capture *capture);

#endif
