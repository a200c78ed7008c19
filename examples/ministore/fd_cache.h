/* SPDX-License-Identifier: MIT */
#ifndef MINISTORE_FD_CACHE_H
#define MINISTORE_FD_CACHE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

/* An open file of an object; closed when its last reference is given back. */
struct file {
    int fd;
    uint64_t object;
    atomic_int references;
};

void file_put(struct file *file);

/* Keeps files open, the least recently used ones give way. Sharded by object: each shard has a
 * lock and an equal part of the capacity. Thread-safe. */
struct fd_cache {
    unsigned shard_count;          /* 0: nothing is kept */
    struct fd_cache_shard *shards; /* owned */
};

/* 0, or -1 after a message. */
int fd_cache_init(struct fd_cache *cache, unsigned capacity, unsigned shards);
void fd_cache_destroy(struct fd_cache *cache);

/* The object's open file, with a reference for the caller; NULL if it is not there. */
struct file *fd_cache_lookup(struct fd_cache *cache, uint64_t object);

/* Takes a freshly opened fd; returns its file with a reference for the caller. NULL without
 * memory: the fd is closed then. The object must not be in the cache: the caller holds the index
 * lock since the lookup that missed. */
struct file *fd_cache_add(struct fd_cache *cache, uint64_t object, int fd);

#endif
