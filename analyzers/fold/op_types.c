/* SPDX-License-Identifier: MIT */
#include "op_types.h"

#include <stdlib.h>
#include <string.h>

#include "err.h"

#define REMEMBERED 256

struct remembered_type {
    uint64_t seen[TRAIL_POINT_WORDS];
    uint64_t start_type;
    bool bytes_in, bytes_out;
    int number; /* from 1; 0: free */
};

struct op_types {
    const struct path_set *paths; /* weak */
    int count;
    struct op_type types[OP_TYPES];
    struct remembered_type remembered[REMEMBERED];
};

struct op_types *op_types_new(const struct path_set *paths)
{
    struct op_types *types = calloc(1, sizeof(*types));
    if (!types)
        err_no_memory();
    else
        types->paths = paths;
    return types;
}

void op_types_free(struct op_types *types)
{
    free(types);
}

static int number_of(struct op_types *types, const char *name, const struct path *path)
{
    for (int i = 0; i < types->count; i++)
        if (types->types[i].path == path && strcmp(types->types[i].name, name) == 0)
            return i;
    if (types->count == OP_TYPES)
        return -1;
    types->types[types->count] = (struct op_type){name, path};
    return types->count++;
}

int op_types_find(struct op_types *types, const struct trail *trail)
{
    struct remembered_type wanted = {.start_type = trail->type,
                                     .bytes_in = trail->bytes_in > 0,
                                     .bytes_out = trail->bytes_out > 0};
    uint64_t hash = trail->type * 2 + wanted.bytes_in + ((uint64_t)wanted.bytes_out << 32);
    for (size_t i = 0; i < TRAIL_POINT_WORDS; i++)
        hash = (hash ^ trail->seen[i]) * 0x9e3779b97f4a7c15ull;
    struct remembered_type *entry = &types->remembered[hash >> 56];
    if (entry->number > 0 && entry->start_type == wanted.start_type &&
        entry->bytes_in == wanted.bytes_in && entry->bytes_out == wanted.bytes_out &&
        memcmp(entry->seen, trail->seen, sizeof(entry->seen)) == 0)
        return entry->number - 1;
    struct path_match match;
    struct path_op op = {trail->seen, trail->type, trail->bytes_in, trail->bytes_out};
    bool found = path_set_match(types->paths, &op, &match);
    int number = number_of(types, found ? match.type->name : "other", found ? match.path : NULL);
    if (number < 0)
        return -1;
    memcpy(wanted.seen, trail->seen, sizeof(wanted.seen));
    wanted.number = number + 1;
    *entry = wanted;
    return number;
}

const struct op_type *op_types_get(const struct op_types *types, int number)
{
    return &types->types[number];
}

int op_types_named(struct op_types *types, const char *name, const struct path *path)
{
    for (size_t i = 0; path && i < path->type_count; i++)
        if (strcmp(path->types[i].name, name) == 0)
            return number_of(types, path->types[i].name, path);
    return path ? -1 : number_of(types, "other", NULL);
}
