/* SPDX-License-Identifier: MIT */
#ifndef MINISTORE_LOAD_WORKER_H
#define MINISTORE_LOAD_WORKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "client.h"
#include "load_options.h"
#include "object_record.h"

#define LATENCY_SUB     64 /* buckets of each power of two: at most 1.6 % wide */
#define LATENCY_BUCKETS (40 * LATENCY_SUB)
#define ERRNO_LIMIT     136

/* What has happened so far; two of them add up. Times in ns. */
struct load_counts {
    uint64_t started, finished; /* finished: with or without success */
    uint64_t reads, writes;     /* finished well */
    uint64_t failed;            /* answered with an error */
    uint64_t lost;              /* the connection broke before an answer came */
    uint64_t wrong;             /* the data read was not what it must be */
    uint64_t bytes;             /* of those finished well */
    uint64_t last_ns, min_ns, max_ns, sum_ns;
    double sum_squares; /* of seconds */
    uint64_t errors[ERRNO_LIMIT];
    uint64_t latency[LATENCY_BUCKETS];
};

void load_counts_add(struct load_counts *to, const struct load_counts *from);

/* The latency (ns) below which this part (0 to 1) of the finished ops lies; 0 when there are none.
 */
uint64_t load_counts_quantile(const struct load_counts *counts, double part);

enum load_phase { PHASE_PREFILL, PHASE_LOAD, PHASE_CHECK };

struct load_shared {
    const struct load_options *options;
    struct object_record *record;
    struct client *client;  /* weak: the first worker's, whom it outlives all others */
    atomic_bool stop;       /* begin no more ops */
    uint64_t deadline_ns;   /* likewise; 0: none */
    pthread_mutex_t lock;   /* of running */
    pthread_cond_t changed; /* waits on CLOCK_MONOTONIC */
    unsigned running;       /* workers at work */
};

struct load_worker {
    struct load_shared *shared;
    unsigned number;
    unsigned depth;
    struct client *client;
    bool owns_client; /* else it is another worker's (--share) */
    pthread_t thread;
    enum load_phase phase;
    uint64_t digest;      /* of the sequence of ops begun */
    pthread_mutex_t lock; /* of what follows, and of the worker's rows of the record */
    pthread_cond_t changed;
    struct pending *pending; /* owned */
    struct pending *free_pending;
    struct load_counts *counts; /* owned */
};

/* Connects. 0, or -1 after a message. The worker is destroyed in both cases. */
int load_worker_init(struct load_worker *worker, struct load_shared *shared, unsigned number);
void load_worker_destroy(struct load_worker *worker);

/* Runs a phase in a thread of its own; finish waits for its end. 0, or -1 after a message. */
int load_worker_start(struct load_worker *worker, enum load_phase phase);
void load_worker_finish(struct load_worker *worker);

#endif
