/* SPDX-License-Identifier: MIT */
#include "client_cache.h"
#include "inject.h"
#include "named_lock.h"

#include <errno.h>
#include <optrail/probe.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 4096

struct block {
    struct block *next_in_bucket;
    struct block *next_dirty;
    struct client_cache *cache;
    uint64_t object, offset;
    bool queued;      /* is in the list of the dirty */
    bool written_out; /* a write of it is on its way */
    unsigned char bytes[];
};

struct client_cache {
    struct client *client; /* weak */
    cache_send *send;
    uint32_t block_size;
    uint64_t limit;         /* blocks */
    struct named_lock lock; /* of all that follows, and of every block */
    pthread_cond_t changed;
    struct block *buckets[BUCKETS];
    struct block *oldest, **newest_link; /* dirty blocks, in the order in which they became so */
    uint64_t dirty;                      /* blocks queued or on their way */
    int error;                           /* the first that happened while writing back */
    bool stopped;
    pthread_t flusher;
};

static struct block **bucket_of(struct client_cache *cache, uint64_t object, uint64_t offset)
{
    uint64_t hash = (object * 0x9e3779b97f4a7c15ull) ^ (offset / cache->block_size);
    return &cache->buckets[(hash ^ hash >> 32) % BUCKETS];
}

static struct block **find(struct client_cache *cache, uint64_t object, uint64_t offset)
{
    struct block **block = bucket_of(cache, object, offset);
    while (*block && ((*block)->object != object || (*block)->offset != offset))
        block = &(*block)->next_in_bucket;
    return block;
}

static void queue_dirty(struct client_cache *cache, struct block *block)
{
    block->queued = true;
    block->next_dirty = NULL;
    *cache->newest_link = block;
    cache->newest_link = &block->next_dirty;
    pthread_cond_broadcast(&cache->changed);
}

/* Puts the bytes into the block's place, making one. Under the lock. */
static int put(struct client_cache *cache, uint64_t object, uint64_t offset, const void *data)
{
    while (cache->dirty >= cache->limit && !*find(cache, object, offset) && !cache->error)
        lock_wait_room(&cache->lock, &cache->changed);
    if (cache->error)
        return EIO;
    struct block **place = find(cache, object, offset);
    struct block *block = *place;
    if (!block) {
        block = calloc(1, sizeof(*block) + cache->block_size);
        if (!block)
            return ENOMEM;
        block->cache = cache;
        block->object = object;
        block->offset = offset;
        *place = block;
        cache->dirty++;
    }
    memcpy(block->bytes, data, cache->block_size);
    if (!block->queued && !block->written_out)
        queue_dirty(cache, block);
    else if (!block->queued)
        block->queued = true; /* changed while on its way: it goes once more */
    return 0;
}

int client_cache_write(struct client_cache *cache, const void *key, uint64_t object,
                       uint64_t offset, const void *data)
{
    OPTRAIL(client_cache_request, key, &cache->lock, 0);
    lock_take_marked(&cache->lock);
    OPTRAIL(client_cache_acquired, key, &cache->lock, 0);
    inject_delay(INJECT_CACHE_HOLD, 1);
    int error = put(cache, object, offset, data);
    OPTRAIL(client_cache_released, key, &cache->lock, 1);
    lock_give_marked(&cache->lock);
    return error;
}

bool client_cache_read(struct client_cache *cache, const void *key, uint64_t object,
                       uint64_t offset, void *data)
{
    OPTRAIL(client_cache_request, key, &cache->lock, 0);
    lock_take_marked(&cache->lock);
    OPTRAIL(client_cache_acquired, key, &cache->lock, 0);
    inject_delay(INJECT_CACHE_HOLD, 1);
    const struct block *block = *find(cache, object, offset);
    if (block)
        memcpy(data, block->bytes, cache->block_size);
    OPTRAIL(client_cache_released, key, &cache->lock, block != NULL);
    lock_give_marked(&cache->lock);
    return block != NULL;
}

int client_cache_flush(struct client_cache *cache)
{
    lock_take(&cache->lock);
    while (cache->dirty && !cache->error)
        lock_wait(&cache->lock, &cache->changed);
    int error = cache->error;
    lock_give(&cache->lock);
    return error;
}

/* A block's write has come back. */
static void written_back(void *context, int error, const void *data, uint32_t length)
{
    struct block *block = context;
    struct client_cache *cache = block->cache;
    (void)data;
    (void)length;
    lock_take(&cache->lock);
    block->written_out = false;
    if (error && !cache->error)
        cache->error = error;
    if (block->queued) {
        queue_dirty(cache, block);
    } else if (!error) {
        *find(cache, block->object, block->offset) = block->next_in_bucket;
        free(block);
        cache->dirty--;
    }
    pthread_cond_broadcast(&cache->changed);
    lock_give(&cache->lock);
}

static void *flush(void *argument)
{
    struct client_cache *cache = argument;
    unsigned char *copy = malloc(cache->block_size);
    lock_take(&cache->lock);
    if (!copy)
        cache->error = ENOMEM;
    while (copy) {
        while (!cache->oldest && !cache->stopped)
            lock_wait(&cache->lock, &cache->changed);
        struct block *block = cache->oldest;
        if (!block || cache->stopped)
            break;
        cache->oldest = block->next_dirty;
        if (!cache->oldest)
            cache->newest_link = &cache->oldest;
        block->queued = false;
        block->written_out = true;
        memcpy(copy, block->bytes, cache->block_size);
        uint64_t object = block->object, offset = block->offset;
        lock_give(&cache->lock);
        int error = cache->send(cache->client, object, offset, copy, cache->block_size,
                                written_back, block);
        if (error)
            written_back(block, error, NULL, 0);
        lock_take(&cache->lock);
    }
    pthread_cond_broadcast(&cache->changed);
    lock_give(&cache->lock);
    free(copy);
    return NULL;
}

struct client_cache *client_cache_new(struct client *client, cache_send *send, uint32_t block,
                                      uint64_t bytes)
{
    struct client_cache *cache = calloc(1, sizeof(*cache));
    if (!cache)
        return NULL;
    cache->client = client;
    cache->send = send;
    cache->block_size = block;
    cache->limit = bytes / block ? bytes / block : 1;
    cache->newest_link = &cache->oldest;
    lock_init(&cache->lock, LOCK_KIND_MUTEX, LOCK_CACHE, 0);
    pthread_cond_init(&cache->changed, NULL);
    if (pthread_create(&cache->flusher, NULL, flush, cache) != 0) {
        free(cache);
        return NULL;
    }
    return cache;
}

void client_cache_free(struct client_cache *cache)
{
    lock_take(&cache->lock);
    cache->stopped = true;
    pthread_cond_broadcast(&cache->changed);
    lock_give(&cache->lock);
    pthread_join(cache->flusher, NULL);
    for (int i = 0; i < BUCKETS; i++) {
        while (cache->buckets[i]) {
            struct block *next = cache->buckets[i]->next_in_bucket;
            free(cache->buckets[i]);
            cache->buckets[i] = next;
        }
    }
    pthread_cond_destroy(&cache->changed);
    lock_destroy(&cache->lock);
    free(cache);
}
