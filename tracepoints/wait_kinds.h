/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_WAIT_KINDS_H
#define OPTRAIL_WAIT_KINDS_H

#include <stdbool.h>
#include <stdint.h>

#include "lock_wait.h"

/* A row of optrail/waits.def. */
struct wait_kind_row {
    const char *name; /* "rwlock_read" */
    enum wait_class class;
    bool owned; /* the lock's word tells who holds it */
    const char *text;
};

/* Indexed by enum wait_kind. */
extern const struct wait_kind_row wait_kind_rows[WAIT_KIND_COUNT];

#endif
