/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_PATH_H
#define OPTRAIL_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "points.h"

/*
 * A path says, for one daemon and object store, which types of ops there are and which stages an
 * op passes: a text file in YAML. docs/paths.md is its manual.
 *
 *   path: ministore-filestore
 *   daemon: ministore
 *   store: filestore
 *   points: [op.start, messenger.recv_end, ...]     in the order in which an op passes them
 *   types:
 *     - name: write
 *       start_type: 2                 the START's type; left out: any
 *       passes: [journal.submit]      points it must have passed
 *       bytes_in: true                whether its FINISH has bytes in (true/false); left out: any
 *   stages:
 *     - name: opqueue.wait
 *       kind: wait                    wait, work, lock, io, net or throttle
 *       from: opqueue.enqueue
 *       or_from: op.queued            another point at which it begins; left out: none
 *       to: opqueue.dequeue
 *       within: osd.prepare           left out: not nested in another stage
 *       branch: local                 left out: on the main line
 *       batches: true                 its thread takes all ops that are there; left out: one by one
 *       shared: true                  any of its threads takes any op; left out: each its own
 *       knobs: [osd_op_num_shards]    configuration options that govern it
 *       text: the op waits in its shard's queue for a worker
 *   beside: [apply]                 branches that the answer never waits for
 */

enum stage_kind {
    STAGE_WAIT,
    STAGE_WORK,
    STAGE_LOCK,
    STAGE_IO,
    STAGE_NET,
    STAGE_THROTTLE,
    STAGE_KIND_COUNT
};

extern const char *const stage_kind_names[STAGE_KIND_COUNT]; /* "wait", ... */

#define PATH_MAX_STAGES 64

struct path_stage {
    char *name;
    enum stage_kind kind;
    enum point from;
    int or_from; /* another point at which it begins, for traces without the first; -1: none */
    enum point to;
    int within;   /* index of the stage around it; -1: none */
    int branch;   /* index into path.branches; -1: the main line */
    bool batches; /* the thread that ends the wait takes all that is there */
    bool shared;  /* of the threads that end the wait each takes whatever op comes next */
    int line;     /* where it stands in the file */
    char *text;   /* one clause for people; "" if none */
    char **knobs; /* NULL-terminated, owned */
};

/* Whether it runs from a fork to a join: it then ends when every peer has answered. */
static inline bool path_stage_counts_peers(const struct path_stage *stage)
{
    return point_rows[stage->from].role == ROLE_FORK && point_rows[stage->to].role == ROLE_JOIN;
}

struct path_type {
    char *name;
    bool any_start_type;
    uint64_t start_type;
    int bytes_in;  /* 1: needs them, 0: must have none, -1: any */
    int bytes_out; /* likewise */
    uint64_t passes[(POINT_COUNT + 63) / 64];
    int passes_count;
};

struct path {
    char *name;
    char *daemon;
    char *store;
    char *file; /* where it was read from */
    char *text; /* the whole file; NULL: it could not be read a second time */
    bool saved; /* a saved profile brought it: it names what that has, and no op is matched to it */
    size_t point_count;
    enum point *points; /* in the order of the op's life */
    size_t type_count;
    struct path_type *types;
    size_t stage_count; /* at most PATH_MAX_STAGES; an outer stage comes before those within it */
    struct path_stage *stages;
    size_t branch_count;
    char **branches;
    uint64_t beside; /* bit i: the answer never waits for branch i */
};

/* Reads a path file. Refuses, with file, line and what to do: what is not YAML, unknown keys,
 * points or kinds, two stages of one name, a stage that ends before it starts (in the order of
 * `points`), `within` that names no stage or runs in a circle, an inner stage that is not inside
 * its outer one, more than PATH_MAX_STAGES stages. The caller owns the path. */
int path_read(const char *file, struct path **path);
/* The same of the text of such a file; `name` is for messages. */
int path_parse_text(const char *name, const char *text, struct path **path);
void path_free(struct path *path); /* NULL is fine */

/* Where the point stands in the op's life, from 0; -1: `points` does not have it. */
int path_point_order(const struct path *path, enum point point);

/* All paths of a directory (files *.yaml, in name order), for choosing among them op by op. */
struct path_set {
    size_t count;
    struct path **paths; /* owned */
};
int path_set_read(const char *directory, struct path_set *set);
/* What an option --path names: a directory of them, or a file with one; NULL: those that are
 * installed. */
int path_set_open(const char *name, struct path_set *set);
int path_set_add(struct path_set *set, struct path *path); /* takes the path, also when it fails */
void path_set_free(struct path_set *set);

/* Where the installed path files lie: $OPTRAIL_PATHS, else the build's or the installation's
 * directory, found from the running program. Static storage. */
const char *path_default_directory(void);

/* The type that an op belongs to: of all types of all paths whose conditions it meets the one with
 * the most conditions, the first of several. NULL if it meets none. */
struct path_match {
    const struct path *path;
    const struct path_type *type;
};
struct path_op {
    const uint64_t *seen; /* the points it passed, bit set */
    uint64_t start_type;
    uint64_t bytes_in;
    uint64_t bytes_out;
};
bool path_set_match(const struct path_set *set, const struct path_op *op, struct path_match *match);

#endif
