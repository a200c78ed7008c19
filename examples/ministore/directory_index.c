/* SPDX-License-Identifier: MIT */
#include "directory_index.h"

#include <errno.h>
#include <fcntl.h>
#include <optrail/probe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon_log.h"
#include "inject.h"
#include "placement_group.h"

#define LEVELS 2 /* of directories below a group's own */

struct index_group {
    int fd; /* -1: not open */
    struct named_lock lock;
};

/* Opens a directory below another one, making it if need be. -1 with errno. */
static int open_directory(int parent, const char *name, bool create)
{
    int fd = openat(parent, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 || errno != ENOENT || !create)
        return fd;
    if (mkdirat(parent, name, 0755) != 0 && errno != EEXIST)
        return -1;
    return openat(parent, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Walks down the levels to the file. -1 with errno. */
static int open_cold(const struct index_group *group, uint64_t object, bool create)
{
    uint64_t hash = object_hash(object);
    int directory = group->fd;
    for (int level = 0; level < LEVELS; level++) {
        char name[3];
        snprintf(name, sizeof(name), "%02x", (unsigned)(hash >> (8 * level) & 0xff));
        int below = open_directory(directory, name, create);
        if (level > 0) {
            int error = errno;
            close(directory);
            errno = error;
        }
        if (below < 0)
            return -1;
        directory = below;
    }
    char name[32];
    snprintf(name, sizeof(name), "object-%016llx", (unsigned long long)object);
    int fd = openat(directory, name, O_RDWR | O_CLOEXEC | (create ? O_CREAT : 0), 0644);
    int error = errno;
    close(directory);
    errno = error;
    return fd;
}

/* Under the index lock. 0 or a positive errno. */
static int find_file(struct directory_index *index, uint32_t group, uint64_t object, bool create,
                     struct file **file, bool *hit)
{
    *file = fd_cache_lookup(&index->cache, object);
    *hit = *file != NULL;
    if (*hit)
        return 0;
    inject_delay(INJECT_FILESTORE_COLD_OPEN, 1);
    int fd = open_cold(&index->groups[group], object, create);
    if (fd < 0)
        return errno;
    *file = fd_cache_add(&index->cache, object, fd);
    return *file ? 0 : ENOMEM;
}

static struct named_lock *lock_of(struct directory_index *index, uint32_t group)
{
    return index->global ? &index->global_lock : &index->groups[group].lock;
}

int lfn_open(struct directory_index *index, uint32_t group, uint64_t object, bool create,
             struct file **file)
{
    struct named_lock *lock = lock_of(index, group);
    bool hit;
    OPTRAIL(filestore_lfn_open_begin, 0, object, 0);
    OPTRAIL(filestore_index_request, 0, lock, 0);
    inject_delay(INJECT_FILESTORE_INDEX, 1);
    /* for writing, also when it only looks: as FileStore's lfn_open takes its access lock */
    lock_take_marked(lock);
    OPTRAIL(filestore_index_acquired, 0, lock, 0);
    inject_delay(INJECT_FILESTORE_INDEX_HOLD, 1);
    int error = find_file(index, group, object, create, file, &hit);
    OPTRAIL(filestore_index_released, 0, lock, 0);
    lock_give_marked(lock);
    inject_delay(INJECT_FILESTORE_LFN_OPEN, 1);
    OPTRAIL(filestore_lfn_open_end, 0, object, hit);
    return error;
}

int directory_index_open(struct directory_index *index, uint32_t group, uint64_t object,
                         bool create, struct file **file)
{
    struct named_lock *lock = lock_of(index, group);
    *file = NULL;
    lock_take(lock);
    int fd = open_cold(&index->groups[group], object, create);
    int error = errno;
    if (fd >= 0) {
        error = 0;
        *file = malloc(sizeof(**file));
        if (*file) {
            **file = (struct file){.fd = fd, .object = object};
            atomic_init(&(*file)->references, 1);
        } else {
            error = ENOMEM;
            close(fd);
        }
    }
    lock_give(lock);
    return error;
}

int directory_index_init(struct directory_index *index, int data_fd, uint32_t count,
                         bool global_lock, unsigned fd_cache, unsigned fd_cache_shards)
{
    *index = (struct directory_index){.global = global_lock};
    lock_init(&index->global_lock, LOCK_KIND_WRITE, LOCK_INDEX, 0);
    index->groups = calloc(count, sizeof(*index->groups));
    if (!index->groups)
        return log_error("no memory for the directory index");
    for (; index->count < count; index->count++) {
        struct index_group *group = &index->groups[index->count];
        char name[32];
        snprintf(name, sizeof(name), "pg-%u", index->count);
        group->fd = open_directory(data_fd, name, true);
        if (group->fd < 0)
            return log_error("cannot open the directory %s of the store: %s", name,
                             strerror(errno));
        lock_init(&group->lock, LOCK_KIND_WRITE, LOCK_INDEX, index->count);
    }
    return fd_cache_init(&index->cache, fd_cache, fd_cache_shards);
}

void directory_index_destroy(struct directory_index *index)
{
    fd_cache_destroy(&index->cache);
    for (uint32_t i = 0; i < index->count; i++) {
        close(index->groups[i].fd);
        lock_destroy(&index->groups[i].lock);
    }
    free(index->groups);
    lock_destroy(&index->global_lock);
}
