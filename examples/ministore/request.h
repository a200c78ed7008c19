/* SPDX-License-Identifier: MIT */
#ifndef MINISTORE_REQUEST_H
#define MINISTORE_REQUEST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "protocol.h"
#include "throttle.h"
#include "wait_queue.h"

struct connection;
struct placement_group;
struct replica;

/*
 * One op, from its header's arrival to its answer (and, when it is answered before it is applied,
 * to its application). Its address is its key in the trace. It is in at most one queue at a time
 * through `node`; the apply queue has a node of its own, since applying may go on beside the
 * answer.
 */
struct request {
    struct queue_node node;
    struct queue_node apply_node;
    struct request *next_unapplied; /* its group's writes that are submitted, not yet applied */
    struct request *older, *newer;  /* the same of the whole journal, in the order of sequences */
    bool applies_beside;            /* answered before it is applied */
    atomic_int references;
    struct connection *connection; /* a reference of its own */
    struct placement_group *group; /* weak */
    struct frame frame;
    unsigned char *payload; /* owned: what a write brings */
    unsigned char *data;    /* owned: what a read takes home */
    uint32_t received;      /* bytes of payload that are here */
    uint32_t data_length;
    uint64_t size;             /* a stat's answer */
    uint64_t sequence;         /* journal sequence, 0: none */
    int error;                 /* positive errno of the answer */
    atomic_uint parts;         /* the local one and one a peer: what a write's answer waits for */
    struct replica *replicas;  /* owned: one a peer; NULL without peers */
    atomic_int replica_error;  /* the first positive errno that a peer answered */
    uint32_t throttled;        /* what it holds of the message throttle */
    struct throttle *throttle; /* weak: where that is given back */
    unsigned char reply[FRAME_SIZE];
    uint32_t sent; /* bytes of reply and data that have left */
};

#define request_of(pointer) queue_entry(pointer, struct request, node)

/* What a request takes of the message throttle: its bytes, read or written, and never nothing,
 * so that a flood of small requests is bounded too. */
uint32_t request_throttle_amount(const struct frame *frame);

/* A request of this header, with one reference, under the connection's reference that it takes;
 * NULL without memory (the reference is then still the caller's). Emits op.start and op.identify.
 */
struct request *request_new(struct connection *connection, const struct frame *frame);

/* Gives a reference back; with the last one, the memory (op.end). */
void request_put(struct request *request);

static inline void request_get(struct request *request)
{
    atomic_fetch_add_explicit(&request->references, 1, memory_order_relaxed);
}

/* The op will be answered with this (positive) errno. Emits op.failed. */
void request_fail(struct request *request, int error);

#endif
