/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TRACER_GROUP_H
#define OPTRAIL_TRACER_GROUP_H

#include "tracer.h"

/*
 * Traces one daemon or several at once, each by a tracer of its own, so that nothing of one (a full
 * ring, a map, its end) touches another; their events come merged in time order. Also what goes
 * beyond one tracer's life: daemons that are restarted, and tracing for a part of the time only.
 */
struct tracer_member {
    struct target target;  /* of the process that was probed last */
    struct probe_map *map; /* NULL: its own probes; owned by the group */
    bool exact;            /* the map is that of its very version */
    uint64_t restarts;     /* how often a new process was probed */
    bool absent;           /* the daemon has ended, and no new process is probed */
};

enum tracer_notice {
    TRACER_PROBED,  /* a new process is probed, after a restart */
    TRACER_ENDED,   /* its process has ended, or has become another program */
    TRACER_REFUSED, /* its process cannot be probed (yet, or again): err_message() says why */
};

/* What the duty cycle does next, or has just done. */
enum tracer_turn {
    TRACER_GOES_IN, /* about to put the probes in */
    TRACER_IS_IN,   /* they are: ops that begin from now on are told */
    TRACER_PAUSES,  /* ops that begin from now on are not */
    TRACER_IS_OUT,  /* all probes are out */
};

struct tracer_group_options {
    /* of each tracer; its `seconds`, `stop` and `held` are the group's */
    struct tracer_options each;
    bool follow; /* probe the process that comes after one that has ended */
    /* Trace for this part of the time only, in slices that are longer than the slowest ops: above
     * 0, below 1; 0: all the time. Needs uprobe_multi links. */
    double duty;
    /* The latency of the slowest op since the last call, 0 if none: the slices follow it. May be
     * NULL. */
    uint64_t (*slowest_ns)(void *context);
    /* Something has happened to a member. May be NULL. */
    void (*notice)(void *context, enum tracer_notice notice, size_t member);
    /* The duty cycle turns: not told of the first slice's beginning. May be NULL. */
    void (*turns)(void *context, enum tracer_turn turn);
    void *context; /* weak: of all three */
};

struct tracer_group_slices {
    uint64_t count;     /* slices so far */
    uint64_t traced_ns; /* in which ops' starts were told */
    uint64_t probed_ns; /* with any probe in, the way in and out included */
    uint64_t wall_ns;   /* since the beginning */
};

struct tracer_group;

/* Probes them all, unless they are to be `held`. Nothing is attached before all are ready: what the
 * first one tells is not read until then. Fails, with the message, when one of them cannot be: a
 * selection that is silently smaller than what was asked for is no selection. Owned by the caller,
 * who closes it. */
int tracer_group_open(const struct target *targets, size_t count,
                      const struct tracer_group_options *options, struct tracer_group **group);
void tracer_group_close(struct tracer_group *group); /* NULL is fine */

/* Attaches what was opened `held`; once. The time begins. Negative errno with the message. */
int tracer_group_begin(struct tracer_group *group);

/* The events of all, in time order; ends when the time is up, at `stop`, or when all daemons have
 * ended (with `follow`: not then). Weak. One thread. */
struct event_feed *tracer_group_feed(struct tracer_group *group);

size_t tracer_group_size(const struct tracer_group *group);
const struct tracer_member *tracer_group_member(const struct tracer_group *group, size_t member);

/* The tracer of the member's newest process. Weak: until the feed is asked again. */
struct tracer *tracer_group_tracer(struct tracer_group *group, size_t member);

/* Sums over all its processes. */
struct tracer_counts tracer_group_counts(struct tracer_group *group, size_t member);

/* Which member the process is, or was; -1: none. */
int tracer_group_find(const struct tracer_group *group, uint32_t pid);

/* From when on the member was probed, until when: as of now while it goes on. Ends of a restarted
 * daemon's processes lie in between. CLOCK_MONOTONIC. */
void tracer_group_span(const struct tracer_group *group, size_t member, uint64_t *begin_ns,
                       uint64_t *end_ns);

/* What --duty came to; all 0 without. */
struct tracer_group_slices tracer_group_slices(const struct tracer_group *group);

#endif
