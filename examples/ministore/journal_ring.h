/* SPDX-License-Identifier: MIT */
#ifndef MINISTORE_JOURNAL_RING_H
#define MINISTORE_JOURNAL_RING_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "named_lock.h"
#include "request.h"

/* The journal as a file: appending batches, trimming, reading it again at the start. */

#define JOURNAL_BATCH_MAX 64

struct journal_ring {
    int fd;
    uint64_t size; /* bytes of the ring */
    uint64_t generation;
    uint64_t incarnation;
    uint32_t placement_groups;

    struct named_lock lock; /* of what follows */
    pthread_cond_t room;
    uint64_t end;     /* where the next batch goes */
    uint64_t used;    /* bytes that are not trimmed, with what was left over before a wrap */
    uint64_t trimmed; /* the sequence up to which it is trimmed */
    struct ring_batch *oldest, **newest_link; /* owned: the batches that are not trimmed */
    bool stopped;
};

/* A journaled write, when it is read again. The payload is valid during the call only. A positive
 * errno stops the replay. */
typedef int journal_replay(void *context, uint64_t object, uint64_t offset, const void *payload,
                           uint32_t length);

/* Opens the journal, or makes one of `size` bytes; hands every valid entry that is not trimmed to
 * `replay`, in order. The caller then syncs what was replayed and calls journal_ring_begin. An
 * existing journal keeps its size. 0, or -1 after a message. */
int journal_ring_open(struct journal_ring *ring, const char *path, uint64_t size,
                      uint32_t placement_groups, journal_replay *replay, void *context);

/* Forgets what was replayed and begins a new incarnation. 0, or -1 after a message. */
int journal_ring_begin(struct journal_ring *ring);

/* Bytes that a request takes in the ring. */
uint64_t journal_ring_bytes(const struct request *request);

/* Waits until a batch of `bytes` has room. false: stopped. One writer only. */
bool journal_ring_wait_room(struct journal_ring *ring, uint64_t bytes);

/* Writes a batch, at most JOURNAL_BATCH_MAX and into waited-for room, and makes it durable.
 * 0 or a positive errno, after which the ring must not be written again. */
int journal_ring_write(struct journal_ring *ring, struct request *const *batch, unsigned count);

/* More than a quarter of it is used: before the writer has to wait, it is time to trim. */
bool journal_ring_is_filling(struct journal_ring *ring);

/* Everything up to `sequence` is applied and synced: its room is free once that is written down.
 * 0, or -1 after a message. */
int journal_ring_trim(struct journal_ring *ring, uint64_t sequence);

/* Who waits for room is told to give up. */
void journal_ring_stop(struct journal_ring *ring);

void journal_ring_close(struct journal_ring *ring);

#endif
