/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_FOLD_OUTSIDE_H
#define OPTRAIL_FOLD_OUTSIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "op_fold.h"
#include "points.h"

/*
 * The kernel's fold outside of the kernel: plain arrays stand for its maps. One thread.
 */
#define FOLD_INLINE       inline
#define FOLD_CALL         static __attribute__((noinline))
#define OUTSIDE_NAME_ROWS 4096

static struct fold_settings fold_settings;
static struct fold_point fold_points[POINT_COUNT];
static uint32_t fold_hand;

struct outside_queue {
    uint32_t begin, count, capacity;
    struct fold_ref *rows;
};

static struct {
    const struct fold_tables *tables; /* weak */
    struct fold_op *ops;
    uint64_t *births;
    struct fold_name *past;
    uint64_t *cells;
    struct outside_queue free, answered;
    struct fold_workspace workspace;
    struct {
        struct fold_name name;
        struct fold_ref ref;
        bool used;
    } names[OUTSIDE_NAME_ROWS];
    struct {
        uint64_t id;
        struct fold_thread thread;
    } threads[64];
    struct {
        uint64_t client;
        struct fold_client sums;
    } clients[FOLD_CLIENTS];
    size_t client_count;
    struct fold_peer_row peers[FOLD_PEERS];
    uint32_t peer_count;
    void (*exemplar)(const struct fold_op *op);
} outside;

static inline long bpf_loop(uint32_t count, long (*step)(uint32_t, void *), void *context,
                            uint64_t flags)
{
    (void)flags;
    for (uint32_t i = 0; i < count; i++)
        if (step(i, context))
            return i + 1;
    return count;
}

static inline struct fold_op *env_op(uint32_t slot)
{
    return slot < FOLD_SLOTS ? &outside.ops[slot] : NULL;
}

static inline uint64_t *env_birth(uint32_t slot)
{
    return slot < FOLD_SLOTS ? &outside.births[slot] : NULL;
}

static inline struct fold_name *env_past(uint32_t row)
{
    return row < FOLD_PAST ? &outside.past[row] : NULL;
}

static inline uint64_t *env_cell(uint32_t index)
{
    return index < outside.tables->cell_count ? &outside.cells[index] : NULL;
}

static inline struct fold_plan *env_plan(uint32_t index)
{
    return index < outside.tables->plan_count ? &outside.tables->plans[index] : NULL;
}

static inline struct fold_type *env_type(uint32_t index)
{
    return index < outside.tables->settings.type_count ? &outside.tables->types[index] : NULL;
}

static inline struct fold_workspace *env_workspace(void)
{
    return &outside.workspace;
}

static inline int outside_push(struct outside_queue *queue, struct fold_ref ref)
{
    if (queue->count == queue->capacity)
        return -1;
    queue->rows[(queue->begin + queue->count++) % queue->capacity] = ref;
    return 0;
}

static inline int outside_pop(struct outside_queue *queue, struct fold_ref *ref, bool take)
{
    if (queue->count == 0)
        return -1;
    *ref = queue->rows[queue->begin];
    if (take) {
        queue->begin = (queue->begin + 1) % queue->capacity;
        queue->count--;
    }
    return 0;
}

static inline int env_free_take(uint32_t *slot)
{
    struct fold_ref ref;
    int result = outside_pop(&outside.free, &ref, true);
    if (result == 0)
        *slot = ref.slot;
    return result;
}

static inline void env_free_give(uint32_t slot)
{
    outside_push(&outside.free, (struct fold_ref){.slot = slot});
}

static inline int env_answered_push(struct fold_ref ref)
{
    return outside_push(&outside.answered, ref);
}

static inline int env_answered_peek(struct fold_ref *ref)
{
    return outside_pop(&outside.answered, ref, false);
}

static inline int env_answered_pop(struct fold_ref *ref)
{
    return outside_pop(&outside.answered, ref, true);
}

/* Where the name is, or a free row for it. */
static inline size_t outside_name(const struct fold_name *name)
{
    size_t unused = OUTSIDE_NAME_ROWS;
    for (size_t i = 0; i < OUTSIDE_NAME_ROWS; i++) {
        if (outside.names[i].used && memcmp(&outside.names[i].name, name, sizeof(*name)) == 0)
            return i;
        if (!outside.names[i].used && unused == OUTSIDE_NAME_ROWS)
            unused = i;
    }
    return unused;
}

static inline struct fold_ref *env_name_find(const struct fold_name *name)
{
    size_t at = outside_name(name);
    return at < OUTSIDE_NAME_ROWS && outside.names[at].used ? &outside.names[at].ref : NULL;
}

static inline int env_name_put(const struct fold_name *name, const struct fold_ref *ref)
{
    size_t at = outside_name(name);
    if (at == OUTSIDE_NAME_ROWS)
        return -1;
    outside.names[at].name = *name;
    outside.names[at].ref = *ref;
    outside.names[at].used = true;
    return 0;
}

static inline void env_name_remove(const struct fold_name *name)
{
    size_t at = outside_name(name);
    if (at < OUTSIDE_NAME_ROWS)
        outside.names[at].used = false;
}

static inline struct fold_thread *env_thread(uint64_t id, bool make)
{
    for (size_t i = 0; i < 64; i++) {
        if (outside.threads[i].id == id)
            return &outside.threads[i].thread;
        if (outside.threads[i].id == 0 && make) {
            outside.threads[i].id = id;
            return &outside.threads[i].thread;
        }
    }
    return NULL;
}

static inline struct fold_client *env_client(uint64_t client)
{
    for (size_t i = 0; i < outside.client_count; i++)
        if (outside.clients[i].client == client)
            return &outside.clients[i].sums;
    if (outside.client_count == FOLD_CLIENTS)
        return NULL;
    outside.clients[outside.client_count].client = client;
    return &outside.clients[outside.client_count++].sums;
}

static inline uint32_t env_peer(uint64_t peer)
{
    for (uint32_t i = 0; i < outside.peer_count; i++)
        if (outside.peers[i].peer == peer)
            return i;
    if (outside.peer_count == FOLD_PEERS - 1)
        return FOLD_PEERS - 1;
    outside.peers[outside.peer_count] = (struct fold_peer_row){peer, outside.peer_count};
    return outside.peer_count++;
}

static inline int env_exemplar(const struct fold_op *op)
{
    if (outside.exemplar)
        outside.exemplar(op);
    return 0;
}

static inline void outside_close(void)
{
    free(outside.ops);
    free(outside.births);
    free(outside.past);
    free(outside.cells);
    free(outside.free.rows);
    free(outside.answered.rows);
    memset(&outside, 0, sizeof(outside));
}

/* An empty fold of these tables, with `slots` slots. */
static inline void outside_open(const struct fold_tables *tables, uint32_t slots)
{
    outside_close();
    outside.tables = tables;
    outside.ops = calloc(FOLD_SLOTS, sizeof(*outside.ops));
    outside.births = calloc(FOLD_SLOTS, sizeof(*outside.births));
    outside.past = calloc(FOLD_PAST, sizeof(*outside.past));
    outside.cells = calloc(tables->cell_count, sizeof(*outside.cells));
    outside.free.rows = calloc(FOLD_SLOTS, sizeof(*outside.free.rows));
    outside.free.capacity = FOLD_SLOTS;
    outside.answered.rows = calloc(FOLD_ANSWERED, sizeof(*outside.answered.rows));
    outside.answered.capacity = FOLD_ANSWERED;
    fold_settings = tables->settings;
    fold_hand = 0;
    for (uint32_t i = 0; i < slots; i++)
        env_free_give(i);
    for (int i = 0; i < POINT_COUNT; i++)
        fold_points[i] =
            (struct fold_point){(uint16_t)point_rows[i].role, (uint16_t)point_rows[i].key};
}

#include "op_fold_core.h"

#endif
