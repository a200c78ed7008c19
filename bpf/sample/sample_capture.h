/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_SAMPLE_CAPTURE_H
#define OPTRAIL_SAMPLE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "thread_sample.h"
#include "unwind.h"

/*
 * Where the threads of running processes spend their time. On a CPU: a clock ticks on each, and
 * whoever of them runs then is sampled. Off the CPU: what the scheduler does with them. Nothing
 * stays attached when this process ends, however it ends. Needs what target_privilege() asks for.
 * One thread at a time.
 */
struct sample_waking {
    uint32_t pid, tid;         /* 0: an interrupt, or not known */
    const char *thread;        /* NULL: an interrupt */
    const char *user, *kernel; /* its stacks, as those of a sample */
};

struct sample {
    enum sample_kind kind;
    uint32_t pid, tid;
    const char *thread;        /* its name; all strings are weak: for the time of the call */
    enum sample_reason reason; /* of SAMPLE_OFF_CPU what it waits for, of SAMPLE_RUNNABLE what made
                                  it wait */
    uint64_t begin_ns;         /* CLOCK_MONOTONIC */
    uint64_t value_ns;         /* the time that it stands for */
    uint64_t count;            /* how many it stands for */
    /* as in stack.define, the innermost first; NULL: there is none, or it is not known */
    const char *user, *kernel;
    const struct sample_waking *waker; /* of SAMPLE_OFF_CPU; NULL: not known */
};

struct sample_capture_options {
    const pid_t *pids; /* at least one */
    size_t pid_count;
    uint32_t rate; /* ticks a second on each CPU */
    bool on_cpu, off_cpu;
    bool wakers; /* also who ended each sleep */
    bool held;   /* nothing is attached before sample_capture_begin() */
};

struct sample_counts {
    uint64_t samples, waits; /* delivered */
    uint64_t waits_seen;     /* by the scheduler's switches */
    uint64_t
        ended[UNWIND_END_COUNT]; /* of what was delivered, how its user stack's unwinding did */
    uint64_t no_stack;           /* its user stack was not to be had */
    uint64_t lost;               /* no room in the ring */
    uint64_t threads_full, stacks_full, stacks_late, stacks_unreadable;
    uint64_t returns_unseen; /* to a CPU: the time until then is not known */
    uint64_t unfinished;     /* waits that went on when the capture ended */
    bool sampled;            /* there were so many short waits that some stand for others */
    bool kernel_hidden;      /* the kernel does not tell the names of its functions */
};

/* Takes a sample; negative errno with the message stops. */
typedef int sample_callback(void *context, const struct sample *sample);

struct sample_capture;

/* Loads and attaches, unless `held`. Owned by the caller. Negative errno with the message:
 * -ENOTSUP, -EPERM, -ESRCH, ... */
int sample_capture_open(const struct sample_capture_options *options,
                        struct sample_capture **capture);
void sample_capture_close(struct sample_capture *capture); /* NULL is fine */

/* Attaches what was opened `held`; once. Negative errno with the message. */
int sample_capture_begin(struct sample_capture *capture);

/* Hands over what there is: to be called some 20 times a second. */
int sample_capture_poll(struct sample_capture *capture, sample_callback *callback, void *context);

/* Detaches and hands over the rest, with the waits that have not ended. */
int sample_capture_finish(struct sample_capture *capture, sample_callback *callback, void *context);

struct sample_counts sample_capture_counts(const struct sample_capture *capture);

/* Whether all processes have ended, or become other programs. */
bool sample_capture_ended(const struct sample_capture *capture);

/* The processes that have, as sample_capture_finish() found them: up to `size` of their numbers.
 * Returns how many they are. */
size_t sample_capture_gone(const struct sample_capture *capture, pid_t *pids, size_t size);

#endif
