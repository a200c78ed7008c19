/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
#ifndef OPTRAIL_OP_FOLD_BPF_H
#define OPTRAIL_OP_FOLD_BPF_H

#include "op_fold.h"

/*
 * The fold in the kernel: its maps, and the rules of op_fold_core.h on them. The loader sets how
 * large the maps are: without the fold they are of one row. Included after bpf_helpers.h.
 *
 * It is run by the loader alone, never by the daemon's threads: see uprobe_drain.
 */
const volatile struct fold_settings fold_settings = {};
const volatile struct fold_point fold_points[POINT_COUNT] = {};
/* Which of both is done with each event. */
const volatile bool fold_on = false;
const volatile bool events_on = true;

__u32 fold_hand = 0;
__u32 fold_peer_count = 0;
/* The loader asks for fold_catch_up() in place of the next records. */
bool fold_catching_up = false;
/* When the last event came, told by the loader at the end; 0: it goes on. */
__u64 fold_last_ns = 0;

#define FOLD_MAP(name, kind, rows, key_type, value_type)                                           \
    struct {                                                                                       \
        __uint(type, kind);                                                                        \
        __uint(max_entries, rows);                                                                 \
        __type(key, key_type);                                                                     \
        __type(value, value_type);                                                                 \
    } name SEC(".maps")
#define FOLD_QUEUE(name, kind, rows, value_type)                                                   \
    struct {                                                                                       \
        __uint(type, kind);                                                                        \
        __uint(max_entries, rows);                                                                 \
        __uint(value_size, sizeof(value_type));                                                    \
    } name SEC(".maps")

FOLD_MAP(fold_ops, BPF_MAP_TYPE_ARRAY, 1, __u32, struct fold_op);
FOLD_MAP(fold_births, BPF_MAP_TYPE_ARRAY, 1, __u32, __u64);
FOLD_MAP(fold_pasts, BPF_MAP_TYPE_ARRAY, 1, __u32, struct fold_name);
FOLD_MAP(fold_plans, BPF_MAP_TYPE_ARRAY, 1, __u32, struct fold_plan);
FOLD_MAP(fold_types, BPF_MAP_TYPE_ARRAY, 1, __u32, struct fold_type);
FOLD_MAP(fold_workspaces, BPF_MAP_TYPE_ARRAY, 1, __u32, struct fold_workspace);
FOLD_MAP(fold_names, BPF_MAP_TYPE_HASH, 1, struct fold_name, struct fold_ref);
FOLD_MAP(fold_threads, BPF_MAP_TYPE_LRU_HASH, 1, __u64, struct fold_thread);
FOLD_MAP(fold_clients, BPF_MAP_TYPE_HASH, 1, __u64, struct fold_client);
FOLD_MAP(fold_peers, BPF_MAP_TYPE_HASH, 1, __u64, __u32);
FOLD_QUEUE(fold_free, BPF_MAP_TYPE_STACK, 1, __u32); /* the last one is still in the cache */
FOLD_QUEUE(fold_answered, BPF_MAP_TYPE_QUEUE, 1, struct fold_ref);

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE); /* read without a system call */
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u64);
} fold_cells SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 4096);
} fold_exemplars SEC(".maps");

#define FOLD_INLINE    __always_inline
#define FOLD_CALL      __noinline /* and not static: the verifier looks at it once */
#define fold_barrier() asm volatile("" ::: "memory")

static FOLD_INLINE struct fold_op *env_op(__u32 slot)
{
    return bpf_map_lookup_elem(&fold_ops, &slot);
}

static FOLD_INLINE __u64 *env_birth(__u32 slot)
{
    return bpf_map_lookup_elem(&fold_births, &slot);
}

static FOLD_INLINE struct fold_name *env_past(__u32 row)
{
    return bpf_map_lookup_elem(&fold_pasts, &row);
}

static FOLD_INLINE __u64 *env_cell(__u32 index)
{
    return bpf_map_lookup_elem(&fold_cells, &index);
}

static FOLD_INLINE struct fold_plan *env_plan(__u32 index)
{
    return bpf_map_lookup_elem(&fold_plans, &index);
}

static FOLD_INLINE struct fold_type *env_type(__u32 index)
{
    return bpf_map_lookup_elem(&fold_types, &index);
}

static FOLD_INLINE struct fold_workspace *env_workspace(void)
{
    __u32 index = 0;
    return bpf_map_lookup_elem(&fold_workspaces, &index);
}

static FOLD_INLINE long env_free_take(__u32 *slot)
{
    return bpf_map_pop_elem(&fold_free, slot);
}

static FOLD_INLINE void env_free_give(__u32 slot)
{
    bpf_map_push_elem(&fold_free, &slot, 0);
}

static FOLD_INLINE long env_answered_push(struct fold_ref ref)
{
    return bpf_map_push_elem(&fold_answered, &ref, 0);
}

static FOLD_INLINE long env_answered_peek(struct fold_ref *ref)
{
    return bpf_map_peek_elem(&fold_answered, ref);
}

static FOLD_INLINE long env_answered_pop(struct fold_ref *ref)
{
    return bpf_map_pop_elem(&fold_answered, ref);
}

/* The name that was found or bound last: rows of one hit, and hits that follow each other, ask for
 * the same op. */
struct fold_name fold_last_name = {};
struct fold_ref fold_last_ref = {};

static FOLD_INLINE bool fold_is_last(const struct fold_name *name)
{
    return fold_last_name.key == name->key && fold_last_name.pid == name->pid &&
           fold_last_name.kind == name->kind;
}

static FOLD_INLINE void fold_set_last(const struct fold_name *name, const struct fold_ref *ref)
{
    fold_last_name = *name;
    fold_last_ref = *ref;
}

static FOLD_INLINE struct fold_ref *env_name_find(const struct fold_name *name)
{
    if (fold_is_last(name))
        return &fold_last_ref;
    struct fold_ref *ref = bpf_map_lookup_elem(&fold_names, name);
    if (ref)
        fold_set_last(name, ref);
    return ref;
}

static FOLD_INLINE long env_name_put(const struct fold_name *name, const struct fold_ref *ref)
{
    long error = bpf_map_update_elem(&fold_names, name, ref, BPF_ANY);
    if (!error)
        fold_set_last(name, ref);
    return error;
}

static FOLD_INLINE void env_name_remove(const struct fold_name *name)
{
    if (fold_is_last(name))
        fold_last_name.pid = 0; /* which no process is */
    bpf_map_delete_elem(&fold_names, name);
}

static FOLD_INLINE struct fold_thread *env_thread(__u64 id, bool make)
{
    struct fold_thread *thread = bpf_map_lookup_elem(&fold_threads, &id);
    if (thread || !make)
        return thread;
    struct fold_thread none = {};
    bpf_map_update_elem(&fold_threads, &id, &none, BPF_NOEXIST);
    return bpf_map_lookup_elem(&fold_threads, &id);
}

static FOLD_INLINE struct fold_client *env_client(__u64 client)
{
    struct fold_client *row = bpf_map_lookup_elem(&fold_clients, &client);
    if (row)
        return row;
    struct fold_client none = {};
    bpf_map_update_elem(&fold_clients, &client, &none, BPF_NOEXIST);
    return bpf_map_lookup_elem(&fold_clients, &client);
}

/* The peer's row; FOLD_PEERS - 1 when there is none left. */
static FOLD_INLINE __u32 env_peer(__u64 peer)
{
    __u32 *row = bpf_map_lookup_elem(&fold_peers, &peer);
    if (row)
        return *row;
    if (fold_peer_count >= FOLD_PEERS - 1)
        return FOLD_PEERS - 1;
    __u32 fresh = fold_peer_count++;
    bpf_map_update_elem(&fold_peers, &peer, &fresh, BPF_NOEXIST);
    row = bpf_map_lookup_elem(&fold_peers, &peer);
    return row ? *row : FOLD_PEERS - 1;
}

static FOLD_INLINE long env_exemplar(struct fold_op *op)
{
    return bpf_ringbuf_output(&fold_exemplars, op, sizeof(*op), BPF_RB_NO_WAKEUP);
}

#include "op_fold_core.h"

/* Folds what is ripe; or ends it all. */
static FOLD_INLINE void fold_catch_up(void)
{
    if (fold_last_ns)
        fold_end_all(fold_last_ns);
    else
        fold_all_ripe(bpf_ktime_get_ns());
}

#endif
