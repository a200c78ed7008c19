/* SPDX-License-Identifier: MIT */
#ifndef MINISTORE_CLIENT_H
#define MINISTORE_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The client library: one connection, many ops in flight, completions in a reader thread. With a
 * write-back cache a write is complete once it is in the cache, and a read that finds its block
 * there does not leave the process. Each op is an op of its own in a trace (points client.*).
 */

struct client;

struct client_options {
    const char *host; /* IPv4 address or name */
    uint16_t port;
    uint64_t client;      /* the client's number, as the daemon sees it */
    unsigned depth;       /* ops in flight at once, 1 to 1024 */
    uint32_t cache_block; /* bytes of a block of the cache */
    uint64_t cache_bytes; /* at most so much is dirty; 0: no cache */
};

/* Called once for each op, in the reader thread or, for an op that the cache has answered, in the
 * submitting one. `error` is 0 or a positive errno; `data` (a read's, valid during the call) has
 * `length` bytes. Must not submit. */
typedef void client_done(void *context, int error, const void *data, uint32_t length);

/* Connects. 0, or -1 after a message. The client is the caller's, who closes it. */
int client_connect(const struct client_options *options, struct client **client);

/* Ends the connection; ops in flight complete with ECONNRESET. Call client_flush before, if what
 * is in the cache matters. */
void client_close(struct client *client);

/* Submits; waits while `depth` ops are in flight. Thread-safe. `data` may be reused when the call
 * returns. 0 when the op will complete, or a positive errno when it was not begun: ENOTCONN after
 * the connection has broken, EINVAL when a cache is used and this is not a whole block, EIO when
 * the cache could not write something back. */
int client_write(struct client *client, uint64_t object, uint64_t offset, const void *data,
                 uint32_t length, client_done *done, void *context);
int client_read(struct client *client, uint64_t object, uint64_t offset, uint32_t length,
                client_done *done, void *context);

/* Waits until nothing is in flight and the cache is clean. 0 or a positive errno. */
int client_flush(struct client *client);

#endif
