/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_FLAME_TIMELINE_H
#define OPTRAIL_FLAME_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flame_names.h"

/*
 * Single ops, on the threads that worked for them: tracks with slices of time on them, and arrows
 * between slices. What analyzers/flame fills and a renderer reads. Not thread-safe.
 */
struct flame_track {
    uint32_t group; /* name: of the process, or of what the tracks are of */
    uint32_t pid;   /* number of the group */
    uint32_t tid;   /* number of the track within it */
    uint32_t name;
};

struct flame_slice {
    uint32_t track;
    uint32_t name;
    uint32_t category; /* name: "stage", "lock", ... */
    uint32_t detail;   /* name: what else is to be said; 0: nothing */
    uint64_t begin_ns, end_ns;
    bool cut; /* flame_timeline_finish() made it end with the slice around it */
};

/* An arrow, from within a slice to within another, at these times. */
struct flame_flow {
    uint32_t name;
    uint32_t from_track, to_track;
    uint64_t from_ns, to_ns;
};

struct flame_timeline {
    struct flame_names names;
    uint64_t origin_ns; /* what times are told from; the smallest begin */
    size_t track_count, slice_count, flow_count, note_count;
    struct flame_track *tracks;
    struct flame_slice *slices; /* by track and begin, the outer before the inner, once finished */
    struct flame_flow *flows;
    char **notes; /* sentences for people */
};

/* Negative errno with the message, as all here. Owned by the caller. */
int flame_timeline_new(struct flame_timeline **timeline);
void flame_timeline_free(struct flame_timeline *timeline); /* NULL is fine */

/* The number of the track, made if there is none of this pid and tid. */
int flame_timeline_track(struct flame_timeline *timeline, const struct flame_track *track,
                         uint32_t *number);
int flame_timeline_slice(struct flame_timeline *timeline, const struct flame_slice *slice);
int flame_timeline_flow(struct flame_timeline *timeline, const struct flame_flow *flow);
int flame_timeline_note(struct flame_timeline *timeline, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Orders the slices and makes those of a track lie within or beside each other: one that begins in
 * another and ends after it ends with it. Arrows that no longer begin or end in a slice go. Once,
 * after the last slice. */
void flame_timeline_finish(struct flame_timeline *timeline);

#endif
