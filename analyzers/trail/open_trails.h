/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_OPEN_TRAILS_H
#define OPTRAIL_OPEN_TRAILS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "key_table.h"
#include "trail.h"

/*
 * The trails of the ops that have not ended yet, in the order in which they began: their marks, the
 * names they are found by, and the names that were in use lately. Bounded in trails and in marks;
 * what does not fit ends the oldest. A slot is used again when its trail has ended, and its
 * generation tells one from the other. Not thread-safe.
 */

/* names a trail may live under at once; further links are not joined, and counted so */
#define OPEN_TRAIL_NAMES 6
#define OPEN_TRAILS_NONE KEY_TABLE_NONE

struct open_trail {
    struct trail trail;
    struct trail_mark *marks; /* owned */
    size_t capacity;
    uint32_t generation;
    uint32_t older, newer; /* list by start; `newer` also chains the free slots */
    uint32_t open_branches;
    uint8_t name_count;
    bool in_use;
    bool lossy;    /* events were lost while it was open */
    bool answered; /* its finish was seen; it waits for a branch beside it */
    struct key_name names[OPEN_TRAIL_NAMES];
};

struct open_trails {
    struct trail_limits limits;
    trail_callback *callback;
    void *context;
    struct key_table keys;
    struct key_name *past;    /* owned */
    struct open_trail *slots; /* owned */
    size_t slot_count, slot_capacity;
    uint32_t free_slot;
    uint32_t oldest, newest;
    size_t marks_allocated;
    uint64_t lost_until_ns;
    struct trail_counts counts;
};

/* NULL limits: the defaults. The callback gets each trail when it ends; NULL: nobody does. After a
 * failure as well, open_trails_free gives back what there is. */
int open_trails_init(struct open_trails *trails, const struct trail_limits *limits,
                     trail_callback *callback, void *context);
void open_trails_free(struct open_trails *trails);

/* Begins the event's trail under the name, with the event as its first mark. Ends the trail that
 * has the name already, and the oldest ones if there is no room. May move the slots. */
int open_trails_start(struct open_trails *trails, const struct optrail_event *event,
                      const struct key_name *name);

/* Adds a mark of the event at a time (ns) that may lie before marks that are there. */
int open_trails_mark(struct open_trails *trails, uint32_t slot, const struct optrail_event *event,
                     uint64_t time_ns, uint16_t branch);

/* A further name for the trail; there must be room for it. */
int open_trails_bind(struct open_trails *trails, uint32_t slot, const struct key_name *name);
/* Takes the trail's name of that index back: it is a name of the past. The last one gets its index.
 */
void open_trails_unbind(struct open_trails *trails, uint32_t slot, int index);
/* Whether the name was taken back lately; an old one may be forgotten. */
bool open_trails_was_name(const struct open_trails *trails, const struct key_name *name);
/* Forgets the names of the past of that process. */
void open_trails_forget_names(struct open_trails *trails, uint32_t pid);

/* Ends the trail, tells it, frees its slot. What the callback returned. */
int open_trails_close(struct open_trails *trails, uint32_t slot, enum trail_end reason);
/* Ends those that began longer ago than the limit allows. */
int open_trails_close_overdue(struct open_trails *trails, uint64_t now_ns);

#endif
