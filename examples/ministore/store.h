/* SPDX-License-Identifier: MIT */
#ifndef MINISTORE_STORE_H
#define MINISTORE_STORE_H

#include "daemon_options.h"
#include "finisher.h"
#include "placement_group.h"
#include "request.h"

/* An object may grow to this size. */
#define STORE_OBJECT_LIMIT (64ull << 20)

/*
 * An object store, as a struct of callbacks. A worker of the op queue calls submit, read and stat
 * with the group's lock held; their marks between osd.prepared and pg.lock_released are theirs.
 */
struct store_kind {
    const char *name;
    /* Opens the store; 0, or -1 after a message. The pointers stay valid until close. */
    int (*open)(const struct daemon_options *options, struct placement_groups *groups,
                struct finisher *finisher, void **store);
    /* The daemon is about to end: what cannot be done now is not tried again. NULL: nothing ever
     * is. */
    void (*hurry)(void *store);
    /* Finishes all that was submitted and closes; also after an open that failed half-way (store
     * NULL: nothing). 0, or -1 after a message. */
    int (*close)(void *store);
    /* Whether a write of this size can be taken at all: 0 or a positive errno. */
    int (*check)(void *store, const struct request *request);
    /* Writes the payload; the request is the store's until it hands it to the finisher. */
    void (*submit)(void *store, struct request *request);
    /* Fills data, which has room for all that is asked for, and data_length; returns 0 or a
     * positive errno. */
    int (*read)(void *store, struct request *request);
    /* Fills size; returns 0 or a positive errno. */
    int (*stat)(void *store, struct request *request);
};

extern const struct store_kind store_filestore, store_memstore;

#endif
