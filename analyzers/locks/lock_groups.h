/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_LOCK_GROUPS_H
#define OPTRAIL_LOCK_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "histogram.h"
#include "lock_wait.h"

/*
 * What is known of the locks of one name: sums, and who waited where while who held them. All locks
 * of a name are one group, the instances (one a placement group, say) are kept apart beside it.
 *
 * A place is a pair of points: a thread was on its way from `from` to `to`, or had passed `from`
 * and was stopped there (`to` is LOCK_NOWHERE). Which stage that is, the reader's paths tell.
 */
#define LOCK_NOWHERE  0xffffu
#define LOCK_GROUPS   256  /* names; what comes beyond is summed up in the last one */
#define LOCK_PLACES   96   /* of one kind in a group; what comes beyond is counted as elsewhere */
#define LOCK_THREADS  8192 /* of a group that are kept apart */
#define LOCK_SITES    128  /* call sites of a group */
#define LOCK_NO_GROUP 0xffffu

struct lock_place {
    uint16_t from, to;
    uint16_t lock; /* group of the lock waited for there; LOCK_NO_GROUP: none */
    uint64_t count;
    uint64_t ns;
};

struct lock_places {
    size_t count;
    struct lock_place *rows; /* owned */
    uint64_t elsewhere_ns;
};

/* A thread at a lock: how often and how long it waited, and what it had others wait for. */
struct lock_thread {
    uint32_t pid, tid;
    uint64_t acquired;
    uint64_t waits, wait_ns;
    uint64_t blocked, blocked_ns; /* others' waits that it ended, their time */
};

struct lock_site {
    char *frames; /* owned: as in stack.define */
    uint64_t waits, wait_ns;
};

/* What owners did while others waited, ns. */
struct lock_meanwhile {
    uint64_t running, runnable, disk, asleep, chain;
};

/* Waits that had not ended when the recording did. */
struct lock_unfinished {
    uint64_t count;
    uint64_t longest_ns; /* so far */
};

struct lock_group {
    char *name; /* owned */
    uint16_t kind;
    uint64_t acquisitions; /* that were told, waited for or not; 0: only waits were */
    uint64_t waits;        /* had to wait: somebody had it, or it took long to get */
    uint64_t hold_ns;
    uint64_t contended_ns;     /* of it: while somebody waited */
    uint64_t handover_ns;      /* waited while nobody held it */
    uint64_t holds_unmeasured; /* waits of which the hold before is not known */
    uint64_t gave_up, robust;
    struct lock_unfinished unfinished;
    struct histogram wait; /* of those that had to wait */
    struct histogram hold; /* of the holds that were measured */
    struct lock_places waiters;
    struct lock_places holders;
    struct lock_meanwhile meanwhile;
    size_t thread_count, thread_room; /* room: a power of two; at most half of it is used */
    struct lock_thread *threads;      /* owned; open addressing; pid and tid 0: free */
    uint64_t other_threads;
    size_t site_count;
    struct lock_site sites[LOCK_SITES];
};

struct lock_groups {
    size_t count;
    struct lock_group *rows[LOCK_GROUPS]; /* owned */
};

/* The group of that name, made if there is none; the last one, "further locks", when there are too
 * many. A negative errno with the message without memory. */
int lock_groups_find(struct lock_groups *groups, const char *name, uint16_t kind);

/* Gives a group that has but an address for a name, "mutex at 0x7f..", this one, unless another has
 * it. -ENOMEM with the message. */
int lock_groups_call(struct lock_groups *groups, uint16_t group, const char *name);
void lock_groups_free(struct lock_groups *groups);

/* Adds to the place. -ENOMEM with the message. */
int lock_places_add(struct lock_places *places, struct lock_place place);

/* The thread's row; NULL when there are too many. Weak, until the next call. */
struct lock_thread *lock_group_thread(struct lock_group *group, uint32_t pid, uint32_t tid);

/* Adds a wait to its call site. -ENOMEM with the message. */
int lock_group_site(struct lock_group *group, const char *frames, uint64_t waits, uint64_t ns);

#endif
