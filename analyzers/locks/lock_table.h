/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_LOCK_TABLE_H
#define OPTRAIL_LOCK_TABLE_H

#include "event.h"
#include "lock_groups.h"

/*
 * Lock contention from events: of locks that a daemon tells of (locks.def: asked for, got, given
 * back), and of contended waits that were captured (lock.waited and those behind it). Memory is
 * bounded whatever comes; what finds no room is counted. Not thread-safe.
 *
 * What is told of a lock is exact: its holds are measured, also the uncontended ones. Of captured
 * waits only what was contended is known: `acquisitions` stays 0, holds are those that somebody
 * waited for, and a lock is busy at least while somebody waits.
 */
#define LOCK_INSTANCES 32768
#define LOCK_SLICES    16 /* of time, for the spread of the busy fraction */

/* One lock object. */
struct lock_instance {
    uint64_t id;  /* its number or its address */
    uint32_t pid; /* 0: the entry is free */
    uint16_t group;
    uint16_t waiting; /* threads that ask for it now */
    uint16_t holding; /* threads that have it now */
    uint16_t is_address;
    uint32_t holder;       /* who got it last */
    uint64_t changed_ns;   /* since when holding and waiting are what they are */
    uint64_t begun_ns;     /* when it was free last and somebody got it */
    uint64_t contended_ns; /* since then: while somebody waited */
    uint64_t released_ns;  /* when it was free last */
    uint64_t covered_ns;   /* captured waits: time up to here is in busy_ns */
    uint64_t busy_ns;      /* held by somebody, or (captured) waited for */
    uint64_t waits, wait_ns;
    uint64_t slices[LOCK_SLICES]; /* busy, ns, of each slice of the time */
};

struct lock_counts {
    uint64_t events;         /* that tell of locks */
    uint64_t waits;          /* captured ones */
    uint64_t unpaired;       /* given back without having been got, and the like */
    uint64_t no_instance;    /* found no room in the table of locks */
    uint64_t no_thread;      /* in that of threads */
    uint64_t no_stack;       /* waits whose stack is not known */
    uint64_t stacks;         /* that were told */
    uint64_t stacks_dropped; /* for want of room */
    uint64_t nested;         /* more locks held by a thread than are followed */
};

/* Who a thread works for, as the trails have it. */
struct lock_view {
    void *context; /* weak */
    /* The op of the thread, and the point that it passed last; false: none. */
    bool (*current)(void *context, uint32_t pid, uint32_t tid, uint64_t *op, uint16_t *point);
};

/* A thread has waited for a lock of the group. */
struct lock_ended_wait {
    uint32_t pid, tid;
    uint16_t group;
    uint64_t begin_ns;
    uint64_t ns; /* how long, times as many waits as it stands for */
};

/* What a user of the table may want to hear at once; NULL: not interested. */
struct lock_listener {
    void *context; /* weak */
    int (*waited)(void *context, const struct lock_ended_wait *wait);
    int (*acquired)(void *context, uint32_t pid, uint32_t tid, uint16_t group, uint64_t time_ns);
    int (*released)(void *context, uint32_t pid, uint32_t tid, uint16_t group, uint64_t time_ns);
    /* It must have given it back some time ago: that was not seen. */
    void (*forgotten)(void *context, uint32_t pid, uint32_t tid, uint16_t group);
};

struct lock_table;

/* `view` and `listener` are copied; each may be NULL. Owned by the caller. */
int lock_table_new(const struct lock_view *view, const struct lock_listener *listener,
                   struct lock_table **table);
void lock_table_free(struct lock_table *table); /* NULL is fine */

struct profile_writer;
struct profile_reader;

/* Puts all that is known of the locks into a profile, or adds what a profile has. docs/profile.md
 * has the rows. The second one leaves in `numbers`, which has room for LOCK_GROUPS, the groups that
 * the profile's group numbers stand for here, or LOCK_NO_GROUP, and returns 0, or a negative errno
 * with the message. Waits that are kept back must have been flushed. */
void lock_table_save(const struct lock_table *table, struct profile_writer *writer);
int lock_table_load(struct lock_table *table, struct profile_reader *reader, uint16_t *numbers);

/* Parts of it, which what is done under locks is saved by too: places, one a row of this keyword;
 * a point, or LOCK_NOWHERE; a lock's number, put into ours. */
void lock_places_save(const struct lock_places *places, const char *keyword,
                      struct profile_writer *writer);
int lock_places_load(struct lock_places *places, const char *keyword, const uint16_t *numbers,
                     struct profile_reader *reader);
uint16_t lock_point_load(struct profile_reader *reader);
uint16_t lock_number_load(struct profile_reader *reader, const uint16_t *numbers);

/* Takes an event; those that tell nothing of locks are passed over. */
int lock_table_event(struct lock_table *table, const struct optrail_event *event);

/* Takes a captured wait that came another way than by events. `frames`: of the waiter's stack, as
 * in stack.define; NULL: not known. */
int lock_table_wait(struct lock_table *table, const struct lock_wait *wait, const char *frames);

/* What the lock of a captured wait is called: as the daemon has named it, by a rule, or after where
 * it is asked for. `frames`: as in lock_table_wait(). */
void lock_table_wait_name(const struct lock_table *table, const struct lock_wait *wait,
                          const char *frames, char *name, size_t size);

/* A call stack that was told; NULL: none of this number was. Weak, until the next event. */
const char *lock_table_stack(const struct lock_table *table, uint32_t pid, uint32_t number);

/* What is captured but was kept back until all of it was told. */
int lock_table_flush(struct lock_table *table);

const struct lock_groups *lock_table_groups(const struct lock_table *table);
struct lock_group *lock_table_group(struct lock_table *table, uint16_t group);
/* The waits of the group that have not ended by now: those that were captured as such, which are
 * among its waits, and told requests of locks that were not free, which are not. */
struct lock_unfinished lock_table_unfinished(const struct lock_table *table, uint16_t group);
struct lock_counts lock_table_counts(const struct lock_table *table);

/* Calls `each` for every instance, in no order. */
void lock_table_instances(const struct lock_table *table,
                          void (*each)(void *context, const struct lock_instance *instance),
                          void *context);
/* Length of a slice, ns; when the first one began, a multiple of the length; when something was
 * told first, and when last. */
uint64_t lock_table_slice_ns(const struct lock_table *table);
uint64_t lock_table_slices_ns(const struct lock_table *table);
uint64_t lock_table_begin_ns(const struct lock_table *table);
uint64_t lock_table_end_ns(const struct lock_table *table);

#endif
