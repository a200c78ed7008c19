/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_FLAME_TAIL_H
#define OPTRAIL_FLAME_TAIL_H

#include <stdbool.h>
#include <stdint.h>

#include "path.h"
#include "reader.h"
#include "trail.h"

/*
 * Which ops are the slowest ones of their type. That is known only when all have been seen: so the
 * traces are read twice, the first time for this. Not thread-safe.
 */
struct flame_tail;

/* `share`: so much of each type's ops, above 0 and at most 1. The paths are weak, and must be the
 * very ones that flame_tail_has() is asked about later. Owned by the caller; negative errno with
 * the message. */
int flame_tail_new(const struct path_set *paths, double share, struct flame_tail **tail);
void flame_tail_free(struct flame_tail *tail); /* NULL is fine */

/* Where the events of the first reading go. Weak. */
const struct event_consumer *flame_tail_consumer(struct flame_tail *tail);

/* After the last event: from here on it can be asked. */
int flame_tail_end(struct flame_tail *tail);

/* Whether an op of this type (NULL: none matched) is one of the slowest. The border is that of a
 * histogram's bucket: within 1.6 % of the latency, more ops may belong than the share says. */
bool flame_tail_has(const struct flame_tail *tail, const struct path_type *type,
                    uint64_t latency_ns);

#endif
