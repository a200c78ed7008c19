/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TRACER_GROUP_INTERNAL_H
#define OPTRAIL_TRACER_GROUP_INTERNAL_H

#include "duty_cycle.h"
#include "event_order.h"
#include "tracer_follow.h"
#include "tracer_group.h"

struct pollfd;

#define MEMBER_BUFFER 256

struct member {
    struct tracer_member shown;
    struct daemon_identity identity;
    struct tracer *tracer;       /* owned; stays when its process has ended, for its counters */
    struct tracer_counts before; /* of the tracers of former processes */
    bool refusal_told;
    char refusal[256]; /* why it could not be resumed; "": it was */
    uint64_t begun_ns; /* when its first process was probed */
    size_t pid_count;
    uint32_t *pids; /* of all its processes; owned */
    struct optrail_event buffer[MEMBER_BUFFER];
    size_t next, count;
};

/* A pause or a resume that is still to be told. */
struct marker {
    uint64_t time_ns;
    bool resume;
    uint64_t traced_ns; /* of a pause: for how long starts were told */
    size_t member;      /* the next one that it is told of */
};

struct tracer_group {
    struct tracer_group_options options;
    struct event_feed feed;
    size_t count;
    struct member *members;   /* owned */
    struct tracer **tracers;  /* room for a list of them; owned */
    struct pollfd *processes; /* likewise */
    uint64_t begun_ns, deadline_ns, looked_ns;
    uint64_t ended_ns; /* 0: not yet */
    bool ending, ended;
    struct duty_cycle duty;
    struct marker markers[4]; /* oldest first */
    size_t marker_count;
    struct tracer_group_slices slices;
    uint64_t attached_ns; /* when this slice began */
};

/* Shared between tracer_group.c (members, their events) and tracer_group_slices.c (a part of the
 * time). */
void tracer_group_tell(struct tracer_group *group, enum tracer_notice notice, size_t index);

/* What the duty cycle does: pauses, takes all probes out; whatever is due. */
void tracer_group_pause(struct tracer_group *group);
void tracer_group_stop(struct tracer_group *group);
void tracer_group_turn(struct tracer_group *group);

/* Pauses and resumes come as events among the others': one is to be told; the oldest one's event
 * for the next member. */
void tracer_group_mark(struct tracer_group *group, uint64_t time_ns, bool resume);
void tracer_group_take_mark(struct tracer_group *group, struct optrail_event *event);

#endif
