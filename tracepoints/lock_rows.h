/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_LOCK_ROWS_H
#define OPTRAIL_LOCK_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "event.h"
#include "lock_wait.h"

/* How an event tells which lock it is about. */
enum lock_identity {
    LOCK_BY_KEY,      /* key: the lock's address; arg1: the instance */
    LOCK_BY_ADDRESS,  /* arg0: the lock's address */
    LOCK_BY_INSTANCE, /* arg0: the instance */
};

/* A row of optrail/locks.def. */
struct lock_row {
    const char *name;    /* "": lock.named tells it */
    enum wait_kind kind; /* WAIT_unknown: arg0 of lock.request tells it */
    enum point request, acquired, released;
    enum lock_identity which;
    const char *text;
};

enum {
#define OPTRAIL_LOCK(name, kind, request, acquired, released, which, text) LOCK_ROW_##request,
#include <optrail/locks.def>
#undef OPTRAIL_LOCK
    LOCK_ROW_COUNT
};

extern const struct lock_row lock_rows[LOCK_ROW_COUNT];

enum lock_step { LOCK_REQUEST, LOCK_ACQUIRED, LOCK_RELEASED };

/* The row in which a point stands, and which of its three it is; NULL: in none. Thread-safe. */
const struct lock_row *lock_row_of_point(uint16_t point, enum lock_step *step);

#endif
