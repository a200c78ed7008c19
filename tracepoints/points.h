/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_POINTS_H
#define OPTRAIL_POINTS_H

#include "event.h"

/* A row of the catalogue. */
struct point_row {
    const char *name;       /* "opqueue.enqueue": for people, path files and messages */
    const char *identifier; /* "opqueue_enqueue": LTTng event and USDT probe name */
    enum event_role role;
    enum key_kind key;
    const char *arg0;
    const char *arg1;
    const char *text;
};

/* The catalogue, indexed by enum point. */
extern const struct point_row point_rows[POINT_COUNT];

/* The point with this name or identifier; -ENOENT if there is none (no message is set).
 * Thread-safe. */
int point_by_name(const char *name);
int point_by_identifier(const char *identifier);

const char *event_role_name(enum event_role role); /* "start" */
const char *key_kind_name(enum key_kind kind);     /* "op" */

#endif
