/* SPDX-License-Identifier: MIT */
#include "tail_values.h"

#include <errno.h>
#include <stdlib.h>

#include "err.h"

/* Rows at most, all kinds and types together: 5 MiB. */
#define MAX_ROWS 4096
/* Of one kind: thousands of objects leave room for threads. */
#define MAX_OF_KIND 1024
#define SLOTS       8192 /* a power of two */

const char *const tail_kind_names[TAIL_KIND_COUNT] = {
    [TAIL_GROUP] = "group",   [TAIL_SHARD] = "shard",   [TAIL_OBJECT] = "object",
    [TAIL_LOCK] = "lock",     [TAIL_THREAD] = "thread", [TAIL_PEER] = "peer",
    [TAIL_CLIENT] = "client", [TAIL_SIZE] = "size"};

struct tail_values {
    size_t count;
    size_t of_kind[TAIL_KIND_COUNT];
    uint64_t not_kept;
    struct tail_row *rows[MAX_ROWS]; /* owned */
    struct tail_row *slots[SLOTS];   /* weak */
};

struct tail_values *tail_values_new(void)
{
    struct tail_values *values = calloc(1, sizeof(*values));
    if (!values)
        err_no_memory();
    return values;
}

void tail_values_free(struct tail_values *values)
{
    if (!values)
        return;
    for (size_t i = 0; i < values->count; i++)
        free(values->rows[i]);
    free(values);
}

static size_t slot_of(uint32_t type, uint32_t pid, enum tail_kind kind, uint64_t value)
{
    uint64_t hash = (value ^ (uint64_t)pid << 32 ^ (uint64_t)type << 8 ^ (uint64_t)kind) *
                    0x9e3779b97f4a7c15ull;
    return (hash ^ hash >> 29) % SLOTS;
}

int tail_values_add(struct tail_values *values, uint32_t type, uint32_t pid, enum tail_kind kind,
                    uint64_t value, uint16_t point, uint64_t latency_ns)
{
    size_t slot = slot_of(type, pid, kind, value);
    struct tail_row *row;
    for (; (row = values->slots[slot]); slot = (slot + 1) % SLOTS)
        if (row->type == type && row->kind == kind && row->pid == pid && row->value == value)
            break;
    if (!row && (values->count == MAX_ROWS || values->of_kind[kind] == MAX_OF_KIND)) {
        values->not_kept++;
        return 0;
    }
    if (!row) {
        row = calloc(1, sizeof(*row));
        if (!row)
            return err_no_memory();
        row->type = type;
        row->kind = (uint16_t)kind;
        row->point = point;
        row->pid = pid;
        row->value = value;
        values->slots[slot] = values->rows[values->count++] = row;
        values->of_kind[kind]++;
    }
    row->count++;
    row->buckets[coarse_bucket(latency_ns)]++;
    return 0;
}

struct tail_row *const *tail_values_rows(const struct tail_values *values, size_t *count,
                                         uint64_t *not_kept)
{
    *count = values->count;
    *not_kept = values->not_kept;
    return values->rows;
}
