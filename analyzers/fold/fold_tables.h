/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_FOLD_TABLES_H
#define OPTRAIL_FOLD_TABLES_H

#include "op_fold.h"
#include "path.h"
#include "trail.h"

/*
 * Paths in the form that the fold in the kernel wants, and the way back: from its sums to ours.
 */

/* A row of the table of types, for people. */
struct fold_type_name {
    const char *name;        /* weak: the path's, or "other" */
    const struct path *path; /* weak; NULL: no path matched */
    bool again;              /* an earlier row has the same name, path and cells */
};

struct fold_table_set {
    struct fold_tables tables;
    struct fold_type_name *names; /* tables.settings.type_count */
};

/* Makes the tables of these paths, which must outlive them. Fails with -ENOTSUP and a message that
 * says why when the fold in the kernel cannot express a path. Owned by the caller. */
int fold_tables_new(const struct path_set *paths, struct fold_table_set **set);
void fold_tables_free(struct fold_table_set *set); /* NULL is fine */

/* What the fold in the kernel has summed up, as of a moment. All weak. */
struct fold_sums {
    const struct fold_table_set *set;
    const uint64_t *cells; /* set->tables.cell_count */
    size_t client_count;
    const struct fold_client_row *clients;
    size_t peer_count;
    const struct fold_peer_row *peers;
};

/* The counters as the trail builder has them. `events`: how many the fold took. */
struct trail_counts fold_sums_counts(const struct fold_sums *sums, uint64_t events);

/* An op that came up whole, as the trail it is. `marks` has room for FOLD_MARKS and must live as
 * long as the trail is used. */
void fold_exemplar_trail(const struct fold_op *op, struct trail *trail, struct trail_mark *marks);

#endif
