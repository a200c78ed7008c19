/* SPDX-License-Identifier: MIT */
#ifndef MINISTORE_CLIENT_CACHE_H
#define MINISTORE_CLIENT_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "client.h"

/* The client's write-back cache: dirty blocks, all behind one lock, written back by a thread of
 * its own in the order in which they became dirty. */

struct client_cache;

/* Sends a write of the cache's own, past the cache; as client_write. */
typedef int cache_send(struct client *client, uint64_t object, uint64_t offset, const void *data,
                       uint32_t length, client_done *done, void *context);

/* NULL without memory or thread. */
struct client_cache *client_cache_new(struct client *client, cache_send *send, uint32_t block,
                                      uint64_t bytes);

/* Does not write back: flush first. No op may be in flight any more. */
void client_cache_free(struct client_cache *cache);

/* Puts a block in; waits while too much is dirty. 0 or a positive errno. `key` is the op's in the
 * trace: emits client.cache_request to cache_released. */
int client_cache_write(struct client_cache *cache, const void *key, uint64_t object,
                       uint64_t offset, const void *data);

/* Whether the block is there; then `data` has a copy of it. Emits the same. */
bool client_cache_read(struct client_cache *cache, const void *key, uint64_t object,
                       uint64_t offset, void *data);

/* Waits until nothing is dirty. 0 or a positive errno. */
int client_cache_flush(struct client_cache *cache);

#endif
