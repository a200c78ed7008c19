// SPDX-License-Identifier: (MIT OR GPL-2.0)
/*
 * The uprobe family: one generic program for every site of every map. The site's cookie is the
 * index of its row in `sites`; the row says how to come to the key and the arguments.
 */
#include "vmlinux.h"
/* vmlinux.h has the fixed-width types; the headers of ours ask for <stdint.h> */
#define _STDINT_H
#include <bpf/bpf_helpers.h>

#include "event.h"
#include "op_fold.bpf.h"
#include "uprobe.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Set before loading. */
const volatile __u32 target_tgid = 0;
/* The pid namespace of the loader, for "process as user space names it"; 0: the initial one, where
 * the kernel's numbers are right as they are. */
const volatile __u64 namespace_device = 0;
const volatile __u64 namespace_inode = 0;
/* Raised by the loader with each reading: periods of loss begin anew. */
__u64 lost_epoch = 1;
/* Wall clock minus monotonic clock: the loader looks often. */
__u64 wall_offset_ns = 0;
/* What it was before the wall clock was set, 0: it was not. Stamps that were taken before are then
 * still on their way. */
__u64 old_wall_offset_ns = 0;
/* By point: its stamps are packed wall-clock times. */
bool utime_points[POINT_COUNT] = {};
/* What happens later is not told any more; 0: no such limit. */
__u64 cut_ns = 0;

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, UPROBE_MAX_SITES);
    __type(key, __u32);
    __type(value, struct uprobe_site);
} sites SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, UPROBE_MAX_TEXTS);
    __type(key, struct uprobe_text);
    __type(value, __u32);
} texts SEC(".maps");

/* Addresses of virtual tables, which tell of what class an object is. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, UPROBE_MAX_CLASSES);
    __type(key, __u64);
    __type(value, __u32);
} classes SEC(".maps");

/* By thread: when it last passed a site of the kind UPROBE_REMEMBER. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, UPROBE_MAX_THREADS);
    __type(key, __u32);
    __type(value, __u64);
} remembered SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, UPROBE_MAX_SITES);
    __type(key, __u32);
    __type(value, struct uprobe_counts);
} counts SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct uprobe_lost);
} lost SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 16 * 1024 * 1024); /* the loader may set another size */
} ring SEC(".maps");

/* The registers by enum uprobe_register. An array of our own, since the verifier wants constant
 * offsets into the context; variable ones into the stack it bears from Linux 5.13 on. */
struct registers {
    __u64 value[8];
};

static __always_inline void take_registers(struct pt_regs *ctx, struct registers *registers)
{
    registers->value[UPROBE_NONE] = 0;
    registers->value[UPROBE_RDI] = ctx->di;
    registers->value[UPROBE_RSI] = ctx->si;
    registers->value[UPROBE_RDX] = ctx->dx;
    registers->value[UPROBE_RCX] = ctx->cx;
    registers->value[UPROBE_R8] = ctx->r8;
    registers->value[UPROBE_R9] = ctx->r9;
    registers->value[UPROBE_RSP] = ctx->sp;
    /* the compiler must keep it in memory */
    asm volatile("" : : "r"(registers) : "memory");
}

/* Returns 0, or a negative number when an address could not be read. */
static __always_inline int fetch(const struct registers *registers, const struct uprobe_fetch *how,
                                 __u64 *result)
{
    if (how->reg == UPROBE_NONE) {
        *result = (__u64)(__s64)how->offsets[0];
        return 0;
    }
    if (how->reg == UPROBE_REMEMBERED) {
        __u32 thread = (__u32)bpf_get_current_pid_tgid();
        __u64 *time = bpf_map_lookup_elem(&remembered, &thread);
        *result = time ? *time : 0;
        if (time)
            *time = 0;
        return 0;
    }
    __u64 value = registers->value[how->reg & 7];
#pragma unroll
    for (int i = 0; i < UPROBE_MAX_LOADS; i++) {
        __u64 address = value + (__u64)(__s64)how->offsets[i];
        if (i < how->loads) {
            if (bpf_probe_read_user(&value, sizeof(value), (const void *)address))
                return -1;
        } else if (i == how->loads) {
            value = address;
        }
    }
    if (how->width == 4)
        value = (__u64)(__s64)(__s32)value;
    if (how->width == UPROBE_CLASS) {
        __u32 *number = bpf_map_lookup_elem(&classes, &value);
        value = number ? *number : 0;
    }
    *result = how->negate ? -value : value;
    return 0;
}

static __always_inline bool condition_holds(__u8 compare, __s64 value, __s64 with)
{
    switch (compare) {
    case UPROBE_EQUAL:
        return value == with;
    case UPROBE_UNEQUAL:
        return value != with;
    case UPROBE_LESS:
        return value < with;
    case UPROBE_GREATER:
        return value > with;
    default:
        return true;
    }
}

/* The point that the text names: an enum point, UPROBE_IGNORED, -1 for an unknown text, -2 when it
 * could not be read. */
static __always_inline int text_point(const struct registers *registers,
                                      const struct uprobe_site *site)
{
    struct uprobe_text text = {};
    __u64 length, address;
    if (fetch(registers, &site->length, &length) || fetch(registers, &site->text, &address))
        return -2;
    if (length > UPROBE_TEXT_BYTES)
        length = UPROBE_TEXT_BYTES;
    /* the compiler must not forget the bound, for the verifier wants to see it */
    asm volatile("" : "+r"(length));
    if (length > UPROBE_TEXT_BYTES)
        return -2;
    if (bpf_probe_read_user(text.bytes, length, (const void *)address))
        return -2;
    __u32 *point = bpf_map_lookup_elem(&texts, &text);
    return point ? (int)*point : -1;
}

static __always_inline void note_lost(__u64 now)
{
    __u32 zero = 0;
    struct uprobe_lost *row = bpf_map_lookup_elem(&lost, &zero);
    if (!row)
        return;
    row->count++;
    row->last_ns = now;
    if (row->epoch != lost_epoch) {
        row->epoch = lost_epoch;
        row->first_ns = now;
    }
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

static __always_inline void remember(__u64 now, struct uprobe_counts *count)
{
    __u32 thread = (__u32)bpf_get_current_pid_tgid();
    __u64 *time = bpf_map_lookup_elem(&remembered, &thread);
    count->ignored++;
    if (time)
        *time = now;
    else if (bpf_map_update_elem(&remembered, &thread, &now, BPF_ANY))
        count->faults++;
}

/* The point of this hit for the row: -1 when there is none, which is counted. */
static __always_inline int point_of(const struct registers *registers,
                                    const struct uprobe_site *site, struct uprobe_counts *count)
{
    __u64 when = 0;
    int point = site->point;
    if (site->kind == UPROBE_TEXT)
        point = text_point(registers, site);
    if (point == -1)
        count->unknown_text++;
    else if (point == -2)
        count->faults++;
    else if (point == UPROBE_IGNORED)
        count->ignored++;
    else if (site->compare == UPROBE_ALWAYS)
        return point;
    else if (fetch(registers, &site->when, &when))
        count->faults++;
    else if (condition_holds(site->compare, (__s64)when, site->when_value))
        return point;
    else
        count->ignored++;
    return -1;
}

/* Turns a packed utime_t (low half seconds, high half ns, wall clock) into monotonic ns, by the
 * offset that puts it closest before now. False when it was never set, or lies before the boot. */
static __always_inline bool convert_stamp(int point, __u64 now, __u64 *arg0)
{
    __u32 row = (__u32)point;
    if (row >= POINT_COUNT || !utime_points[row])
        return true;
    if (fold_points[row].role != ROLE_STAMP) {
        *arg0 = 0; /* the same argument, of no meaning for this point */
        return true;
    }
    __u64 wall = (*arg0 & 0xffffffff) * 1000000000ull + (*arg0 >> 32);
    if (wall <= wall_offset_ns)
        return false;
    *arg0 = wall - wall_offset_ns;
    if (old_wall_offset_ns && wall > old_wall_offset_ns) {
        __u64 other = wall - old_wall_offset_ns;
        if (other <= now && (*arg0 > now || other > *arg0))
            *arg0 = other;
    }
    return true;
}

/* Serves one row with the hit. */
static __always_inline void serve(const struct registers *registers, const struct uprobe_site *site,
                                  struct uprobe_counts *count, __u64 now, __u32 pid, __u32 tid)
{
    if (site->kind == UPROBE_REMEMBER) {
        remember(now, count);
        return;
    }
    __u64 key, arg0, arg1;
    int point = point_of(registers, site, count);
    if (point < 0)
        return;
    if (fetch(registers, &site->key, &key) || fetch(registers, &site->arg0, &arg0) ||
        fetch(registers, &site->arg1, &arg1)) {
        count->faults++;
        return;
    }
    if (site->arg0.reg == UPROBE_REMEMBERED && arg0 == 0) {
        count->ignored++; /* it began before we did */
        return;
    }

    if (!convert_stamp(point, now, &arg0)) {
        count->unset_stamps++;
        return;
    }
    if (count->first_ns == 0)
        count->first_ns = now;
    count->last_ns = now;
    if (fold_on) {
        struct fold_event one = {now, key, arg0, arg1, pid, tid, (__u32)point};
        fold_handle(&one);
        if (!events_on) {
            __sync_fetch_and_add(&count->events, 1);
            return;
        }
    }
    struct optrail_event *event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0);
    if (!event) {
        count->lost++;
        note_lost(now);
        return;
    }
    event->time_ns = now;
    event->key = key;
    event->arg0 = arg0;
    event->arg1 = arg1;
    event->pid = pid;
    event->tid = tid;
    event->point = (__u16)point;
    event->cpu = (__u16)bpf_get_smp_processor_id();
    event->flags = 0;
    __sync_fetch_and_add(&count->events, 1);
    /* waking the reader costs the daemon far more than the event does: the reader polls */
    bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

static __always_inline int handle(struct pt_regs *ctx)
{
    __u64 now = bpf_ktime_get_ns();
    __u32 pid, tid;
    if (!is_target(&pid, &tid) || (cut_ns && now > cut_ns))
        return 0;

    struct registers registers;
    take_registers(ctx, &registers);
    __u32 index = (__u32)bpf_get_attach_cookie(ctx);
    for (int i = 0; i < UPROBE_MAX_CHAIN; i++) {
        struct uprobe_site *site = bpf_map_lookup_elem(&sites, &index);
        struct uprobe_counts *count = bpf_map_lookup_elem(&counts, &index);
        if (!site || !count)
            return 0;
        serve(&registers, site, count, now, pid, tid);
        index = site->next;
        if (index == 0)
            return 0;
    }
    return 0;
}

/* The same program twice, for the kernel wants to know at load time how it will be attached. */
SEC("uprobe")
int uprobe_multi(struct pt_regs *ctx)
{
    return handle(ctx);
}

SEC("uprobe")
int uprobe_single(struct pt_regs *ctx)
{
    return handle(ctx);
}
