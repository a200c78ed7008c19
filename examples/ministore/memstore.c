/* SPDX-License-Identifier: MIT */
/* The memstore: objects in memory, in a hash table a placement group. One lock for each group's
 * table or, as a disease, one for all. Writes are applied by the op queue's worker; the commit
 * callback runs in the finisher. */
#include <errno.h>
#include <optrail/probe.h>
#include <stdlib.h>
#include <string.h>

#include "daemon_log.h"
#include "inject.h"
#include "named_lock.h"
#include "store.h"

#define BUCKETS 1024 /* of each group's table */

struct memory_object {
    struct memory_object *next;
    uint64_t number;
    uint64_t size;
    uint64_t capacity;
    unsigned char *bytes; /* owned */
};

struct collection {
    struct named_lock lock;
    struct memory_object *buckets[BUCKETS];
};

struct memstore {
    struct finisher *finisher; /* weak */
    uint32_t count;
    bool global_lock;
    struct named_lock lock; /* the global one */
    struct collection collections[];
};

static struct named_lock *lock_of(struct memstore *store, const struct request *request)
{
    return store->global_lock ? &store->lock : &store->collections[request->group->number].lock;
}

/* The lock that is asked for and had, with its marks. */
static struct named_lock *lock_objects(struct memstore *store, const struct request *request)
{
    struct named_lock *lock = lock_of(store, request);
    OPTRAIL(memstore_lock_request, 0, lock, 0);
    inject_delay(INJECT_MEMSTORE_LOCK, 1);
    lock_take_marked(lock);
    OPTRAIL(memstore_lock_acquired, 0, lock, 0);
    return lock;
}

static void unlock_objects(struct named_lock *lock)
{
    OPTRAIL(memstore_lock_released, 0, lock, 0);
    lock_give_marked(lock);
}

static struct memory_object **find(struct memstore *store, const struct request *request)
{
    uint64_t number = request->frame.object;
    struct memory_object **object =
        &store->collections[request->group->number].buckets[object_hash(number) % BUCKETS];
    while (*object && (*object)->number != number)
        object = &(*object)->next;
    return object;
}

/* Makes room for `size` bytes, zeroed. 0 or a positive errno. */
static int grow(struct memory_object *object, uint64_t size)
{
    if (size <= object->capacity)
        return 0;
    uint64_t capacity = size < 2 * object->capacity ? 2 * object->capacity : size;
    unsigned char *bytes = realloc(object->bytes, capacity);
    if (!bytes)
        return ENOSPC;
    memset(bytes + object->capacity, 0, capacity - object->capacity);
    object->bytes = bytes;
    object->capacity = capacity;
    return 0;
}

static int write_object(struct memstore *store, const struct request *request)
{
    const struct frame *frame = &request->frame;
    struct memory_object **place = find(store, request);
    struct memory_object *object = *place;
    if (!object) {
        object = calloc(1, sizeof(*object));
        if (!object)
            return ENOSPC;
        object->number = frame->object;
    }
    int error = grow(object, frame->offset + frame->length);
    if (error) {
        if (!*place)
            free(object);
        return error;
    }
    if (frame->length) /* of an object that is still empty there is nothing to point to */
        /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): grow() has made room */
        memcpy(object->bytes + frame->offset, request->payload, frame->length);
    if (object->size < frame->offset + frame->length)
        object->size = frame->offset + frame->length;
    *place = object;
    return 0;
}

static void submit(void *context, struct request *request)
{
    struct memstore *store = context;
    struct named_lock *lock = lock_objects(store, request);
    OPTRAIL(memstore_apply_begin, 0, request->frame.length, 0);
    inject_delay(INJECT_MEMSTORE_LOCK_HOLD, 1);
    int error = write_object(store, request);
    inject_delay(INJECT_MEMSTORE_APPLY, 1);
    OPTRAIL(memstore_apply_end, 0, request->frame.length, 0);
    if (error)
        request_fail(request, error);
    bool last = finisher_mark(request);
    unlock_objects(lock);
    if (last)
        finisher_push(store->finisher, request);
}

static int read_object(void *context, struct request *request)
{
    struct memstore *store = context;
    const struct frame *frame = &request->frame;
    int error = ENOENT;
    struct named_lock *lock = lock_objects(store, request);
    OPTRAIL(memstore_read_begin, 0, frame->length, 0);
    const struct memory_object *object = *find(store, request);
    if (object) {
        uint64_t there = object->size > frame->offset ? object->size - frame->offset : 0;
        request->data_length = there < frame->length ? (uint32_t)there : frame->length;
        memcpy(request->data, object->bytes + (there ? frame->offset : 0), request->data_length);
        error = 0;
    }
    inject_delay(INJECT_MEMSTORE_READ, 1);
    unlock_objects(lock);
    OPTRAIL(memstore_read_end, 0, request->data_length, 0);
    return error;
}

static int stat_object(void *context, struct request *request)
{
    struct memstore *store = context;
    struct named_lock *lock = lock_objects(store, request);
    const struct memory_object *object = *find(store, request);
    request->size = object ? object->size : 0;
    unlock_objects(lock);
    return object ? 0 : ENOENT;
}

static int check(void *context, const struct request *request)
{
    (void)context;
    (void)request;
    return 0;
}

static int close_store(void *context)
{
    struct memstore *store = context;
    if (!store)
        return 0;
    for (uint32_t i = 0; i < store->count; i++) {
        for (int bucket = 0; bucket < BUCKETS; bucket++) {
            struct memory_object *object = store->collections[i].buckets[bucket];
            while (object) {
                struct memory_object *next = object->next;
                free(object->bytes);
                free(object);
                object = next;
            }
        }
        lock_destroy(&store->collections[i].lock);
    }
    lock_destroy(&store->lock);
    free(store);
    return 0;
}

static int open_store(const struct daemon_options *options, struct placement_groups *groups,
                      struct finisher *finisher, void **context)
{
    struct memstore *store = calloc(1, sizeof(*store) + groups->count * sizeof(struct collection));
    if (!store)
        return log_error("no memory for a memstore of %u placement groups", groups->count);
    store->finisher = finisher;
    store->count = groups->count;
    store->global_lock = options->memstore_lock == LOCK_GLOBAL;
    lock_init(&store->lock, LOCK_KIND_MUTEX, LOCK_MEMSTORE, 0);
    for (uint32_t i = 0; i < groups->count; i++)
        lock_init(&store->collections[i].lock, LOCK_KIND_MUTEX, LOCK_MEMSTORE, i);
    *context = store;
    return 0;
}

const struct store_kind store_memstore = {.name = "memstore",
                                          .open = open_store,
                                          .close = close_store,
                                          .check = check,
                                          .submit = submit,
                                          .read = read_object,
                                          .stat = stat_object};
