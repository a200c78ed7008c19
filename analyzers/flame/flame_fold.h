/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_FLAME_FOLD_H
#define OPTRAIL_FLAME_FOLD_H

#include "flame_sample.h"

/*
 * Samples in, a flame tree out: chooses samples by what is known of them, and how their stacks are
 * put together. Not thread-safe.
 */
enum flame_weight {
    FLAME_WEIGHT_BY_KIND, /* as the kind's row has it */
    FLAME_WEIGHT_TIME,
    FLAME_WEIGHT_COUNT,
};

/* All weak; they must live as long as the fold. A pattern is as fnmatch(3) has it, NULL: any. What
 * is not known of a sample matches no pattern. */
struct flame_options {
    uint32_t kinds;                           /* bit set of enum flame_kind; 0: all */
    const char *op, *stage, *thread, *reason; /* patterns */
    bool in_range;                            /* only samples that begin within ... */
    uint64_t from_ns, to_ns;                  /* [from, to), counted from the origin */
    enum flame_weight weight;
    bool inverted; /* the innermost frame first: who is it that the leaves are called by */
    size_t by_count;
    enum flame_attribute by[FLAME_ATTRIBUTE_COUNT]; /* become the outermost frames */
};

struct flame_fold_counts {
    uint64_t taken;
    uint64_t filtered;  /* samples that the options leave out */
    uint64_t untimed;   /* of these: it is not known when they were */
    uint64_t worthless; /* without a time, when the weight is time: count nothing */
};

struct flame_fold;

/* Makes tree and fold; both owned by the caller. Negative errno with the message. */
int flame_fold_new(const struct flame_options *options, unsigned sides, struct flame_fold **fold,
                   struct flame_tree **tree);
void flame_fold_free(struct flame_fold *fold); /* NULL is fine */

/* Where the time range of a side counts from; without it, from its first sample. */
void flame_fold_origin(struct flame_fold *fold, unsigned side, uint64_t origin_ns);

/* Adds a sample. Negative errno with the message: memory, or a sum that does not fit. */
int flame_fold_take(struct flame_fold *fold, const struct flame_sample *sample);

struct flame_fold_counts flame_fold_counts(const struct flame_fold *fold);
const struct flame_options *flame_fold_options(const struct flame_fold *fold); /* weak */
struct flame_tree *flame_fold_tree(const struct flame_fold *fold);             /* weak */

/* Finishes the tree and puts what was cut or counts nothing among its notes. Once. */
int flame_fold_finish(struct flame_fold *fold);

#endif
