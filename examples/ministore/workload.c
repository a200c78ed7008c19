/* SPDX-License-Identifier: MIT */
#include "workload.h"

#include <string.h>

#include "object_hash.h"

/* splitmix64 (Steele, Lea, Flood, 2014) as a function of its state. */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

uint64_t workload_objects(const struct load_options *options, unsigned thread)
{
    return (options->objects - thread + options->threads - 1) / options->threads;
}

uint64_t workload_object(const struct load_options *options, unsigned thread, uint64_t number)
{
    return number * options->threads + thread;
}

/* The next object that lies in placement group 0; the same one if a thread has none there. */
static uint64_t hot_object(const struct load_options *options, unsigned thread, uint64_t object)
{
    uint64_t objects = workload_objects(options, thread);
    for (uint64_t i = 0; i < objects; i++) {
        uint64_t at = (object + i) % objects;
        uint64_t number = options->first_object + workload_object(options, thread, at);
        if (placement_group_number(number, (uint32_t)options->placement_groups) == 0)
            return at;
    }
    return object;
}

struct planned_op workload_op(const struct load_options *options, unsigned thread, uint64_t number)
{
    uint64_t dice = mix(mix(options->seed ^ mix(thread)) + number);
    uint64_t object = mix(dice) % workload_objects(options, thread);
    bool write = options->mode == LOAD_WRITE ||
                 (options->mode == LOAD_MIXED && dice % 100 >= options->reads);
    if (mix(dice ^ object) % 100 < options->hot_pg)
        object = hot_object(options, thread, object);
    return (struct planned_op){.write = write, .object = workload_object(options, thread, object)};
}

void workload_fill(void *bytes, size_t length, uint64_t object, uint64_t version)
{
    uint64_t head[2] = {object, version};
    uint64_t state = mix(object ^ mix(version));
    memcpy(bytes, head, sizeof(head));
    for (size_t at = sizeof(head); at < length; at += sizeof(state)) {
        state = mix(state);
        memcpy((char *)bytes + at, &state, sizeof(state));
    }
}

uint64_t workload_version(const void *bytes, size_t length, uint64_t object)
{
    uint64_t head[2];
    if (length < sizeof(head))
        return 0;
    memcpy(head, bytes, sizeof(head));
    if (head[0] != object)
        return 0;
    uint64_t state = mix(object ^ mix(head[1]));
    for (size_t at = sizeof(head); at < length; at += sizeof(state)) {
        state = mix(state);
        if (memcmp((const char *)bytes + at, &state, sizeof(state)) != 0)
            return 0;
    }
    return head[1];
}

uint64_t workload_digest(uint64_t digest, struct planned_op op)
{
    return mix(digest ^ (op.object << 1 | op.write));
}
