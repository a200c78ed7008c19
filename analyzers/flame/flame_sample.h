/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_FLAME_SAMPLE_H
#define OPTRAIL_FLAME_SAMPLE_H

#include "flame_tree.h"

/*
 * One observation of where time went: what every source of flame graphs (files of stacks, recorded
 * traces, live capture) hands to the fold.
 */
enum flame_kind {
#define OPTRAIL_FLAME_KIND(name, wall, unit, counted, text) FLAME_##name,
#include "flame_kinds.def"
#undef OPTRAIL_FLAME_KIND
    FLAME_KIND_COUNT
};

struct flame_kind_row {
    const char *name; /* as in --kind NAME */
    bool wall;
    enum flame_unit unit;
    const char *counted;
    const char *text;
};

/* Indexed by enum flame_kind. */
extern const struct flame_kind_row flame_kind_rows[FLAME_KIND_COUNT];

/* The kinds of that name as a bit set: one, or "wall" for all that together are a thread's time.
 * 0 with the message when there is none. */
uint32_t flame_kinds_by_name(const char *name);

/* What may be known of a sample besides its stack. */
enum flame_attribute {
    FLAME_BY_KIND,
    FLAME_BY_REASON, /* what is waited for: a lock's name, "disk", "network" */
    FLAME_BY_POOL,   /* threads that do the same: the thread's name without its number */
    FLAME_BY_THREAD,
    FLAME_BY_OP,    /* the type of the op that it worked for */
    FLAME_BY_STAGE, /* the stage that the op was in */
    FLAME_BY_WAKER, /* the thread that ended the sleep */
    FLAME_ATTRIBUTE_COUNT
};

extern const char *const flame_attribute_names[FLAME_ATTRIBUTE_COUNT]; /* "kind", "reason", ... */

struct flame_sample {
    size_t frame_count;     /* at most FLAME_MAX_FRAMES; 0: the stack is not known */
    const uint32_t *frames; /* the outermost first; numbers of the tree's names, as all names here;
                               weak */
    uint32_t attributes[FLAME_ATTRIBUTE_COUNT]; /* 0: not known; kind and pool may be left 0: they
                                                   follow from `kind` and the thread */
    enum flame_kind kind;
    unsigned side;     /* of a comparison: 0 before, 1 after */
    uint64_t begin_ns; /* on any clock that all samples of the source share; 0: not known */
    uint64_t value_ns; /* the time that it stands for; 0: not known */
    uint64_t count;    /* how many samples it stands for, at least 1 */
};

/* The frames of a text as in stack.define (the innermost first, parted by ';') as names, the
 * outermost first. Returns how many; what is beyond FLAME_MAX_FRAMES, the outermost, is left out
 * and *cut set. Negative errno with the message. */
int flame_frames_of_text(struct flame_names *names, const char *text, uint32_t *frames, bool *cut);

#endif
