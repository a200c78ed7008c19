/* SPDX-License-Identifier: MIT */
#include "slow_watch.h"

#include "trail.h"

static int take_trail(void *context, const struct trail *trail)
{
    struct slow_watch *watch = context;

    if (trail->end == TRAIL_FINISHED && trail->finish_ns - trail->start_ns > watch->limit_ns)
        watch->slow++;
    return 0;
}

int slow_watch_init(struct slow_watch *watch, double seconds)
{
    *watch = (struct slow_watch){.limit_ns = (uint64_t)(seconds * 1e9)};
    return trail_builder_new(NULL, take_trail, watch, &watch->builder);
}

void slow_watch_free(struct slow_watch *watch)
{
    if (watch->builder)
        trail_builder_free(watch->builder);
    watch->builder = NULL;
}

int slow_watch_event(struct slow_watch *watch, const struct optrail_event *event)
{
    return trail_builder_event(watch->builder, event);
}
