/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_FOLD_H
#define OPTRAIL_FOLD_H

#include "fold_tables.h"
#include "op_division.h"
#include "path.h"
#include "report.h"
#include "trail.h"

/*
 * A fold turns trails (and, if it wants, single events) into rows of the report. It is a struct of
 * callbacks; NULL means "not interested". All calls come from one thread.
 */
struct fold_options {
    const struct path_set *paths; /* weak: lives longer than the fold */
    struct trail_builder *trails; /* the same; NULL: none */
    bool windows;                 /* sums by windows of time are wanted too (windows.h) */
};

struct profile_writer;
struct profile_reader;

/* The paths that a profile has, by its numbers for them; 0: no path. All weak. */
struct saved_paths {
    size_t count;
    const struct path **rows; /* number 1 is rows[0] */
};

/* The number of the path, which is NULL or one of them. */
size_t saved_path_number(const struct saved_paths *paths, const struct path *path);
/* The path of the number that stands in the profile; a number too large fails in the reader. */
const struct path *saved_path_load(const struct saved_paths *paths, struct profile_reader *reader);

struct fold_class {
    const char *name;
    /* Makes the fold's state. Owned by the caller, freed by `free`. */
    int (*create)(const struct fold_options *options, void **state);
    int (*event)(void *state, const struct optrail_event *event);
    /* Every trail that ends, whatever its reason. `division` is of a finished one, NULL of others.
     */
    int (*trail)(void *state, const struct trail *trail, const struct op_division *division);
    /* Fills its part of the report; may be called again later with a fresh report (live use). */
    int (*fill)(void *state, struct report *report);
    /* The same of what came since the last call of `interval` (the first time: since the
     * beginning); NULL: its part of such a report is that of `fill`. */
    int (*interval)(void *state, struct report *report);
    /* Adds what the kernel has folded by itself. `first`: what earlier calls brought is thrown away
     * before, since the kernel's sums are those of the whole run. */
    int (*sums)(void *state, const struct fold_sums *sums, bool first);
    /* An op that the kernel handed up whole; its time is already in the sums. */
    int (*exemplar)(void *state, const struct trail *trail, const struct op_division *division);
    /* Puts all that `fill` needs into a profile, or adds what a profile has, so that it then fills
     * what it would have filled had it seen both. Both NULL: it gathers nothing of its own. */
    void (*save)(void *state, const struct saved_paths *paths, struct profile_writer *writer);
    int (*load)(void *state, const struct saved_paths *paths, struct profile_reader *reader);
    void (*free)(void *state);
};

/* The folds, NULL-terminated. */
extern const struct fold_class *const fold_classes[];

extern const struct fold_class fold_stages;     /* ops and their stages */
extern const struct fold_class fold_clients;    /* ops by client */
extern const struct fold_class fold_exemplars;  /* the slowest ops, one by one */
extern const struct fold_class fold_peers;      /* the peers that got copies of ops */
extern const struct fold_class fold_contention; /* locks, queues, what threads do */
extern const struct fold_class fold_tails;      /* what slow ops have in common, two populations */
extern const struct fold_class fold_stalls;     /* times in which nothing is answered */
extern const struct fold_class fold_rhythm;     /* latency that rises at regular intervals */
extern const struct fold_class fold_windows;    /* ops by windows of time; the heat map */
extern const struct fold_class fold_verdict;    /* reads the report's rows and says what they mean:
                                                   the last one in the list */

#endif
