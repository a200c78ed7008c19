/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_LIVE_FOLD_H
#define OPTRAIL_LIVE_FOLD_H

#include "analysis.h"
#include "fold_tables.h"
#include "tracer_group.h"

/*
 * The fold in the kernel for daemons that are traced live: instead of events, sums and the slowest
 * ops come up, and go to the analyses as if they had seen the events.
 */
enum live_fold_choice {
    LIVE_FOLD_AUTO, /* in the kernel where it can, else in user space, with the reason */
    LIVE_FOLD_KERNEL,
    LIVE_FOLD_USER,
};

struct live_fold;

/* Decides. *fold is NULL when ops are folded in user space; `obstacle`: why they must be, by the
 * caller's knowledge, or NULL. Prepares `tracing` otherwise. The paths must outlive it. Owned by
 * the caller. */
int live_fold_open(enum live_fold_choice choice, const char *obstacle, const struct path_set *paths,
                   struct tracer_options *tracing, struct live_fold **fold);
void live_fold_close(struct live_fold *fold); /* NULL is fine */

/* Where the slowest ops go, by the process that they come from. NULL: nowhere. */
typedef struct analysis *live_fold_receiver(void *context, uint32_t pid, size_t which);
void live_fold_receive(struct live_fold *fold, live_fold_receiver *receiver, void *context);

/* Reads what the kernel has for this tracer. The sums are weak: until the next call. Fills in
 * `counts` what the reader of events would have: their number, how many were lost, the first and
 * the last. */
int live_fold_read(struct live_fold *fold, struct tracer *tracer, struct fold_sums *sums,
                   struct read_counts *counts);

#endif
