/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_SLOW_WATCH_H
#define OPTRAIL_SLOW_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "event.h"

/* Follows the events' ops, and notices when one took longer than a limit. */
struct slow_watch {
    struct trail_builder *builder; /* owned */
    uint64_t limit_ns;
    uint64_t slow; /* ops that took longer, so far */
};

/* `seconds`: the limit. `watch` must stay where it is. */
int slow_watch_init(struct slow_watch *watch, double seconds);
void slow_watch_free(struct slow_watch *watch);

/* In time order. Negative errno with the message. */
int slow_watch_event(struct slow_watch *watch, const struct optrail_event *event);

#endif
