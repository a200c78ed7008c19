/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_FLOWS_H
#define OPTRAIL_FLOWS_H

#include "flow_levels.h"
#include "lock_table.h"
#include "path.h"
#include "trail.h"

/*
 * What the threads of the daemon do, seen through the points that they pass: for each thread and
 * each pair of points that it passes one after the other, how often and how long. So a thread that
 * is stuck, a pool that is busy, and with what, are known without a word about any op: which stage
 * a pair of points belongs to, the paths tell in the end.
 *
 * Time that a thread waits for a lock in between is taken out of the pair and kept beside it, and
 * what happens while a thread holds a lock is summed for the lock too.
 *
 * Memory is bounded: threads, and pairs of each; what finds no room is counted. Not thread-safe.
 */
#define FLOW_THREADS 8192
#define FLOW_STEPS   256 /* pairs of a thread */
#define FLOW_HELD    8

struct flow_step {
    uint16_t from, to;
    uint16_t lock; /* group: the time is spent waiting for it; LOCK_NO_GROUP: none */
    uint16_t unused;
    uint64_t count; /* 0: the entry is free */
    uint64_t ns;
};

struct flow_thread {
    uint32_t pid, tid; /* pid 0: the entry is free */
    uint16_t last;     /* the point that it passed last; LOCK_NOWHERE: none yet */
    uint8_t waited_count, held_count;
    uint64_t last_ns;
    uint64_t free_ns; /* since when it had been free when it took what it takes */
    struct {
        uint16_t lock;
        uint64_t ns;
    } waited[4]; /* since last_ns */
    struct {
        uint16_t lock;
        uint64_t since_ns;    /* summed up to here */
        uint64_t acquired_ns; /* what was waited for before is not under it */
        uint64_t waited_ns;   /* of the time since since_ns: waiting for other locks */
    } held[FLOW_HELD];
    struct flow_taken *taken; /* owned, may be NULL: when it was free before it took something */
    size_t step_count, step_room; /* room: a power of two */
    struct flow_step *steps;      /* owned; open addressing */
};

/* A stage in which ops wait, from a point to a point. */
struct flow_queue {
    uint16_t from, to;
    uint64_t ops;
    uint64_t wait_ns;
    uint64_t idle_ns; /* of it: while the thread that took the op in the end had nothing to do */
    uint64_t own;     /* ops that the same thread put in and took out: it waits itself */
    uint64_t unknown; /* ops of which it is not known since when the thread was free */
};
#define FLOW_QUEUES 64

struct flows {
    struct flow_thread *threads; /* owned; open addressing */
    size_t thread_count;
    uint64_t no_thread, no_step;
    uint64_t begin_ns, end_ns; /* first and last point of an op */
    size_t queue_count;
    struct flow_queue queues[FLOW_QUEUES];
    bool ends_queue[POINT_COUNT];
    struct flow_levels levels;             /* how many ops were under way */
    struct lock_places under[LOCK_GROUPS]; /* what happened under each lock */
};

int flows_init(struct flows *flows, const struct path_set *paths);
void flows_free(struct flows *flows);

int flows_event(struct flows *flows, const struct optrail_event *event);
void flows_trail(struct flows *flows, const struct trail *trail);

/* As the lock table's listener has them. */
int flows_waited(struct flows *flows, const struct lock_ended_wait *wait);
int flows_acquired(struct flows *flows, uint32_t pid, uint32_t tid, uint16_t lock, uint64_t now_ns);
int flows_released(struct flows *flows, uint32_t pid, uint32_t tid, uint16_t lock, uint64_t now_ns);
void flows_forgotten(struct flows *flows, uint32_t pid, uint32_t tid, uint16_t lock);

/* Calls `each` for every pair of points of every thread. */
void flows_steps(const struct flows *flows,
                 void (*each)(void *context, const struct flow_thread *thread,
                              const struct flow_step *step),
                 void *context);

struct profile_writer;
struct profile_reader;

/* Puts everything into a profile, or adds what a profile has. `numbers`: the lock groups here that
 * the profile's numbers stand for, LOCK_GROUPS of them, LOCK_NO_GROUP where there is none. */
void flows_save(const struct flows *flows, struct profile_writer *writer);
int flows_load(struct flows *flows, struct profile_reader *reader, const uint16_t *numbers);

/* Of flows_load: adds to a pair of a thread, or of what is done under a lock. */
int flows_add_step(struct flows *flows, uint32_t pid, uint32_t tid, const struct flow_step *step);

#endif
