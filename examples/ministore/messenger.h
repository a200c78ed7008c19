/* SPDX-License-Identifier: MIT */
#ifndef MINISTORE_MESSENGER_H
#define MINISTORE_MESSENGER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon_options.h"
#include "named_lock.h"
#include "request.h"
#include "throttle.h"
#include "wait_queue.h"

/*
 * The messenger takes connections, reads requests from them and sends replies. What is common
 * stands here; how the bytes are moved is one of two struct messenger_kind: `simple` has a reader
 * and a writer thread for each connection, `async` has a few epoll workers for all of them.
 */

struct messenger;
struct connection;

struct messenger_kind {
    int (*start)(struct messenger *messenger);
    void (*stop)(struct messenger *messenger); /* all connections are closed by then */
    /* Begins to serve a new connection; the kind has one reference to it until it calls
     * connection_forget. -1: it cannot. */
    int (*serve)(struct connection *connection);
    /* There are replies in connection->replies, or the connection is to be closed. */
    void (*wake)(struct connection *connection);
};

extern const struct messenger_kind messenger_simple, messenger_async;

struct connection {
    atomic_int references;
    int fd;
    uint64_t number;
    struct messenger *messenger;         /* weak */
    struct connection *next, **previous; /* the messenger's list of open ones */

    struct named_lock lock; /* of replies, closed, awake */
    pthread_cond_t changed;
    struct node_list replies;
    bool closed; /* nothing more is read or sent */
    bool awake;  /* async: is in its worker's list of the awakened */

    /* async: touched by its worker alone */
    void *worker;
    struct connection *next_awake; /* under the worker's lock */
    struct connection *next_of_worker, **previous_of_worker;
    unsigned char header[FRAME_SIZE];
    uint32_t header_received;
    struct request *receiving; /* owned */
    bool throttled;            /* receiving waits for the message throttle */
    bool want_out;             /* epoll watches for room in the socket */
    struct request *sending;   /* owned */
    uint64_t frame_began_ns;   /* 0: between two frames */
    uint64_t send_began_ns;    /* 0: nothing is stuck */
};

struct messenger {
    const struct daemon_options *options;
    const struct messenger_kind *kind;
    void (*dispatch)(void *context, struct request *request); /* takes the reference */
    void *context;
    struct throttle throttle; /* bytes of all requests that are alive */
    int listener;
    uint16_t port;
    pthread_t acceptor;
    int stop_event; /* eventfd that ends the acceptor */
    atomic_bool stopping;
    atomic_uint in_flight; /* requests wholly received, not yet answered */

    struct named_lock lock; /* of the list */
    pthread_cond_t changed;
    struct connection *connections;
    unsigned connection_count;
    uint64_t next_number;
    void *workers; /* async */
};

/* Binds and starts. 0, or -1 after a message. */
int messenger_start(struct messenger *messenger, const struct daemon_options *options,
                    void (*dispatch)(void *, struct request *), void *context);

/* Takes no more requests and waits until those received are answered (at most ten seconds), then
 * closes all connections and ends the threads. */
void messenger_stop(struct messenger *messenger);

/* Answers in two steps, so that a lock can be released between: mark emits reply.enqueue, send
 * hands the request over for good (its result, data and size are set). */
void messenger_reply_mark(struct request *request);
void messenger_reply_send(struct request *request);

void connection_get(struct connection *connection);
void connection_put(struct connection *connection);

/* For the kinds. */

/* A header has come: the request for it, or NULL when the connection must be closed (counted and
 * logged). Begins to ask the throttle: emits messenger.throttle_begin. */
struct request *messenger_begin(struct connection *connection,
                                const unsigned char header[FRAME_SIZE]);

/* The throttle gave room: emits messenger.throttle_end. -1: no memory for the payload. */
int messenger_admit(struct request *request);

/* The payload is whole: checks it and dispatches (takes the request). -1: it is damaged, the
 * connection must be closed; the request is gone in any case. */
int messenger_received(struct request *request);

/* The reply is taken from the queue: fills its frame and emits reply.send_begin. */
void messenger_send_begin(struct request *request);

/* Its last byte is with the kernel: op.finish; takes the request. */
void messenger_sent(struct request *request);

/* A reply that cannot be sent; takes the request. */
void messenger_drop(struct request *request);

/* The connection serves no more (idempotent): its replies are dropped from now on. */
void connection_close(struct connection *connection);

/* The kind is done with the connection: takes it off the list and gives its reference back. */
void connection_forget(struct connection *connection);

#endif
