/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TAIL_VALUES_H
#define OPTRAIL_TAIL_VALUES_H

#include <stdbool.h>

#include "coarse.h"
#include "trail.h"

/*
 * What ops have that other ops may have, too: the thread that worked for it, the placement group,
 * the peer that answered last. For each such value the ops' latencies are counted.
 */
enum tail_kind {
    TAIL_GROUP,
    TAIL_SHARD,
    TAIL_OBJECT,
    TAIL_LOCK,
    TAIL_THREAD,
    TAIL_PEER,
    TAIL_CLIENT,
    TAIL_SIZE,
    TAIL_KIND_COUNT
};

extern const char *const tail_kind_names[TAIL_KIND_COUNT];

/* Of the kinds above the first so many are told by arguments of points, one each. */
#define TAIL_ARGUMENTS (TAIL_LOCK + 1)

struct tail_row {
    uint32_t type;  /* of op: the fold's number */
    uint16_t kind;  /* enum tail_kind */
    uint16_t point; /* TAIL_THREAD: of those where it began with an op the first of the catalogue */
    uint32_t pid;
    uint64_t value;
    uint64_t count;
    uint32_t buckets[COARSE_BUCKETS];
};

struct tail_values;

/* Owned by the caller; NULL with the message: no memory. */
struct tail_values *tail_values_new(void);
void tail_values_free(struct tail_values *values); /* NULL is fine */

/* Counts one op. */
int tail_values_add(struct tail_values *values, uint32_t type, uint32_t pid, enum tail_kind kind,
                    uint64_t value, uint16_t point, uint64_t latency_ns);

/* Adds what a profile has of one value; `row->point` and the counts are those there. */
int tail_values_merge(struct tail_values *values, const struct tail_row *row);
void tail_values_lost(struct tail_values *values, uint64_t not_kept);

/* All rows; weak. Ops' values for which there was no room, all types together, in *not_kept. */
struct tail_row *const *tail_values_rows(const struct tail_values *values, size_t *count,
                                         uint64_t *not_kept);

#endif
