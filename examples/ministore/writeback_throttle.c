/* SPDX-License-Identifier: MIT */
#include "writeback_throttle.h"

#include <errno.h>
#include <optrail/probe.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon_log.h"
#include "daemon_stats.h"
#include "inject.h"
#include "placement_group.h"

#define BUCKETS 4096

struct dirty_file {
    struct dirty_file *next; /* younger */
    struct dirty_file *next_in_bucket;
    struct file *file; /* a reference */
    uint64_t writes;
};

static struct dirty_file **bucket_of(struct writeback_throttle *throttle, uint64_t object)
{
    return &throttle->buckets[object_hash(object) % BUCKETS];
}

void writeback_throttle_wait(struct writeback_throttle *throttle)
{
    OPTRAIL(wbthrottle_wait_begin, 0, throttle->dirty, 0);
    lock_take(&throttle->lock);
    while (throttle->enabled && !throttle->stopped && throttle->dirty >= throttle->limit)
        lock_wait_room(&throttle->lock, &throttle->cleaned);
    lock_give(&throttle->lock);
    inject_delay(INJECT_WBTHROTTLE_WAIT, 1);
    OPTRAIL(wbthrottle_wait_end, 0, throttle->dirty, 0);
}

void writeback_throttle_add(struct writeback_throttle *throttle, struct file *file)
{
    if (!throttle->enabled)
        return;
    lock_take(&throttle->lock);
    struct dirty_file **bucket = bucket_of(throttle, file->object);
    struct dirty_file *dirty = *bucket;
    while (dirty && dirty->file->object != file->object)
        dirty = dirty->next_in_bucket;
    if (!dirty && (dirty = calloc(1, sizeof(*dirty)))) {
        atomic_fetch_add_explicit(&file->references, 1, memory_order_relaxed);
        dirty->file = file;
        dirty->next_in_bucket = *bucket;
        *bucket = dirty;
        *throttle->newest_link = dirty;
        throttle->newest_link = &dirty->next;
    }
    /* without memory the file is left to the kernel's own writeback */
    if (dirty) {
        dirty->writes++;
        throttle->dirty++;
        if (throttle->dirty >= throttle->start)
            pthread_cond_signal(&throttle->dirtied);
    }
    lock_give(&throttle->lock);
}

static struct dirty_file *take_oldest(struct writeback_throttle *throttle)
{
    struct dirty_file *dirty = throttle->oldest;
    throttle->oldest = dirty->next;
    if (!throttle->oldest)
        throttle->newest_link = &throttle->oldest;
    struct dirty_file **link = bucket_of(throttle, dirty->file->object);
    while (*link != dirty)
        link = &(*link)->next_in_bucket;
    *link = dirty->next_in_bucket;
    return dirty;
}

static void sync_file(const struct writeback_throttle *throttle, const struct file *file)
{
    OPTRAIL(wbthrottle_sync_begin, file->object, file->object, 0);
    int result = throttle->sync == SYNC_FSYNC ? fsync(file->fd) : fdatasync(file->fd);
    if (result != 0)
        log_limited("object %llx cannot be synced: %s", (unsigned long long)file->object,
                    strerror(errno));
    inject_delay(INJECT_SLOW_DISK, 0); /* on no op's path */
    OPTRAIL(wbthrottle_sync_end, file->object, file->object, 0);
    stats_add(files_synced, 1);
}

static void *flush(void *argument)
{
    struct writeback_throttle *throttle = argument;
    lock_take(&throttle->lock);
    for (;;) {
        while (!throttle->stopped && (throttle->dirty < throttle->start || !throttle->oldest))
            lock_wait(&throttle->lock, &throttle->dirtied);
        if (throttle->stopped)
            break;
        struct dirty_file *dirty = take_oldest(throttle);
        lock_give(&throttle->lock);
        sync_file(throttle, dirty->file);
        file_put(dirty->file);
        lock_take(&throttle->lock);
        throttle->dirty -= dirty->writes;
        pthread_cond_broadcast(&throttle->cleaned);
        free(dirty);
    }
    lock_give(&throttle->lock);
    return NULL;
}

int writeback_throttle_start(struct writeback_throttle *throttle,
                             const struct daemon_options *options)
{
    *throttle = (struct writeback_throttle){.start = options->wbthrottle_start,
                                            .limit = options->wbthrottle_limit,
                                            .sync = (enum sync_choice)options->sync};
    throttle->enabled = options->wbthrottle == SWITCH_ON && options->sync != SYNC_NONE;
    throttle->newest_link = &throttle->oldest;
    lock_init(&throttle->lock, LOCK_KIND_MUTEX, LOCK_WBTHROTTLE, 0);
    pthread_cond_init(&throttle->dirtied, NULL);
    pthread_cond_init(&throttle->cleaned, NULL);
    if (!throttle->enabled)
        return 0;
    throttle->buckets = calloc(BUCKETS, sizeof(*throttle->buckets));
    if (!throttle->buckets)
        return log_error("no memory for the writeback throttle");
    if (pthread_create(&throttle->flusher, NULL, flush, throttle) != 0)
        return log_error("no thread for the writeback throttle");
    throttle->running = true;
    return 0;
}

void writeback_throttle_stop(struct writeback_throttle *throttle)
{
    lock_take(&throttle->lock);
    throttle->stopped = true;
    pthread_cond_broadcast(&throttle->dirtied);
    pthread_cond_broadcast(&throttle->cleaned);
    lock_give(&throttle->lock);
    if (throttle->running)
        pthread_join(throttle->flusher, NULL);
    while (throttle->oldest) {
        struct dirty_file *dirty = take_oldest(throttle);
        file_put(dirty->file);
        free(dirty);
    }
    free(throttle->buckets);
    pthread_cond_destroy(&throttle->cleaned);
    pthread_cond_destroy(&throttle->dirtied);
    lock_destroy(&throttle->lock);
}
