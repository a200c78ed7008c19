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

/*
 * Probes a running daemon and hands its events on. The daemon is never stopped and never changed
 * beyond the breakpoints that the kernel sets; whatever ends this process, the kernel takes them
 * away again.
 */
struct tracer_options {
    enum probe_detail detail; /* how much of the map is probed */
    bool allow_slow;          /* also at instructions that the kernel single-steps */
    double seconds;           /* trace for so long; 0: until told to stop */
    uint32_t ring_bytes;      /* a power of two; 0: 16 MiB */
    bool one_by_one; /* a perf event a probe, as on kernels before 6.6: for trying that way */
    const volatile sig_atomic_t *stop; /* weak; NULL or: becomes non-zero to end the tracing */
};

/* A place that was to be probed. */
struct tracer_site {
    const char *name;     /* the point, or "texts of FUNCTION"; weak, lives as long as the tracer */
    const char *function; /* weak */
    bool attached;
    bool shares_hit;  /* with the site of the same function before it: no hit of its own */
    bool slow;        /* at a single-stepped instruction */
    char reason[224]; /* why it is not attached */
    uint64_t events;
    uint64_t ignored; /* hits that its condition refused, or that only remembered the time */
    uint64_t unknown_text;
    uint64_t faults; /* hits whose arguments could not be read */
    uint64_t lost;
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

/* Loads the programs, tries what the kernel can do, chooses the sites and attaches them. With a
 * map its rows are probed; without (NULL) the target's own USDT probes. The map stays the caller's
 * and must outlive the tracer. Fails, with the message, when a required point cannot be probed or
 * when there is nothing to probe. Owned by the caller, who closes it. */
int tracer_open(const struct target *target, const struct probe_map *map,
                const struct tracer_options *options, struct tracer **tracer);
void tracer_close(struct tracer *tracer); /* NULL is fine */

/* The events, in time order. Ends when the time is up, at `stop`, when the target exits, or after
 * tracer_stop(); what is in the ring by then is still delivered. Weak. One thread. */
struct event_feed *tracer_feed(struct tracer *tracer);

/* Detaches. */
void tracer_stop(struct tracer *tracer);

/* The sites, attached or not, with their counters as of now. Weak. */
const struct tracer_site *tracer_sites(struct tracer *tracer, size_t *count);
struct tracer_counts tracer_counts(struct tracer *tracer);

/* Whether the target has exited. */
bool tracer_target_exited(const struct tracer *tracer);

/* How the sites are attached, in words: "uprobe_multi links, on 5-byte nops". Weak. */
const char *tracer_method(const struct tracer *tracer);

#endif
