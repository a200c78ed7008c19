/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_LIVE_GROUP_PRIVATE_H
#define OPTRAIL_LIVE_GROUP_PRIVATE_H

#include "cpu_use.h"
#include "live_group.h"

/* What the files of live_group.h share: live_group.c is its life, live_report.c its reports,
 * live_profile.c its profile. */

/* The analysis of one of several daemons. */
struct live_one {
    struct analysis *analysis; /* owned */
    struct read_counts counts;
    uint64_t lost_seen;
    struct cpu_use *cpu; /* owned */
};

struct live_group {
    struct live_group_options options;
    struct tracer_group *tracers; /* owned */
    struct event_consumer consumer;
    struct analysis *all; /* owned; NULL: their paths differ */
    size_t count;
    struct live_one *each; /* owned; NULL: there is one daemon only, and `all` is of it */
    uint32_t pid;          /* of the last event, and its member */
    int member;
    struct cpu_use *cpu;     /* owned; of all of them */
    struct live_fold *fold;  /* owned; NULL: events come up, and are folded here */
    struct read_counts read; /* what the last report was made of */
};

/* Hands the kernel's sums to the analyses. `counts`: what a reader of events would have counted. */
int live_group_take_sums(struct live_group *group, struct read_counts *counts);

/* What the daemons had of the CPUs by now goes into the next reports. */
void live_group_take_cpus(struct live_group *group);

/* Completes the report of the daemon at `index` by what the tracer alone knows. */
int live_group_describe(struct live_group *group, size_t index, struct report *report);

#endif
