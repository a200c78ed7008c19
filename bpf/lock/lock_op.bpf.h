/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
#ifndef OPTRAIL_LOCK_OP_BPF_H
#define OPTRAIL_LOCK_OP_BPF_H

/*
 * Which op a thread works for, and how far that one is: read from the maps of the fold in the
 * kernel, if uprobes tell of this process's ops. The loader puts those maps in the place of these.
 */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 1);
    __type(key, __u64);
    __type(value, struct fold_thread);
} fold_threads SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct fold_op);
} fold_ops SEC(".maps");

struct lock_op {
    __u64 key;
    __u16 point;
};

/* The op's last mark, if it is still there: others may be adding to it, or it may have ended. */
static __always_inline __u16 last_point(const struct fold_op *op)
{
    __u32 count = op->count;
    if (count == 0 || count > FOLD_MARKS)
        return LOCK_WAIT_NO_POINT;
    const struct fold_mark *mark = &op->marks[(count - 1) & (FOLD_MARKS - 1)];
    return mark->point != FOLD_NO_POINT ? mark->point : LOCK_WAIT_NO_POINT;
}

/* The newest of the thread's ops that is still open, as fold_current() has it; nothing is changed.
 */
static __always_inline bool find_op(__u32 pid, __u32 tid, __u64 now, struct lock_op *found)
{
    if (!has_ops)
        return false;
    __u64 id = (__u64)pid << 32 | tid;
    const struct fold_thread *thread = bpf_map_lookup_elem(&fold_threads, &id);
    if (!thread)
        return false;
    __u32 top = thread->top, height = thread->height;
    for (__u32 i = 0; i < FOLD_DEPTH; i++) {
        if (i >= height)
            return false;
        struct fold_ref ref = thread->stack[(top - 1 - i) & (FOLD_DEPTH - 1)];
        const struct fold_op *op = bpf_map_lookup_elem(&fold_ops, &ref.slot);
        if (!op || op->state != ref.state || (op->answered == 2 && op->open_branches <= 0) ||
            (now > op->start_ns && now - op->start_ns > op_timeout_ns))
            continue;
        found->key = op->key;
        found->point = last_point(op);
        return true;
    }
    return false;
}

#endif
