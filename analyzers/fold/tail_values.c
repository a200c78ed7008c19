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

/* The row of that name, made if there is room; *row is NULL if there is none. */
static int find_row(struct tail_values *values, const struct tail_row *wanted,
                    struct tail_row **row)
{
    size_t slot = slot_of(wanted->type, wanted->pid, (enum tail_kind)wanted->kind, wanted->value);
    for (; (*row = values->slots[slot]); slot = (slot + 1) % SLOTS)
        if ((*row)->type == wanted->type && (*row)->kind == wanted->kind &&
            (*row)->pid == wanted->pid && (*row)->value == wanted->value)
            return 0;
    if (values->count == MAX_ROWS || values->of_kind[wanted->kind] == MAX_OF_KIND)
        return 0;
    *row = calloc(1, sizeof(**row));
    if (!*row)
        return err_no_memory();
    (*row)->type = wanted->type;
    (*row)->kind = wanted->kind;
    (*row)->point = wanted->point;
    (*row)->pid = wanted->pid;
    (*row)->value = wanted->value;
    values->slots[slot] = values->rows[values->count++] = *row;
    values->of_kind[wanted->kind]++;
    return 0;
}

int tail_values_add(struct tail_values *values, uint32_t type, uint32_t pid, enum tail_kind kind,
                    uint64_t value, uint16_t point, uint64_t latency_ns)
{
    struct tail_row wanted, *row;
    wanted.type = type;
    wanted.kind = (uint16_t)kind;
    wanted.pid = pid;
    wanted.value = value;
    wanted.point = point;
    int result = find_row(values, &wanted, &row);
    if (result < 0)
        return result;
    if (!row) {
        values->not_kept++;
        return 0;
    }
    if (point < row->point)
        row->point = point;
    row->count++;
    row->buckets[coarse_bucket(latency_ns)]++;
    return 0;
}

int tail_values_merge(struct tail_values *values, const struct tail_row *from)
{
    struct tail_row *row;
    int result = find_row(values, from, &row);
    if (result < 0)
        return result;
    if (!row) {
        values->not_kept += from->count;
        return 0;
    }
    if (from->point < row->point)
        row->point = from->point;
    row->count += from->count;
    for (size_t i = 0; i < COARSE_BUCKETS; i++)
        row->buckets[i] += from->buckets[i];
    return 0;
}

void tail_values_lost(struct tail_values *values, uint64_t not_kept)
{
    values->not_kept += not_kept;
}

struct tail_row *const *tail_values_rows(const struct tail_values *values, size_t *count,
                                         uint64_t *not_kept)
{
    *count = values->count;
    *not_kept = values->not_kept;
    return values->rows;
}
