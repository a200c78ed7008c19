/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_LOCK_TABLE_PRIVATE_H
#define OPTRAIL_LOCK_TABLE_PRIVATE_H

#include "lock_table.h"
#include "stack_table.h"

/* The parts of the table: what its two sources, told locks and captured waits, share. */

#define LOCK_TABLE_THREADS  8192 /* a power of two */
#define LOCK_TABLE_NAMES    32768
#define LOCK_FIRST_SLICE_NS (1u << 24) /* 17 ms */
#define LOCK_UNNAMED        "unnamed"
#define LOCK_HELD           8 /* locks that a thread holds at once and are followed */

/* What a thread is doing with locks. */
struct lock_actor {
    uint32_t pid, tid;           /* pid 0: the row is free */
    struct lock_instance *asked; /* weak; NULL: asks for none */
    uint64_t asked_ns;
    bool had_to_wait; /* somebody had it when it was asked for */
    uint16_t asked_point;
    uint32_t blocker; /* who had it then */
    uint8_t held_count;
    struct {
        struct lock_instance *instance; /* weak */
        uint64_t since_ns;
    } held[LOCK_HELD];
    bool pending; /* a captured wait, of which more may come */
    struct lock_wait wait;
};

/* The name that a lock's address was given. */
struct lock_named {
    uint64_t address;
    uint64_t instance;
    uint32_t pid; /* 0: the row is free */
    uint16_t group;
    bool guessed; /* by a wait's call stack, not told: a stack that a row knows knows better */
};

/* When a process told something first: what lies before is not known of any of its locks. */
struct lock_process {
    uint32_t pid; /* 0: the row is free */
    uint64_t begin_ns;
};
#define LOCK_PROCESSES 4096 /* a power of two; of those beyond the table's begin counts */

struct lock_table {
    struct lock_view view;
    struct lock_listener listener;
    struct lock_groups groups;
    struct lock_instance *instances; /* owned; open addressing, never removed */
    size_t instance_count;
    struct lock_actor *actors; /* owned */
    size_t actor_count;
    size_t pending_count;     /* threads with a captured wait of which more may come */
    struct lock_named *names; /* owned; NULL until the first one */
    size_t name_count;
    struct stack_table stacks;
    struct lock_counts counts;
    struct lock_process *processes; /* owned; open addressing */
    struct lock_process *process;   /* weak: the one that told something last */
    size_t process_count;
    uint64_t begin_ns, end_ns;
    uint64_t end_slices_ns;         /* the end of what the slices have */
    uint64_t slice_ns, first_slice; /* slice i begins at (first_slice + i) * slice_ns */
};

/* Makes the slices longer until all from `begin_ns` to `end_ns` lies in one of them. They begin at
 * multiples of their length, so that those of two tables fit together. */
void lock_table_stretch(struct lock_table *table, uint64_t begin_ns, uint64_t end_ns,
                        uint64_t slice_ns);

/* The lock object, made if it is new; NULL when there is no room (counted). */
struct lock_instance *lock_table_instance(struct lock_table *table, uint32_t pid, uint16_t group,
                                          uint64_t id, bool is_address);

/* The thread's row; NULL when there is no room (counted). */
struct lock_actor *lock_table_actor(struct lock_table *table, uint32_t pid, uint32_t tid);

/* The same of a thread that has told something of locks; NULL: it has not. */
struct lock_actor *lock_table_known_actor(struct lock_table *table, uint32_t pid, uint32_t tid);

/* The name given to the address; NULL: none. */
const struct lock_named *lock_table_named(const struct lock_table *table, uint32_t pid,
                                          uint64_t address);

/* Gives the address a name. -ENOMEM with the message. */
int lock_table_name(struct lock_table *table, struct lock_named name);

/* Whether the daemon tells of a lock at this address, but not what it is called. */
bool lock_table_is_unnamed(const struct lock_table *table, uint32_t pid, uint64_t address);

/* The lock was busy from `begin` to `end`. */
void lock_table_busy(struct lock_table *table, struct lock_instance *instance, uint64_t begin_ns,
                     uint64_t end_ns);

/* The point that the thread's op has passed last; LOCK_NOWHERE: it works for none. */
uint16_t lock_table_point(const struct lock_table *table, uint32_t pid, uint32_t tid);

/* lock.waited and the events behind it; lock_told.c has the others. */
int lock_captured_event(struct lock_table *table, const struct optrail_event *event);
/* The thread tells of something else: the captured wait that it told of is complete. */
int lock_captured_end(struct lock_table *table, uint32_t pid, uint32_t tid);
int lock_told_event(struct lock_table *table, const struct optrail_event *event);

#endif
