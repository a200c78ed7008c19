/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_FLIGHT_RECORDER_H
#define OPTRAIL_FLIGHT_RECORDER_H

#include <stdbool.h>
#include <stddef.h>

#include "event_observer.h"
#include "trace_writer.h"

/*
 * Keeps the last seconds of events in memory, and writes them out when it is asked to: as traces
 * DIRECTORY/snapshot-1, snapshot-2, ... No event is in two of them: a snapshot that is asked for
 * sooner than the seconds after the last one is written when they have passed, or at the end.
 */
struct flight_recorder_options {
    const char *directory;                 /* must exist */
    double seconds;                        /* what is kept */
    size_t bytes;                          /* of memory at most; 0: 256 MiB */
    unsigned limit;                        /* so many snapshots at most */
    bool at_end;                           /* one more at the end, whether asked for or not */
    const struct event_observer *observer; /* may be NULL */
    const struct trace_ending *ending;     /* for each snapshot; may be NULL */
    void *context;                         /* weak: for the callbacks below */
    /* Asked after each batch of events, and some times a second: why a snapshot is wanted now
     * ("slow op"); NULL: none is. Static string. */
    const char *(*wanted)(void *context);
    /* A snapshot has been written. May be NULL. */
    void (*written)(void *context, const char *directory, const char *reason, uint64_t events);
};

struct flight_recorder_counts {
    unsigned snapshots;
    uint64_t refused;   /* wanted when the limit was reached */
    uint64_t shortened; /* snapshots that lack a part of their seconds, for want of memory */
};

/* Runs until the feed ends. The feed's facts, "snapshot_reason" and "snapshot_number" are each
 * trace's. While a snapshot is written, events wait in the tracer's ring. Negative errno with the
 * message, as trace_write(). */
int flight_recorder_run(struct event_feed *feed, const struct flight_recorder_options *options,
                        struct flight_recorder_counts *counts);

#endif
