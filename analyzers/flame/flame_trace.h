/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_FLAME_TRACE_H
#define OPTRAIL_FLAME_TRACE_H

#include "flame_fold.h"
#include "flame_samples.h"
#include "flame_tail.h"
#include "flame_timeline.h"

/*
 * Events of recorded traces in, samples and the slowest ops out: the stages of ops, and contended
 * waits and samples of threads with the op and the stage that they were in. Not thread-safe.
 *
 * Contended waits come captured, with call stacks, or told by the daemon itself, without. Where
 * there are captured ones, those are taken; the told ones go to a fold of their own, so that the
 * caller may take that when nothing was captured.
 */
struct flame_trace_options {
    const struct path_set *paths;    /* weak, as all here */
    struct flame_fold *fold;         /* NULL: no samples are wanted */
    struct flame_fold *told;         /* the same for waits that the daemon tells of; may be NULL */
    unsigned side;                   /* of the samples */
    const struct flame_tail *tail;   /* only ops that it has; NULL: all */
    bool idle;                       /* samples also of threads that have nothing to do */
    bool wakers;                     /* on the stack of a sleep stand those of who ended it */
    const char *op;                  /* pattern for the type of the slowest ops; NULL: any */
    struct flame_timeline *timeline; /* gets the slowest ops; NULL: not wanted */
    size_t timeline_ops;             /* how many */
    void (*progress)(void *context, uint64_t events); /* now and then; may be NULL */
    void *progress_context;
};

struct flame_trace_counts {
    uint64_t ops;        /* finished */
    uint64_t ops_taken;  /* of these, by `tail` */
    uint64_t unfinished; /* ops that were closed without an answer: not taken */
    uint64_t captured;   /* contended waits, captured ... */
    uint64_t told;       /* ... and told */
    uint64_t no_op;      /* captured waits of threads that worked for no op */
    uint64_t op_unknown; /* those whose op was not answered, or for which there was no room */
    uint64_t no_stack;   /* those whose call stack is not known */
    struct flame_sample_counts samples;
    uint64_t unpaired; /* events that tell more of a wait which was not told */
};

struct flame_trace;

/* Owned by the caller. Negative errno with the message. */
int flame_trace_new(const struct flame_trace_options *options, struct flame_trace **trace);
void flame_trace_free(struct flame_trace *trace); /* NULL is fine */

/* Where the events go: for reader_run_traces(). Weak. */
const struct event_consumer *flame_trace_consumer(struct flame_trace *trace);

/* After the last event: closes what is open, fills the timeline. */
int flame_trace_end(struct flame_trace *trace);

struct flame_trace_counts flame_trace_counts(const struct flame_trace *trace);

#endif
