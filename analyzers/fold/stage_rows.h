/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_STAGE_ROWS_H
#define OPTRAIL_STAGE_ROWS_H

#include "histogram.h"
#include "report.h"
#include "sweep.h"

/*
 * The sums of one op type. Everything is a sum, so that two of them add up to exactly what one
 * would have seen.
 *
 * The share of each stage in the slowest ops needs to know which ops are the slowest, which is
 * known only at the end. So the stages' times are summed per latency bucket: the slowest 1 % are
 * then the ops of the topmost buckets, the bucket at the border in proportion.
 */
struct stage_sums {
    char *type;
    char *path_name;         /* "" when no path matched: then there are no stages */
    const struct path *path; /* weak; NULL when no path matched */
    size_t stage_count;
    struct histogram latency; /* of the op */
    uint64_t unattributed_ns;
    uint64_t failed;
    uint64_t broken; /* ops with a stage whose end was not seen */
    uint64_t bytes;
    struct histogram *stages; /* stage_count of them, on the critical path */
    uint64_t *beside_ns;      /* stage_count */
    uint64_t *largest;        /* ops in which this stage took the most time; stage_count + 1,
                                 the last for unattributed */
    uint64_t *buckets[HISTOGRAM_BUCKETS]; /* stage_count + 1 sums (the last: unattributed), or NULL
                                             where no op's latency fell into the bucket */
};

/* Makes the sums of a type; `path` may be NULL. NULL with the message: out of memory. */
struct stage_sums *stage_sums_new(const char *type, const struct path *path);
void stage_sums_free(struct stage_sums *sums);

/* Adds a finished op, whose time is divided so. */
int stage_sums_add(struct stage_sums *sums, const struct trail *trail,
                   const struct sweep_parts *parts);

/* Forgets everything but type and path. */
void stage_sums_clear(struct stage_sums *sums);

/* Adds what the kernel's fold has in the cells of this type, which begin at `base` and are of as
 * many stages. Count and sum of the histograms follow from their buckets and from the rows. */
int stage_sums_add_cells(struct stage_sums *sums, const uint64_t *cells, uint32_t base);

struct profile_writer;
struct profile_reader;

/* Puts the sums into a profile, as ops of this path of it; or adds those of a profile, behind its
 * word for the type and its path. -EBADMSG with the message when they contradict each other. */
void stage_sums_save(const struct stage_sums *sums, size_t path, struct profile_writer *writer);
int stage_sums_load(struct stage_sums *sums, struct profile_reader *reader);

/* The stages' sums of a latency bucket, made if they are new; NULL: no memory. */
uint64_t *stage_sums_row(struct stage_sums *sums, size_t bucket);

/* Adds the type's row to the report. */
int stage_sums_fill(const struct stage_sums *sums, struct report *report);

#endif
