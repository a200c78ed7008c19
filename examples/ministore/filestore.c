/* SPDX-License-Identifier: MIT */
/*
 * The filestore: a write is journaled, applied to the object's file by an apply thread, and
 * committed; --ack journaled commits it once it is journaled and applies it beside. What holds a
 * write where:
 *
 *   submit (worker, under the group's lock) -> throttle -> journal -> apply queue -> writeback
 *   throttle -> lfn_open -> write -> finisher
 */
#include <errno.h>
#include <fcntl.h>
#include <optrail/probe.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "apply_queue.h"
#include "clock.h"
#include "daemon_log.h"
#include "directory_index.h"
#include "inject.h"
#include "journal.h"
#include "store.h"
#include "throttle.h"
#include "writeback_throttle.h"

/* --ack journaled promises what is not applied yet: when the disk is full, try again so often. */
#define RETRY_NS     200000000ull
#define APPLY_BRANCH 1 /* the number of the branch in the trace */

struct filestore {
    const struct daemon_options *options;
    struct placement_groups *groups; /* weak */
    struct finisher *finisher;       /* weak */
    int data_fd;
    struct throttle throttle; /* ops submitted and not yet applied */
    struct journal journal;
    struct apply_queue apply;
    struct directory_index index;
    struct writeback_throttle writeback;
    pthread_t trimmer;
    pthread_mutex_t stop_lock;
    pthread_cond_t stop_changed;
    bool stopping;
    bool has_ring, has_apply, has_writeback, has_index, has_trimmer;
};

static int write_all(int fd, const unsigned char *bytes, uint32_t length, uint64_t offset)
{
    for (uint32_t done = 0; done < length;) {
        ssize_t written = pwrite(fd, bytes + done, length - done, (off_t)(offset + done));
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? errno : EIO;
        done += (uint32_t)written;
    }
    return 0;
}

/* Brings a write into the object's file. 0 or a positive errno. */
static int write_object(struct filestore *store, const struct request *request)
{
    const struct frame *frame = &request->frame;
    struct file *file;
    int error = lfn_open(&store->index, request->group->number, frame->object, true, &file);
    if (error)
        return error;
    OPTRAIL(filestore_write_begin, 0, frame->length, 0);
    error = write_all(file->fd, request->payload, frame->length, frame->offset);
    inject_delay(INJECT_FILESTORE_WRITE, 1);
    inject_delay(INJECT_SLOW_DISK, 1);
    OPTRAIL(filestore_write_end, 0, frame->length, 0);
    writeback_throttle_add(&store->writeback, file);
    file_put(file);
    return error;
}

/* Waits RETRY_NS, or until the store is stopped: then false. */
static bool wait_before_retry(struct filestore *store)
{
    struct timespec until = clock_timespec(clock_now_ns() + RETRY_NS);
    pthread_mutex_lock(&store->stop_lock);
    int result = 0;
    while (!store->stopping && result == 0)
        result = pthread_cond_timedwait(&store->stop_changed, &store->stop_lock, &until);
    bool go_on = !store->stopping;
    pthread_mutex_unlock(&store->stop_lock);
    return go_on;
}

/* The write is no longer ahead of the group's reads. */
static void forget_unapplied(struct request *request)
{
    struct placement_group *group = request->group;
    lock_take(&group->order_lock);
    struct request **link = &group->unapplied;
    while (*link != request)
        link = &(*link)->next_unapplied;
    *link = request->next_unapplied;
    pthread_cond_broadcast(&group->applied);
    lock_give(&group->order_lock);
}

/* Runs in an apply thread. */
static void apply(void *context, struct request *request)
{
    struct filestore *store = context;
    bool beside = request->applies_beside;
    int error = 0;
    if (beside || !request->error) {
        writeback_throttle_wait(&store->writeback);
        error = write_object(store, request);
        while (error && beside) {
            log_limited("object %llx, answered but not yet applied: %s; trying again (it is safe "
                        "in the journal)",
                        (unsigned long long)request->frame.object, strerror(error));
            if (!wait_before_retry(store))
                break;
            error = write_object(store, request);
        }
        if (error && !beside)
            request_fail(request, error);
    }
    forget_unapplied(request);
    journal_applied(&store->journal, request, error && beside);
    throttle_give_back(&store->throttle, 1);
    OPTRAIL(apply_end, request->sequence, 0, 0);
    if (beside) {
        OPTRAIL(apply_join, request->sequence, APPLY_BRANCH, 0);
        request_put(request);
    } else {
        finisher_queue(store->finisher, request);
    }
}

/* Runs in the journal's writer, entry by entry. */
static void written(void *context, struct request *request, int error)
{
    struct filestore *store = context;
    if (error)
        request_fail(request, error); /* goes through the apply queue all the same: in order */
    request->applies_beside = store->options->ack == ACK_JOURNALED && !error;
    if (!request->applies_beside) {
        apply_queue_mark(request);
        apply_queue_push(&store->apply, request);
        return;
    }
    OPTRAIL(apply_fork, request->sequence, APPLY_BRANCH, 0);
    request_get(request); /* the apply branch's */
    bool last = finisher_mark(request);
    apply_queue_mark(request);
    apply_queue_push(&store->apply, request);
    if (last)
        finisher_push(store->finisher, request);
}

static void submit(void *context, struct request *request)
{
    struct filestore *store = context;
    struct placement_group *group = request->group;
    OPTRAIL(filestore_submit, request, request->frame.length, 0);
    OPTRAIL(filestore_throttle_begin, request, 0, 0);
    throttle_take(&store->throttle, 1);
    inject_delay(INJECT_FILESTORE_THROTTLE, 1);
    OPTRAIL(filestore_throttle_end, request, 0, 0);
    lock_take(&group->order_lock);
    request->next_unapplied = group->unapplied;
    group->unapplied = request;
    lock_give(&group->order_lock);
    journal_submit(&store->journal, request);
}

/* Under order_lock. */
static bool has_unapplied(const struct placement_group *group, uint64_t object)
{
    const struct request *write = group->unapplied;
    while (write && write->frame.object != object)
        write = write->next_unapplied;
    return write != NULL;
}

/* Waits until all writes of the object are applied; the group's lock keeps new ones away. */
static void wait_for_apply(const struct request *request)
{
    struct placement_group *group = request->group;
    uint64_t object = request->frame.object;
    lock_take(&group->order_lock);
    if (has_unapplied(group, object)) {
        OPTRAIL(filestore_apply_wait_begin, 0, object, 0);
        while (has_unapplied(group, object))
            lock_wait_room(&group->order_lock, &group->applied);
        OPTRAIL(filestore_apply_wait_end, 0, object, 0);
    }
    lock_give(&group->order_lock);
}

static int read_object(void *context, struct request *request)
{
    struct filestore *store = context;
    const struct frame *frame = &request->frame;
    wait_for_apply(request);
    struct file *file;
    int error = lfn_open(&store->index, request->group->number, frame->object, false, &file);
    if (error)
        return error;
    OPTRAIL(filestore_read_begin, 0, frame->length, 0);
    while (!error && request->data_length < frame->length) {
        ssize_t got = pread(file->fd, request->data + request->data_length,
                            frame->length - request->data_length,
                            (off_t)(frame->offset + request->data_length));
        if (got == 0)
            break;
        if (got > 0)
            request->data_length += (uint32_t)got;
        else if (errno != EINTR)
            error = errno;
    }
    if (error)
        request->data_length = 0;
    inject_delay(INJECT_FILESTORE_READ, 1);
    inject_delay(INJECT_SLOW_DISK, 1);
    file_put(file);
    OPTRAIL(filestore_read_end, 0, request->data_length, 0);
    return error;
}

static int stat_object(void *context, struct request *request)
{
    struct filestore *store = context;
    struct file *file;
    wait_for_apply(request);
    int error =
        lfn_open(&store->index, request->group->number, request->frame.object, false, &file);
    if (error)
        return error;
    struct stat status;
    if (fstat(file->fd, &status) == 0)
        request->size = (uint64_t)status.st_size;
    else
        error = errno;
    file_put(file);
    return error;
}

/* Refuses a write early when the disk is nearly full: once it is journaled it has to be applied. */
static int check(void *context, const struct request *request)
{
    struct filestore *store = context;
    if (!store->options->reserve)
        return 0;
    struct statvfs disk;
    if (fstatvfs(store->data_fd, &disk) != 0)
        return errno;
    return disk.f_bavail * disk.f_frsize < store->options->reserve + request->frame.length ? ENOSPC
                                                                                           : 0;
}

static int replay(void *context, uint64_t object, uint64_t offset, const void *payload,
                  uint32_t length)
{
    struct filestore *store = context;
    struct file *file;
    uint32_t group = placement_group_of(store->groups, object)->number;
    int error = directory_index_open(&store->index, group, object, true, &file);
    if (error)
        return error;
    error = write_all(file->fd, payload, length, offset);
    file_put(file);
    return error;
}

static int sync_and_trim(struct filestore *store)
{
    uint64_t through = journal_applied_through(&store->journal);
    if (syncfs(store->data_fd) != 0) {
        log_limited("the data directory cannot be synced: %s; the journal is kept",
                    strerror(errno));
        return -1;
    }
    return journal_ring_trim(&store->journal.ring, through);
}

static void *trim(void *argument)
{
    struct filestore *store = argument;
    uint64_t trimmed = 0;
    while (journal_wait_trim(&store->journal, store->options->sync_interval_ns)) {
        uint64_t through = journal_applied_through(&store->journal);
        if (through > trimmed && sync_and_trim(store) == 0)
            trimmed = through;
    }
    return NULL;
}

static void hurry(void *context)
{
    struct filestore *store = context;
    pthread_mutex_lock(&store->stop_lock);
    store->stopping = true;
    pthread_cond_broadcast(&store->stop_changed);
    pthread_mutex_unlock(&store->stop_lock);
}

static int close_store(void *context)
{
    struct filestore *store = context;
    int result = 0;
    if (!store)
        return 0;
    bool ran = store->journal.running;
    journal_stop(&store->journal);
    if (store->has_apply)
        apply_queue_stop(&store->apply);
    if (store->has_trimmer) {
        journal_stop_trim(&store->journal);
        pthread_join(store->trimmer, NULL);
    }
    if (ran)
        result = sync_and_trim(store);
    if (store->has_writeback)
        writeback_throttle_stop(&store->writeback);
    if (store->has_index)
        directory_index_destroy(&store->index);
    if (store->has_ring)
        journal_ring_close(&store->journal.ring);
    if (store->data_fd >= 0)
        close(store->data_fd);
    throttle_destroy(&store->throttle);
    free(store);
    return result;
}

static int open_journal(struct filestore *store, const struct daemon_options *options)
{
    char path[4096];
    if (snprintf(path, sizeof(path), "%s/journal", options->data) >= (int)sizeof(path))
        return log_error("--data %s: the name is too long", options->data);
    store->has_ring = true;
    if (journal_ring_open(&store->journal.ring, path, options->journal_size, store->groups->count,
                          replay, store) != 0)
        return -1;
    if (syncfs(store->data_fd) != 0)
        return log_error("the data directory cannot be synced: %s", strerror(errno));
    if (journal_ring_begin(&store->journal.ring) != 0)
        return -1;
    return journal_start(&store->journal, written, store);
}

static int open_store(const struct daemon_options *options, struct placement_groups *groups,
                      struct finisher *finisher, void **context)
{
    struct filestore *store = calloc(1, sizeof(*store));
    if (!store)
        return log_error("no memory for the filestore");
    *context = store;
    store->options = options;
    store->groups = groups;
    store->finisher = finisher;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&store->stop_lock, NULL);
    pthread_cond_init(&store->stop_changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    throttle_init(&store->throttle, LOCK_STORE_THROTTLE, options->queue_max_ops);
    if (mkdir(options->data, 0755) != 0 && errno != EEXIST)
        return log_error("cannot make --data %s: %s", options->data, strerror(errno));
    store->data_fd = open(options->data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (store->data_fd < 0)
        return log_error("cannot open --data %s: %s", options->data, strerror(errno));
    store->has_index = true;
    if (directory_index_init(&store->index, store->data_fd, groups->count,
                             options->index_lock == LOCK_GLOBAL, (unsigned)options->fd_cache,
                             (unsigned)options->fd_cache_shards) != 0)
        return -1;
    store->has_writeback = true;
    if (writeback_throttle_start(&store->writeback, options) != 0)
        return -1;
    store->has_apply = true;
    if (apply_queue_start(&store->apply, (unsigned)options->apply_threads, apply, store) != 0 ||
        open_journal(store, options) != 0)
        return -1;
    if (pthread_create(&store->trimmer, NULL, trim, store) != 0)
        return log_error("no thread for trimming the journal");
    store->has_trimmer = true;
    return 0;
}

const struct store_kind store_filestore = {.name = "filestore",
                                           .open = open_store,
                                           .hurry = hurry,
                                           .close = close_store,
                                           .check = check,
                                           .submit = submit,
                                           .read = read_object,
                                           .stat = stat_object};
