/* SPDX-License-Identifier: MIT */
#include "optracker_stages.h"

#include <stddef.h>
#include <string.h>

/* Events of all versions from cuttlefish to squid, by what an op did before them. BlueStore and
 * MemStore have no event of their own between start and commit. */
static const struct optracker_stage before[] = {
    {"header_read", "messenger.recv", "net"},
    {"throttled", "messenger.throttle", "throttle"},
    {"all_read", "messenger.recv", "net"},
    {"dispatched", "messenger.dispatch", "wait"},
    {"waiting_for_osdmap", "messenger.dispatch", "wait"},
    {"queued_for_pg", "messenger.dispatch", "wait"},
    {"reached_pg", "opqueue.wait", "wait"},
    {"started", "osd.prepare", "work"},
    {"waiting for subops from", "osd.prepare", "work"},
    {"sub_op_started", "osd.prepare", "work"},
    {"commit_queued_for_journal_write", "osd.prepare", "work"},
    {"write_thread_in_journal_buffer", "journal.queue", "wait"},
    {"journaled_completion_queued", "journal.write", "io"},
    {"op_commit", "store.commit", "io"},
    {"sub_op_committed", "store.commit", "io"},
    {"committed", "store.commit", "io"},
    {"op_applied", "filestore.apply", "io"},
    {"sub_op_applied_rec", "replica.wait", "wait"},
    {"sub_op_applied", "filestore.apply", "io"},
    {"sub_op_commit_rec", "replica.wait", "wait"},
    {"commit_sent", "reply.queue", "work"},
    {"done", "finish", "work"},
    {"", "other", "wait"},
};

static const struct {
    struct optracker_stage stage;
    bool stuck;
} aside[] = {
    {{"waiting for missing object", "recovery.wait", "wait"}, true},
    {{"waiting for all missing", "recovery.wait", "wait"}, true},
    {{"waiting for degraded object", "recovery.wait", "wait"}, true},
    {{"waiting for clean to repair", "recovery.wait", "wait"}, true},
    {{"waiting for unreadable object", "recovery.wait", "wait"}, true},
    {{"waiting for blocked object", "object.blocked", "wait"}, true},
    {{"waiting for cache not full", "tier.full", "wait"}, true},
    {{"waiting for scrub", "scrub.wait", "wait"}, true},
    {{"waiting for peered", "peering.wait", "wait"}, true},
    {{"waiting for active", "peering.wait", "wait"}, true},
    {{"waiting for flush", "peering.wait", "wait"}, true},
    {{"waiting for readable", "peering.wait", "wait"}, true},
    {{"waiting for replay", "peering.wait", "wait"}, true},
    {{"waiting for pg to exist", "peering.wait", "wait"}, true},
    {{"waiting on pg mode", "peering.wait", "wait"}, true},
    {{"waiting for ondisk", "duplicate.wait", "wait"}, false},
    {{"waiting for rw locks", "object.lock", "lock"}, false},
    {{"waiting_for_map", "map.wait", "wait"}, true},
    {{"op must wait for map", "map.wait", "wait"}, true},
    {{"no osdmap", "map.wait", "wait"}, true},
    {{"wait for new map", "map.wait", "wait"}, true},
    {{"delayed", "delayed", "wait"}, false},
};

const struct optracker_stage *optracker_before(const char *event)
{
    const struct optracker_stage *row = before;

    while (strncmp(row->event, event, strlen(row->event)) != 0)
        row++;
    return row;
}

const struct optracker_stage *optracker_aside(const char *event, bool *stuck)
{
    for (size_t i = 0; i < sizeof(aside) / sizeof(aside[0]); i++) {
        if (strncmp(aside[i].stage.event, event, strlen(aside[i].stage.event)) == 0) {
            *stuck = aside[i].stuck;
            return &aside[i].stage;
        }
    }
    return NULL;
}
