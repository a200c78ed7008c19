/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_BLAME_H
#define OPTRAIL_BLAME_H

#include "report.h"

/*
 * Who is to blame for the time of an op type. Time that ops wait is handed on to what they wait
 * for: from a queue to what its threads are busy with, from a lock to what its holders wait for in
 * turn, from a throttle to what is saturated behind it; over and over, until it lies with something
 * that does not wait. (The cascaded redistribution of wPerf, Zhou et al., OSDI 2018, on stages,
 * queues and locks in place of threads.) Work that is done under a lock while others wait for that
 * lock is the lock's.
 */
#define BLAME_CAUSES 128

enum blame_class {
    BLAME_LOCK,
    BLAME_THROTTLE,
    BLAME_DEVICE,
    BLAME_NETWORK,
    BLAME_WORK,
    BLAME_QUEUE, /* ops waited while the threads that took them in the end were free */
    BLAME_ALLOCATOR,
    BLAME_UNATTRIBUTED,
    BLAME_CPU, /* threads were runnable and did not run (cpu_blame.h) */
    BLAME_CLASS_COUNT
};

extern const char *const blame_class_names[BLAME_CLASS_COUNT]; /* "lock", ... */

struct blame_cause {
    enum blame_class class;
    const char *name;                 /* of the stage or the lock; weak */
    const struct report_stage *stage; /* weak; NULL: a lock that is no stage */
    const struct report_lock *lock;   /* weak; NULL: no lock */
    const struct report_queue *queue; /* weak; NULL: no queue */
    double direct;                    /* share of the ops' time that they are there themselves */
    double share;                     /* after the redistribution; all add up to 1 */
};

struct blame {
    size_t count;
    struct blame_cause causes[BLAME_CAUSES]; /* the largest share first */
};

/* Never fails: what finds no room stays where it is. */
void blame_find(const struct report *report, const struct report_op *op, struct blame *blame);

#endif
