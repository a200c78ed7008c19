/* SPDX-License-Identifier: MIT */
#include "flame_tail.h"

#include <stdlib.h>

#include "err.h"
#include "histogram.h"

struct tail_type {
    const struct path_type *type; /* weak; NULL: no type matched */
    uint64_t least_ns;
    struct histogram latency;
};

struct flame_tail {
    const struct path_set *paths; /* weak */
    double share;
    struct event_consumer consumer;
    struct trail_builder *builder;
    size_t count;
    struct tail_type **types; /* owned */
};

static int take_event(void *context, const struct optrail_event *event)
{
    struct flame_tail *tail = context;
    return trail_builder_event(tail->builder, event);
}

static int take_lost(void *context, uint64_t count, uint64_t begin_ns, uint64_t end_ns)
{
    struct flame_tail *tail = context;
    (void)count;
    return trail_builder_lost(tail->builder, begin_ns, end_ns);
}

static struct tail_type *find(const struct flame_tail *tail, const struct path_type *type)
{
    for (size_t i = 0; i < tail->count; i++)
        if (tail->types[i]->type == type)
            return tail->types[i];
    return NULL;
}

static int add_type(struct flame_tail *tail, const struct path_type *type, struct tail_type **added)
{
    struct tail_type **types =
        realloc((void *)tail->types, (tail->count + 1) * sizeof(*tail->types));
    if (!types)
        return err_no_memory();
    tail->types = types;
    *added = calloc(1, sizeof(**added));
    if (!*added)
        return err_no_memory();
    (*added)->type = type;
    histogram_init(&(*added)->latency);
    tail->types[tail->count++] = *added;
    return 0;
}

static int take_trail(void *context, const struct trail *trail)
{
    struct flame_tail *tail = context;
    struct path_match match = {0};
    const struct path_op op = {trail->seen, trail->type, trail->bytes_in, trail->bytes_out};
    if (trail->end != TRAIL_FINISHED)
        return 0;
    path_set_match(tail->paths, &op, &match);
    struct tail_type *type = find(tail, match.type);
    int result = type ? 0 : add_type(tail, match.type, &type);
    if (result == 0)
        histogram_add(&type->latency, trail->finish_ns - trail->start_ns);
    return result;
}

int flame_tail_new(const struct path_set *paths, double share, struct flame_tail **tail)
{
    struct flame_tail *made = calloc(1, sizeof(*made));
    if (!made)
        return err_no_memory();
    made->paths = paths;
    made->share = share;
    made->consumer =
        (struct event_consumer){.context = made, .event = take_event, .lost = take_lost};
    int result = trail_builder_new(NULL, take_trail, made, &made->builder);
    if (result < 0) {
        free(made);
        return result;
    }
    *tail = made;
    return 0;
}

void flame_tail_free(struct flame_tail *tail)
{
    if (!tail)
        return;
    if (tail->builder)
        trail_builder_free(tail->builder);
    for (size_t i = 0; i < tail->count; i++)
        free(tail->types[i]);
    free((void *)tail->types);
    free(tail);
}

const struct event_consumer *flame_tail_consumer(struct flame_tail *tail)
{
    return &tail->consumer;
}

int flame_tail_end(struct flame_tail *tail)
{
    int result = trail_builder_end(tail->builder);
    for (size_t i = 0; i < tail->count; i++) {
        struct tail_type *type = tail->types[i];
        double wanted = tail->share * (double)type->latency.count;
        uint64_t slower = 0;
        uint32_t bucket = HISTOGRAM_BUCKETS;
        while (bucket > 0 && (slower == 0 || (double)slower + 0.5 < wanted))
            slower += type->latency.buckets[--bucket];
        type->least_ns = histogram_bucket_low(bucket);
    }
    return result;
}

bool flame_tail_has(const struct flame_tail *tail, const struct path_type *type,
                    uint64_t latency_ns)
{
    const struct tail_type *found = find(tail, type);
    return found && latency_ns >= found->least_ns;
}
