/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TRACER_H
#define OPTRAIL_TRACER_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event_source.h"
#include "probe_map.h"
#include "target.h"

struct fold_tables;
struct fold_op;
struct fold_client_row;
struct fold_peer_row;

/*
 * Probes a running daemon and hands its events on. The daemon is never stopped and never changed
 * beyond the breakpoints that the kernel sets; whatever ends this process, the kernel takes them
 * away again.
 */
struct tracer_options {
    enum probe_detail detail; /* how much of the map is probed */
    bool allow_slow;          /* also at instructions that the kernel single-steps */
    bool held;                /* nothing is attached before tracer_begin() */
    double seconds;           /* trace for so long; 0: until told to stop */
    uint32_t ring_bytes;      /* a power of two; 0: 16 MiB */
    bool one_by_one; /* a perf event a probe, as on kernels before 6.6: for trying that way */
    /* Not NULL: the kernel folds the ops by itself, as these tables say; events come up only if
     * both are asked for. Weak: as long as the tracer. */
    const struct fold_tables *fold;
    bool fold_and_events;
    /* Each op that comes up whole, one of the slowest; called while the feed is asked. May be
     * NULL. */
    void (*exemplar)(void *context, const struct fold_op *op);
    void *exemplar_context;            /* weak */
    const volatile sig_atomic_t *stop; /* weak; NULL or: becomes non-zero to end the tracing */
};

/* What the kernel has folded so far: see op_fold.h. Weak, as of the call; cells go on. */
struct tracer_fold {
    const uint64_t *cells;
    size_t client_count;
    const struct fold_client_row *clients;
    size_t peer_count;
    const struct fold_peer_row *peers;
    uint64_t events;            /* that it took */
    uint64_t first_ns, last_ns; /* the first and the last of them; 0: none */
};

/* A place that was to be probed. */
struct tracer_site {
    const char *name;     /* the point, or "texts of FUNCTION"; weak, lives as long as the tracer */
    const char *function; /* weak */
    bool attached;
    bool shares_hit;  /* with the site of the same function before it: no hit of its own */
    bool slow;        /* at a single-stepped instruction */
    bool replaced;    /* not attached, for this build is told the same by another of the sites */
    char reason[224]; /* why it is not attached */
    uint64_t events;
    uint64_t beside;  /* of the events: those that a hit told besides its own */
    uint64_t ignored; /* hits that its condition refused, or that only remembered the time */
    uint64_t unknown_text;
    uint64_t faults; /* hits whose arguments could not be read */
    uint64_t lost;
    uint64_t unset_stamps;
};

struct tracer_counts {
    uint64_t events; /* handed to the feed's reader */
    uint64_t lost;   /* for want of room in the ring */
    uint64_t late;   /* out of order by more than the slack: their time was moved up */
    uint64_t unknown_text;
    uint64_t faults;
    uint64_t hits;         /* how often the daemon ran into a probe of ours */
    uint64_t unset_stamps; /* STAMP events whose time the daemon never set: left out */
};

struct tracer;

/* False when this optrail was built without eBPF: tracer_open() then says so. */
bool tracer_supported(void);

/* Loads the programs, tries what the kernel can do, chooses the sites and attaches them (unless
 * `held`: what else takes its time can be done first, for from then on the feed is to be read).
 * With a map its rows are probed; without (NULL) the target's own USDT probes. The map stays the
 * caller's and must outlive the tracer. Fails, with the message, when a required point cannot be
 * probed or when there is nothing to probe. Owned by the caller, who closes it. */
int tracer_open(const struct target *target, const struct probe_map *map,
                const struct tracer_options *options, struct tracer **tracer);
void tracer_close(struct tracer *tracer); /* NULL is fine */

/* Attaches what was opened `held`; once. The time begins. Negative errno with the message. */
int tracer_begin(struct tracer *tracer);

/* The events, in time order. Ends when the time is up, at `stop`, when the target exits, or after
 * tracer_stop(); what is in the ring by then is still delivered. Weak. One thread. */
struct event_feed *tracer_feed(struct tracer *tracer);

/* Whether this kernel can fold; if not, -ENOTSUP and a message that says why. */
int tracer_can_fold(void);

/* Reads what the kernel has folded. After the end every answered op is in it, and those that were
 * open are counted as such; meanwhile the ops of the last milliseconds are missing. */
int tracer_fold_read(struct tracer *tracer, struct tracer_fold *fold);

/* From now on the slowest ops are those that come from now on. */
void tracer_fold_forget_slowest(struct tracer *tracer);

/* Detaches. */
void tracer_stop(struct tracer *tracer);

/* The sites, attached or not, with their counters as of now. Weak. */
const struct tracer_site *tracer_sites(struct tracer *tracer, size_t *count);
struct tracer_counts tracer_counts(struct tracer *tracer);

/* Whether the target has exited. */
bool tracer_target_exited(const struct tracer *tracer);

/* How the sites are attached, in words: "eBPF", or what is slower about it on an older kernel:
 * "a perf event a probe". Static. */
const char *tracer_method(const struct tracer *tracer);

#endif
