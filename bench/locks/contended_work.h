/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_CONTENDED_WORK_H
#define OPTRAIL_CONTENDED_WORK_H

#include <stdint.h>
#include <sys/types.h>

/*
 * A process whose threads take one lock again and again, and work with and without it: so many
 * steps of arithmetic each, whatever the clock says. It counts its turns.
 */
struct contended_work {
    pid_t pid;
    volatile uint64_t *turns; /* shared with it */
};

struct contended_plan {
    unsigned threads;
    double held_us;   /* in the critical section */
    double asleep_us; /* outside of it */
};

/* Starts it. Negative errno with the message. It ends when it is told to, or with this process. */
int contended_work_start(const struct contended_plan *plan, struct contended_work *work);
void contended_work_end(struct contended_work *work);

/* Its CPU time so far, ns; 0 when it has ended. */
uint64_t contended_work_cpu_ns(const struct contended_work *work);

#endif
