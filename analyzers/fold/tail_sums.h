/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TAIL_SUMS_H
#define OPTRAIL_TAIL_SUMS_H

#include "coarse.h"
#include "op_division.h"
#include "time_windows_saved.h"

/* What the tail fold sums up of the ops of one type: all integers, so they add up. */
#define TAIL_WINDOWS 128

struct tail_sums {
    const char *type;        /* weak: the path's name for it, or "other" */
    const struct path *path; /* weak; NULL: none */
    size_t stage_count;      /* of the path; 0 without one */
    uint64_t count, sum_ns;
    uint64_t buckets[COARSE_BUCKETS]; /* ops */
    uint64_t *stages[COARSE_BUCKETS]; /* owned: stage_count + 1 sums (the last: unattributed), or
                                         NULL where no op's latency fell */
    struct time_windows windows;      /* ops by latency, in each window */
};

/* Owned by the caller; NULL with the message: no memory. */
struct tail_sums *tail_sums_new(const char *type, const struct path *path);
void tail_sums_free(struct tail_sums *sums); /* NULL is fine */

/* Adds a finished op, whose time is divided so. */
int tail_sums_add(struct tail_sums *sums, const struct trail *trail,
                  const struct sweep_parts *parts);

/* Puts the sums into a profile, behind the type's name; and adds them. */
void tail_sums_save(const struct tail_sums *sums, struct profile_writer *writer);
int tail_sums_load(struct tail_sums *sums, struct profile_reader *reader);

/* Stage `i` of the path, "unattributed" for the one behind the last. Weak. */
const char *tail_sums_stage(const struct tail_sums *sums, size_t i);

/* The mean time of the ops in the buckets from `begin` up to `end` in stage `i`; 0: no such ops. */
double tail_sums_mean(const struct tail_sums *sums, uint32_t begin, uint32_t end, size_t i);

/* How many ops lie in these buckets. */
uint64_t tail_sums_count(const struct tail_sums *sums, uint32_t begin, uint32_t end);

#endif
