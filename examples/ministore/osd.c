/* SPDX-License-Identifier: MIT */
#include "osd.h"

#include <errno.h>
#include <optrail/probe.h>
#include <stdlib.h>

#include "allocator_storm.h"
#include "finisher.h"
#include "inject.h"
#include "messenger.h"
#include "named_lock.h"
#include "op_queue.h"
#include "placement_group.h"
#include "replication.h"
#include "store.h"

static struct {
    const struct store_kind *kind;
    void *store;
    struct placement_groups groups;
    struct op_queue queue;
    struct finisher finisher;
    bool has_account;
    struct named_lock account_lock;
    uint64_t accounted[FRAME_TYPE_END]; /* ops begun, by type: under account_lock */
    bool has_groups, has_finisher, has_store, has_queue;
} osd;

void osd_dispatch(void *context, struct request *request)
{
    (void)context;
    if (request->frame.type == FRAME_PING) {
        messenger_reply_mark(request);
        messenger_reply_send(request);
        return;
    }
    request->group = placement_group_of(&osd.groups, request->frame.object);
    op_queue_push(&osd.queue, request);
}

/* Checks the request and makes what it needs. 0 or a positive errno. */
static int prepare(struct request *request)
{
    const struct frame *frame = &request->frame;
    if (frame->type == FRAME_STAT)
        return 0;
    if (frame->length == 0)
        return EINVAL;
    if (frame->offset > STORE_OBJECT_LIMIT || frame->length > STORE_OBJECT_LIMIT - frame->offset)
        return EFBIG;
    if (frame_writes(frame)) {
        int error = osd.kind->check(osd.store, request);
        return error ? error : replication_prepare(request);
    }
    request->data = malloc(frame->length);
    return request->data ? 0 : ENOMEM;
}

/* An account of all ops behind one lock: it is there to be a disease. */
static void account(const struct request *request)
{
    if (!osd.has_account)
        return;
    lock_take(&osd.account_lock);
    osd.accounted[request->frame.type]++;
    inject_delay(INJECT_ACCOUNT_HOLD, 1);
    lock_give(&osd.account_lock);
}

static void process(struct request *request)
{
    struct placement_group *group = request->group;
    OPTRAIL(pg_lock_request, request, group->number, 0);
    inject_delay(INJECT_PG_LOCK, 1);
    lock_take_marked(&group->lock);
    OPTRAIL(pg_lock_acquired, request, group->number, 0);
    int error = prepare(request);
    account(request);
    allocator_storm();
    inject_delay(INJECT_OSD_PREPARE, 1);
    inject_delay(INJECT_PG_LOCK_HOLD, 1);
    OPTRAIL(osd_prepared, request, 0, 0);

    bool answer = true;
    if (error == 0 && frame_writes(&request->frame)) {
        /* under the group's lock: the peers get its writes in our order */
        replication_send(request);
        /* from here on the op is at its own pace: it is alive until the commit callback has had
         * the group's lock, so the marks below still find it */
        osd.kind->submit(osd.store, request);
        answer = false;
    } else if (error == 0 && request->frame.type == FRAME_READ) {
        error = osd.kind->read(osd.store, request);
    } else if (error == 0) {
        error = osd.kind->stat(osd.store, request);
    }
    if (error)
        request_fail(request, error);

    /* The marks come before what they tell, so that nobody's "acquired" can be older than our
     * "released" and nobody can finish the op under them. */
    OPTRAIL(pg_lock_released, request, group->number, 0);
    OPTRAIL(osd_leave, request, 0, 0);
    if (answer)
        messenger_reply_mark(request);
    lock_give_marked(&group->lock);
    if (answer)
        messenger_reply_send(request);
}

/* Runs in the finisher: as in Ceph the callback needs the placement group for a moment. */
static void commit_callback(struct request *request)
{
    struct placement_group *group = request->group;
    OPTRAIL(commit_callback, request, 0, 0);
    int replica_error = atomic_load_explicit(&request->replica_error, memory_order_relaxed);
    if (replica_error && !request->error)
        request_fail(request, replica_error);
    lock_take(&group->lock);
    group->committed++;
    lock_give(&group->lock);
    inject_delay(INJECT_COMMIT_CALLBACK, 1);
    messenger_reply_mark(request);
    messenger_reply_send(request);
}

int osd_start(const struct daemon_options *options)
{
    osd.has_account = options->account_lock != ACCOUNT_NONE;
    lock_init(&osd.account_lock,
              options->account_lock == ACCOUNT_SPIN ? LOCK_KIND_SPIN : LOCK_KIND_MUTEX,
              LOCK_ACCOUNT, 0);
    osd.kind = options->store == STORE_MEMSTORE ? &store_memstore : &store_filestore;
    if (placement_groups_init(&osd.groups, (uint32_t)options->placement_groups) != 0)
        return -1;
    osd.has_groups = true;
    if (finisher_start(&osd.finisher, commit_callback) != 0)
        return -1;
    osd.has_finisher = true;
    if (replication_start(options, &osd.finisher) != 0)
        return -1;
    osd.has_store = true;
    if (osd.kind->open(options, &osd.groups, &osd.finisher, &osd.store) != 0)
        return -1;
    osd.has_queue = true;
    return op_queue_start(&osd.queue, (unsigned)options->shards,
                          (unsigned)options->threads_per_shard, process);
}

int osd_stop(void)
{
    int result = 0;
    if (osd.store && osd.kind->hurry)
        osd.kind->hurry(osd.store);
    if (osd.has_queue)
        op_queue_stop(&osd.queue);
    replication_stop();
    if (osd.has_store)
        result = osd.kind->close(osd.store);
    if (osd.has_finisher)
        finisher_stop(&osd.finisher);
    if (osd.has_groups)
        placement_groups_destroy(&osd.groups);
    return result;
}
