/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_FLAME_SAMPLES_H
#define OPTRAIL_FLAME_SAMPLES_H

#include "flame_fold.h"
#include "flame_ops.h"
#include "flame_pools.h"
#include "flame_waits.h"
#include "lock_table.h"

/* Which time a sample of that kind is. */
extern const enum flame_kind flame_kind_of_sample[SAMPLE_KIND_COUNT];

/* The kinds of samples that these kinds of time (a bit set of enum flame_kind) are made of, as a
 * bit set of enum sample_kind; 0: none. */
uint32_t flame_sample_kinds(uint32_t kinds);

struct flame_sample_counts {
    uint64_t taken;    /* samples, as the others: with what they stand for */
    uint64_t unusable; /* events that hold what no sample can hold */
    uint64_t busy_ns;  /* time of all of the kinds that are wanted, without the idle waits */
    uint64_t no_op, op_unknown;
    struct flame_pools pools_no_op; /* time of those of no op */
    uint64_t no_stack;              /* their stacks are not known */
    uint64_t idle_waits, idle_ns;   /* left out */
    uint64_t cut;                   /* had more frames than there is room for */
    uint64_t unnamed;               /* names of threads for which there was no room */
};

/* Samples of threads, as a trace tells them, on their way into a fold. */
struct flame_samples {
    struct flame_fold *fold;         /* weak, as `stacks` */
    const struct lock_table *stacks; /* call stacks by number */
    unsigned side;
    bool idle;                    /* also the waits of threads that have nothing to do */
    bool wakers;                  /* puts who woke on the stack of a sleep */
    struct flame_threads threads; /* owned */

    struct flame_sample_counts counts;
    uint32_t frames[FLAME_MAX_FRAMES], some[FLAME_MAX_FRAMES];
};

void flame_samples_free(struct flame_samples *samples);

/* Looks at sample.taken: true when it is wanted, and put into `wait`. `op`: what its thread works
 * for when it is told; 0: nothing. */
bool flame_samples_begin(struct flame_samples *samples, const struct optrail_event *event,
                         uint64_t op, struct flame_wait *wait);

/* Whether the sample is the wait of a thread that had nothing to do, and is left out, counted: one
 * that waits like such a thread, and not for `op`, with which it would have gone on. `op` NULL:
 * none is known. */
bool flame_samples_idle(struct flame_samples *samples, const struct flame_wait *wait,
                        const struct flame_op *op);

/* Counts the time of a sample that is not left out as idle. */
void flame_samples_count(struct flame_samples *samples, const struct flame_wait *wait);

/* Counts a sample of a thread that worked for no op. */
void flame_samples_no_op(struct flame_samples *samples, const struct flame_wait *wait);

/* sample.woken, of what the thread told last. -ENOMEM with the message. */
int flame_samples_woken(struct flame_samples *samples, const struct optrail_event *event,
                        struct flame_wait *wait);

/* Puts the sample into the fold; `op` NULL: it is not known whose it was. Negative errno with the
 * message. */
int flame_samples_add(struct flame_samples *samples, const struct flame_wait *wait,
                      const struct flame_op *op);

#endif
