/* SPDX-License-Identifier: MIT */
#ifndef MINISTORE_JOURNAL_H
#define MINISTORE_JOURNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "journal_ring.h"
#include "named_lock.h"
#include "request.h"
#include "wait_queue.h"

/*
 * The write-ahead journal: writes get their sequence when they are submitted, one thread writes
 * them in batches, and what is applied can be trimmed.
 */
struct journal {
    struct journal_ring ring;
    /* Called by the writer for each entry, in order: it is durable, or failed with a positive
     * errno. */
    void (*written)(void *context, struct request *request, int error);
    void *context;
    pthread_t writer;
    bool running;

    struct named_lock lock; /* of what follows */
    pthread_cond_t filled;
    pthread_cond_t trim;
    struct node_list queue;
    uint64_t sequence;               /* the newest one given */
    struct request *oldest, *newest; /* submitted, not yet applied */
    uint64_t pinned;                 /* never trim beyond; UINT64_MAX: no limit */
    bool stopped;
    bool wants_trim;
    bool trim_stopped;
};

/* Starts the writer on a ring that is open and begun. 0, or -1 after a message. */
int journal_start(struct journal *journal, void (*written)(void *, struct request *, int),
                  void *context);

/* Writes what is queued, then ends the writer. The ring stays open. */
void journal_stop(struct journal *journal);

/* Gives the request its sequence and queues it. Emits filestore.sequence and journal.submit. */
void journal_submit(struct journal *journal, struct request *request);

/* The request is applied (or was answered with an error): the journal no longer needs it.
 * `keep`: it could not be applied, its entry must outlive us. */
void journal_applied(struct journal *journal, struct request *request, bool keep);

/* All sequences up to this one are applied. */
uint64_t journal_applied_through(struct journal *journal);

/* Waits until a trim is due, at most `interval_ns`. false: trimming is stopped. */
bool journal_wait_trim(struct journal *journal, uint64_t interval_ns);
void journal_stop_trim(struct journal *journal);

#endif
