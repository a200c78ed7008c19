/* SPDX-License-Identifier: MIT */
#ifndef MINISTORE_DIRECTORY_INDEX_H
#define MINISTORE_DIRECTORY_INDEX_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "fd_cache.h"
#include "named_lock.h"

/*
 * Where objects lie: DATA/pg-N/xx/yy/object-NUMBER, xx and yy being two bytes of the object's
 * hash. Finding one means walking these levels under the index lock of the placement group or,
 * as in Ceph's dumpling release, of the whole store; files that are open already are found in the
 * fd cache, under the same lock.
 */
struct directory_index {
    uint32_t count;
    struct index_group *groups; /* owned */
    bool global;
    struct named_lock global_lock;
    struct fd_cache cache;
};

/* Opens, or makes, the directories of `count` placement groups below `data_fd`. 0, or -1 after a
 * message; destroy cleans up in both cases. */
int directory_index_init(struct directory_index *index, int data_fd, uint32_t count,
                         bool global_lock, unsigned fd_cache, unsigned fd_cache_shards);
void directory_index_destroy(struct directory_index *index);

/* Opens an object's file, making it when `create`. 0 with a reference for the caller in *file, or a
 * positive errno. lfn_open emits its marks for the thread's current op. */
int lfn_open(struct directory_index *index, uint32_t group, uint64_t object, bool create,
             struct file **file);

/* The same without marks, for the replay of the journal, which is nobody's op. */
int directory_index_open(struct directory_index *index, uint32_t group, uint64_t object,
                         bool create, struct file **file);

#endif
