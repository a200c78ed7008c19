/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
#ifndef OPTRAIL_UPROBE_HIT_BPF_H
#define OPTRAIL_UPROBE_HIT_BPF_H

#include "uprobe.h"

/*
 * What is done while the daemon waits: whether the hit is one of the target's, and its record, with
 * the values that its rows want. What they mean uprobe.bpf.c finds out later. Included after
 * bpf_helpers.h.
 */

/* Set before loading. */
const volatile __u32 target_tgid = 0;
/* The pid namespace of the loader, for "process as user space names it"; 0: the initial one, where
 * the kernel's numbers are right as they are. */
const volatile __u64 namespace_device = 0;
const volatile __u64 namespace_inode = 0;
/* What happens later is not told any more; 0: no such limit. */
__u64 cut_ns = 0;

/* By the first row of each hit. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, UPROBE_MAX_SITES);
    __type(key, __u32);
    __type(value, struct uprobe_hit);
} hits SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, UPROBE_MAX_TEXTS);
    __type(key, struct uprobe_text);
    __type(value, __u32);
} texts SEC(".maps");

/* The records of the hits. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE); /* so that records begin where cache lines do */
    __uint(max_entries, UPROBE_LINES);
    __type(key, __u32);
    __type(value, union uprobe_line);
} records SEC(".maps");

/* How far their lines are written, and read. Each has a cache line to itself, for the daemon's
 * threads write the one and the loader the other. And how many hits found no room: a record has the
 * number of its time, so that each loss shows in the next record, however many of them wait to be
 * read. */
__u64 records_written[8] = {};
__u64 records_read[8] = {};
__u64 hits_lost[8] = {};

/* The registers by enum uprobe_register, and what was read. Memory of our own, since the verifier
 * wants constant offsets into the context; variable ones into the stack it bears from Linux 5.13
 * on.
 */
struct scratch {
    __u64 words[UPROBE_SCRATCH / sizeof(__u64)];
};

static __always_inline void take_registers(struct pt_regs *ctx, struct scratch *scratch)
{
    scratch->words[UPROBE_NONE] = 0;
    scratch->words[UPROBE_RDI] = ctx->di;
    scratch->words[UPROBE_RSI] = ctx->si;
    scratch->words[UPROBE_RDX] = ctx->dx;
    scratch->words[UPROBE_RCX] = ctx->cx;
    scratch->words[UPROBE_R8] = ctx->r8;
    scratch->words[UPROBE_R9] = ctx->r9;
    scratch->words[UPROBE_RSP] = ctx->sp;
    /* what lies behind them is read only where it was written, which the verifier cannot know */
#pragma unroll
    for (int i = UPROBE_REGISTER_COUNT; i < UPROBE_SCRATCH / 8; i++)
        scratch->words[i] = 0;
    /* the compiler must keep it in memory */
    asm volatile("" : : "r"(scratch) : "memory");
}

/* The point that the text names: an enum point, UPROBE_IGNORED, or enum uprobe_text_fault. */
static __always_inline int text_point(__u64 length, __u64 address)
{
    struct uprobe_text text = {};
    if (length > UPROBE_TEXT_BYTES)
        length = UPROBE_TEXT_BYTES;
    /* the compiler must not forget the bound, for the verifier wants to see it */
    asm volatile("" : "+r"(length));
    if (length > UPROBE_TEXT_BYTES)
        return UPROBE_TEXT_UNREAD;
    if (bpf_probe_read_user(text.bytes, length, (const void *)address))
        return UPROBE_TEXT_UNREAD;
    __u32 *point = bpf_map_lookup_elem(&texts, &text);
    return point ? (int)*point : UPROBE_TEXT_UNKNOWN;
}

/* What was read last, and before that; whether it could be, a bit each. */
struct reading {
    __u64 value, before;
    __u64 faults;
};

/* The 8 bytes at a place in the scratch. */
static __always_inline __u64 pick(const struct scratch *scratch, __u32 at)
{
    if (at > UPROBE_SCRATCH - sizeof(__u64))
        return 0;
    return *(const __u64 *)((const char *)scratch + at);
}

/* Reads what lies in the daemon. Returns 0, or 1 when an address could not be read. A function of
 * its own for the verifier, which looks at it once. */
__noinline int fetch(struct scratch *scratch, struct uprobe_read *how, struct reading *reading)
{
    if (!scratch || !how || !reading)
        return 1;
    if (how->from == UPROBE_TEXT_FROM) {
        reading->value =
            reading->faults & 3 ? UPROBE_TEXT_UNREAD : text_point(reading->before, reading->value);
        return 0;
    }
    __u64 value = pick(scratch, how->from), address = 0, sum = 0;
    reading->before = reading->value;
    reading->value = 0;
    reading->faults = reading->faults << 1 | 1;
#pragma unroll
    for (int i = 0; i < UPROBE_MAX_LOADS; i++) {
        __u64 offset = (__u64)(__s64)how->offsets[i];
        if (i < how->loads) {
            if (i > 0 && bpf_probe_read_user(&value, sizeof(value), (const void *)address))
                return 1;
            address = value + offset;
        } else if (i == how->loads) {
            sum = offset;
        }
    }
    __u32 bytes = how->bytes, to = how->to;
    if (bytes > UPROBE_SPAN || to > UPROBE_LAST ||
        bpf_probe_read_user((char *)scratch + to, bytes, (const void *)address))
        return 1;
    value = pick(scratch, how->pick) + sum;
    reading->value = value;
    reading->faults &= ~1ull;
    return 0;
}

/* Whether the current task is the target's; fills pid and tid as the loader's namespace says. */
static __always_inline bool is_target(__u32 *pid, __u32 *tid)
{
    if (namespace_inode == 0) {
        __u64 both = bpf_get_current_pid_tgid();
        *pid = both >> 32;
        *tid = (__u32)both;
    } else {
        struct bpf_pidns_info info = {};
        if (bpf_get_ns_current_pid_tgid(namespace_device, namespace_inode, &info, sizeof(info)))
            return false;
        *pid = info.tgid;
        *tid = info.pid;
    }
    return *pid == target_tgid;
}

/* Room for so many lines: the number of the first. False when there is none. */
static __always_inline bool reserve(__u32 lines, __u64 *first)
{
    __u64 have = records_written[0];
    for (int i = 0; i < 16; i++) {
        if (have + lines - *(volatile __u64 *)&records_read[0] > UPROBE_LINES)
            return false;
        __u64 found = __sync_val_compare_and_swap(&records_written[0], have, have + lines);
        if (found == have) {
            *first = have;
            return true;
        }
        have = found;
    }
    return false;
}

/* Writes the values that are read at the hit, whose record begins with line `number`. Returns which
 * of them could not be read. A function of its own for the verifier. */
__noinline __u32 write_values(__u64 number, struct uprobe_hit *hit, struct scratch *scratch)
{
    __u32 row = number & (UPROBE_LINES - 1);
    union uprobe_line *line = bpf_map_lookup_elem(&records, &row);
    if (!line || !hit || !scratch)
        return 0;
    __u32 word = offsetof(struct uprobe_record, values) / sizeof(__u64);
    struct reading reading = {};
    __u32 faults = 0;
    for (__u32 i = 0; i < UPROBE_MAX_VALUES && i < hit->count; i++) {
        if (word == sizeof(line->words) / sizeof(line->words[0])) {
            row = ++number & (UPROBE_LINES - 1);
            line = bpf_map_lookup_elem(&records, &row);
            if (!line)
                return faults;
            line->words[UPROBE_TICKET_WORD] = 0;
            word = UPROBE_FIRST_WORD;
        }
        struct uprobe_read *how = &hit->reads[i];
        __u32 fault = faults >> (how->parent & 31);
        if (how->loads == 0 && how->from != UPROBE_TEXT_FROM) { /* without a call */
            reading.before = reading.value;
            reading.faults <<= 1;
            reading.value = pick(scratch, how->from) + (__u64)(__s64)how->offsets[0];
        } else {
            fault |= fetch(scratch, how, &reading);
        }
        faults |= (fault & 1) << i;
        line->words[word & 7] = reading.value;
        word++;
    }
    return faults;
}

#endif
