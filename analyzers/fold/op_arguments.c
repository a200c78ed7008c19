/* SPDX-License-Identifier: MIT */
#include "op_arguments.h"

#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "points.h"

#define SLOTS 16384 /* a power of two: as many as trails are open at once */

/* How the catalogue calls the arguments. */
static const char *const argument_names[TAIL_ARGUMENTS] = {
    [TAIL_GROUP] = "pg", [TAIL_SHARD] = "shard", [TAIL_OBJECT] = "object", [TAIL_LOCK] = "lock"};

struct slot {
    uint64_t key;
    uint32_t pid;
    uint32_t told; /* bit set of the kinds */
    uint64_t values[TAIL_ARGUMENTS];
};

struct op_arguments {
    struct trail_builder *trails; /* weak */
    int8_t kinds[POINT_COUNT];    /* what its first argument tells; -1: nothing of these */
    struct slot slots[SLOTS];
};

static bool belongs_to_an_op(const struct point_row *row)
{
    return row->key == KEY_OP || row->key == KEY_CLIENT_OP ||
           (row->key == KEY_CURRENT && (row->role == ROLE_MARK || row->role == ROLE_ENTER));
}

struct op_arguments *op_arguments_new(struct trail_builder *trails)
{
    struct op_arguments *arguments = calloc(1, sizeof(*arguments));
    if (!arguments) {
        err_no_memory();
        return NULL;
    }
    arguments->trails = trails;
    for (size_t i = 0; i < POINT_COUNT; i++) {
        arguments->kinds[i] = -1;
        for (int8_t kind = 0; belongs_to_an_op(&point_rows[i]) && kind < TAIL_ARGUMENTS; kind++)
            if (strcmp(point_rows[i].arg0, argument_names[kind]) == 0)
                arguments->kinds[i] = kind;
    }
    return arguments;
}

void op_arguments_free(struct op_arguments *arguments)
{
    free(arguments);
}

static size_t slot_of(uint32_t pid, uint64_t key)
{
    uint64_t hash = (key ^ (uint64_t)pid << 40) * 0x9e3779b97f4a7c15ull;
    return hash >> 50;
}

void op_arguments_event(struct op_arguments *arguments, const struct optrail_event *event)
{
    enum event_role role = point_rows[event->point].role;
    int8_t kind = arguments->kinds[event->point];
    uint64_t key = event->key;
    uint16_t point;
    if (kind < 0 && role != ROLE_START)
        return;
    if (point_rows[event->point].key == KEY_CURRENT &&
        (!arguments->trails ||
         !trail_builder_current(arguments->trails, event->pid, event->tid, &key, &point)))
        return;
    struct slot *slot = &arguments->slots[slot_of(event->pid, key)];
    if (role == ROLE_START || slot->key != key || slot->pid != event->pid)
        *slot = (struct slot){.key = key, .pid = event->pid};
    if (kind >= 0) {
        slot->told |= 1u << kind;
        slot->values[kind] = event->arg0;
    }
}

bool op_arguments_of(const struct op_arguments *arguments, const struct trail *trail,
                     enum tail_kind kind, uint64_t *value)
{
    const struct slot *slot = &arguments->slots[slot_of(trail->pid, trail->key)];
    if (slot->key != trail->key || slot->pid != trail->pid || !(slot->told >> kind & 1))
        return false;
    *value = slot->values[kind];
    return true;
}
