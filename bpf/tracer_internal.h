/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TRACER_INTERNAL_H
#define OPTRAIL_TRACER_INTERNAL_H

#include "event_order.h"
#include "op_fold.h"
#include "tracer.h"
#include "trial.h"
#include "uprobe.h"
#include "uprobe_link.h"
#include "usdt.h"
#include "tracer_text.h"

struct uprobe_bpf; /* the skeleton */
struct ring_buffer;

/* Shared between tracer.c (life), tracer_sites.c (what to probe) and tracer_feed.c (events). */
struct tracer {
    struct target target;
    struct tracer_options options;
    struct uprobe_bpf *skeleton;
    struct trial trial;

    /* a site's index is its cookie and its row in the BPF maps */
    size_t site_count;
    struct tracer_site *sites;
    struct uprobe_site *specs;
    struct uprobe_place *places; /* of the attached ones: first the starts, then the others */
    size_t place_count;
    size_t start_count;
    char **names; /* made-up site names; owned */
    size_t name_count;
    struct usdt_probes usdt; /* owns the names of USDT sites */

    /* Points that start an op are attached last and detached first: no op is seen whose later
     * points are not. NULL when detached. */
    struct uprobe_link *starts, *others;
    bool attached;
    int process; /* pidfd; -1: the kernel has none */
    int program; /* the executable, opened once: sites are chosen in it and probes put in it */
    bool exited;

    struct event_feed feed;
    struct ring_buffer *ring;
    struct event_order order;
    struct tracer_texts texts; /* of the events' */
    uint64_t deadline_ns;      /* 0: none */
    uint64_t attached_ns;      /* when the probes were in first */
    uint64_t cut_ns; /* events after it are dropped: detaching takes a while, point by point */
    uint64_t starts_from_ns, starts_cut_ns; /* ops that begin outside of it are not told; 0: no
                                               such limit (tracer_resume, tracers_pause) */
    uint64_t told_ns;                       /* what happened until then has been released */
    uint64_t drained_ns;                    /* when the last drain began */
    uint64_t newest_ns;                     /* the newest event of the last drain */
    bool drain_cut;                         /* the last drain stopped before the ring was empty */
    bool ended;
    int drain_error;
    uint64_t delivered;
    uint64_t lost_told;
    int cpus;
    struct tracer_fold_state *fold; /* owned; NULL: the kernel does not fold */
};

/* The fold in the kernel. Before the programs are loaded: what they shall do, and how large the
 * maps are. Then: the tables. Takes what came up. Nothing of it does anything without
 * options.fold. */
void tracer_fold_prepare(struct tracer *tracer);
int tracer_fold_open(struct tracer *tracer);
int tracer_fold_drain(struct tracer *tracer);
void tracer_fold_close(struct tracer *tracer);

/* Loads the programs, and finds by trying how this kernel lets them attach. */
int tracer_load(struct tracer *tracer);

/* Chooses the sites from the map or, without one, from the target's USDT notes; fills sites, specs
 * and places, and the BPF maps `sites` and `texts`. */
int tracer_choose_sites(struct tracer *tracer, const struct probe_map *map);

/* Numbers for classes: fills the BPF map `classes` with what objects of theirs begin with in the
 * running process. */
struct elf_file;
int tracer_add_classes(struct tracer *tracer, struct elf_file *file, const struct probe_map *map);

/* Attaches (again). Ops that begin from starts_from_ns on are told. */
int tracer_resume(struct tracer *tracer);

/* Several at once, which is quicker than one after the other. Pausing: no op that begins from now
 * on is told, those that have begun are followed. Stopping: detaches. */
void tracers_pause(struct tracer *const *tracers, size_t count);
void tracers_stop(struct tracer *const *tracers, size_t count);

/* Has the kernel take the records of the hits: folds them, or makes events of them. */
int tracer_take_records(struct tracer *tracer);

/* Takes what is in the ring; releases in order what is old enough. */
int tracer_drain(struct tracer *tracer);

/* Sets up and frees the ring and what the feed needs. */
int tracer_feed_open(struct tracer *tracer);
void tracer_feed_close(struct tracer *tracer);

#endif
