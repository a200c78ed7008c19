/* SPDX-License-Identifier: MIT */
#include "fd_cache.h"

#include <stdlib.h>
#include <unistd.h>

#include "daemon_log.h"
#include "daemon_stats.h"
#include "named_lock.h"
#include "placement_group.h"

struct slot {
    struct slot *next_in_bucket;
    struct slot *newer, *older; /* a ring through the shard's `used` */
    struct file *file;          /* a reference of the cache's */
};

struct fd_cache_shard {
    struct named_lock lock;
    unsigned capacity;
    unsigned count;
    unsigned bucket_count;
    struct slot **buckets; /* owned */
    struct slot used;      /* used.newer is the least, used.older the most recently used */
};

void file_put(struct file *file)
{
    if (atomic_fetch_sub_explicit(&file->references, 1, memory_order_acq_rel) != 1)
        return;
    close(file->fd);
    free(file);
}

static struct fd_cache_shard *shard_of(struct fd_cache *cache, uint64_t object)
{
    return &cache->shards[object_hash(object) % cache->shard_count];
}

static struct slot **bucket_of(struct fd_cache_shard *shard, uint64_t object)
{
    return &shard->buckets[(object_hash(object) >> 16) % shard->bucket_count];
}

static void take_out(struct slot *slot)
{
    slot->newer->older = slot->older;
    slot->older->newer = slot->newer;
}

static void put_in_as_newest(struct fd_cache_shard *shard, struct slot *slot)
{
    slot->older = shard->used.older;
    slot->newer = &shard->used;
    slot->older->newer = slot;
    shard->used.older = slot;
}

struct file *fd_cache_lookup(struct fd_cache *cache, uint64_t object)
{
    struct file *file = NULL;
    if (cache->shard_count) {
        struct fd_cache_shard *shard = shard_of(cache, object);
        lock_take(&shard->lock);
        struct slot *slot = *bucket_of(shard, object);
        while (slot && slot->file->object != object)
            slot = slot->next_in_bucket;
        if (slot) {
            take_out(slot);
            put_in_as_newest(shard, slot);
            file = slot->file;
            atomic_fetch_add_explicit(&file->references, 1, memory_order_relaxed);
        }
        lock_give(&shard->lock);
    }
    if (file)
        stats_add(fd_cache_hits, 1);
    else
        stats_add(fd_cache_misses, 1);
    return file;
}

/* Takes the least recently used file out; the caller gives its reference back. */
static struct slot *evict(struct fd_cache_shard *shard)
{
    struct slot *slot = shard->used.newer;
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): what was freed has been taken out of the list */
    struct slot **link = bucket_of(shard, slot->file->object);
    while (*link != slot)
        link = &(*link)->next_in_bucket;
    *link = slot->next_in_bucket;
    take_out(slot);
    shard->count--;
    return slot;
}

struct file *fd_cache_add(struct fd_cache *cache, uint64_t object, int fd)
{
    struct file *file = malloc(sizeof(*file));
    struct slot *slot = cache->shard_count ? malloc(sizeof(*slot)) : NULL;
    if (!file) {
        free(slot);
        close(fd);
        return NULL;
    }
    file->fd = fd;
    file->object = object;
    atomic_init(&file->references, slot ? 2 : 1);
    if (!slot)
        return file; /* no cache, or no memory for its slot: open for this use only */
    slot->file = file;

    struct fd_cache_shard *shard = shard_of(cache, object);
    struct slot *evicted = NULL;
    lock_take(&shard->lock);
    if (shard->count == shard->capacity)
        evicted = evict(shard);
    struct slot **bucket = bucket_of(shard, object);
    slot->next_in_bucket = *bucket;
    *bucket = slot;
    put_in_as_newest(shard, slot);
    shard->count++;
    lock_give(&shard->lock);
    if (evicted) {
        file_put(evicted->file);
        free(evicted);
    }
    return file;
}

int fd_cache_init(struct fd_cache *cache, unsigned capacity, unsigned shards)
{
    *cache = (struct fd_cache){0};
    if (capacity < shards)
        shards = capacity;
    if (!shards)
        return 0;
    cache->shards = calloc(shards, sizeof(*cache->shards));
    if (!cache->shards)
        return log_error("no memory for the fd cache");
    for (; cache->shard_count < shards; cache->shard_count++) {
        struct fd_cache_shard *shard = &cache->shards[cache->shard_count];
        shard->capacity = capacity / shards + (cache->shard_count < capacity % shards);
        shard->bucket_count = 2 * shard->capacity;
        shard->buckets = calloc(shard->bucket_count, sizeof(*shard->buckets));
        if (!shard->buckets)
            return log_error("no memory for the fd cache");
        shard->used.newer = shard->used.older = &shard->used;
        lock_init(&shard->lock, LOCK_KIND_MUTEX, LOCK_FD_CACHE, cache->shard_count);
    }
    return 0;
}

void fd_cache_destroy(struct fd_cache *cache)
{
    for (unsigned i = 0; i < cache->shard_count; i++) {
        struct fd_cache_shard *shard = &cache->shards[i];
        while (shard->count) {
            struct slot *slot = evict(shard);
            file_put(slot->file);
            free(slot);
        }
        free(shard->buckets);
        lock_destroy(&shard->lock);
    }
    free(cache->shards);
}
