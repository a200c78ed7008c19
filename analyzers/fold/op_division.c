/* SPDX-License-Identifier: MIT */
#include "op_division.h"

#include <stdlib.h>
#include <string.h>

#include "err.h"

#define REMEMBERED 256

struct remembered {
    uint64_t seen[TRAIL_POINT_WORDS];
    uint64_t start_type;
    bool bytes_in, bytes_out;
    const char *type; /* weak; NULL: free */
    const struct path *path;
    const struct sweep_plan *plan;
};

struct op_divider {
    const struct path_set *paths; /* weak */
    size_t plan_count;
    struct sweep_plan **plans; /* owned: of the paths that were seen */
    struct remembered remembered[REMEMBERED];
    struct op_division division;
};

struct op_divider *op_divider_new(const struct path_set *paths)
{
    struct op_divider *divider = calloc(1, sizeof(*divider));
    if (!divider)
        err_no_memory();
    else
        divider->paths = paths;
    return divider;
}

void op_divider_free(struct op_divider *divider)
{
    if (!divider)
        return;
    for (size_t i = 0; i < divider->plan_count; i++)
        free(divider->plans[i]);
    free(divider->plans);
    free(divider);
}

static const struct sweep_plan *plan_of(struct op_divider *divider, const struct path *path)
{
    for (size_t i = 0; i < divider->plan_count; i++)
        if (divider->plans[i]->path == path)
            return divider->plans[i];
    struct sweep_plan **plans =
        realloc(divider->plans, (divider->plan_count + 1) * sizeof(*divider->plans));
    if (plans)
        divider->plans = plans;
    struct sweep_plan *plan = plans ? malloc(sizeof(*plan)) : NULL;
    if (!plan) {
        err_no_memory();
        return NULL;
    }
    sweep_plan_init(plan, path);
    return plans[divider->plan_count++] = plan;
}

static const struct remembered *find(struct op_divider *divider, const struct trail *trail)
{
    bool bytes_in = trail->bytes_in > 0, bytes_out = trail->bytes_out > 0;
    uint64_t hash = trail->type * 0x9e3779b97f4a7c15ull;
    for (size_t i = 0; i < TRAIL_POINT_WORDS; i++)
        hash = (hash ^ trail->seen[i]) * 0x9e3779b97f4a7c15ull;
    hash ^= (uint64_t)bytes_in << 62 | (uint64_t)bytes_out << 61;
    struct remembered *entry = &divider->remembered[hash >> 56];
    if (entry->type && entry->start_type == trail->type && entry->bytes_in == bytes_in &&
        entry->bytes_out == bytes_out && memcmp(entry->seen, trail->seen, sizeof(entry->seen)) == 0)
        return entry;

    struct path_match match;
    struct path_op op = {trail->seen, trail->type, trail->bytes_in, trail->bytes_out};
    struct remembered made = {
        .start_type = trail->type, .bytes_in = bytes_in, .bytes_out = bytes_out, .type = "other"};
    memcpy(made.seen, trail->seen, sizeof(made.seen));
    if (path_set_match(divider->paths, &op, &match)) {
        made.type = match.type->name;
        made.path = match.path;
        made.plan = plan_of(divider, match.path);
        if (!made.plan)
            return NULL;
    }
    *entry = made;
    return entry;
}

const struct op_division *op_divider_divide(struct op_divider *divider, const struct trail *trail)
{
    const struct remembered *found = find(divider, trail);
    struct op_division *division = &divider->division;
    if (!found)
        return NULL;
    division->type = found->type;
    division->path = found->path;
    division->plan = found->plan;
    if (found->plan) {
        sweep_trail(found->plan, trail, &division->parts);
    } else {
        division->parts.unattributed = trail->finish_ns - trail->start_ns;
        division->parts.passed = division->parts.broken = 0;
    }
    return division;
}

const char *op_type_named(const struct path *path, const char *name)
{
    for (size_t i = 0; path && i < path->type_count; i++)
        if (strcmp(path->types[i].name, name) == 0)
            return path->types[i].name;
    return path ? NULL : "other";
}
