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
#include "uprobe_hit.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Raised by the loader with each reading: periods of loss begin anew. */
__u64 lost_epoch = 1;
/* Wall clock minus monotonic clock: the loader looks often. */
__u64 wall_offset_ns = 0;
/* What it was before the wall clock was set, 0: it was not. Stamps that were taken before are then
 * still on their way. */
__u64 old_wall_offset_ns = 0;
/* By point: its stamps are packed wall-clock times. */
bool utime_points[POINT_COUNT] = {};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, UPROBE_MAX_SITES);
    __type(key, __u32);
    __type(value, struct uprobe_site);
} sites SEC(".maps");

/* Addresses of virtual tables, which tell of what class an object is. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, UPROBE_MAX_CLASSES);
    __type(key, __u64);
    __type(value, __u32);
} classes SEC(".maps");

/* Those that were asked for last, and their numbers: rows of one hit ask for the same, and most
 * hits for a few. No table lies at 0, whose number is 0. */
#define KNOWN_CLASSES 16
__u64 known_classes[KNOWN_CLASSES] = {};
__u64 known_numbers[KNOWN_CLASSES] = {};

/* By thread: when it last passed a site of the kind UPROBE_REMEMBER. A row for each number that a
 * thread may have, modulo the rows: an array is asked for a tenth of what a table costs. */
struct remembered_time {
    __u64 thread;
    __u64 time_ns; /* 0: none */
};
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, UPROBE_MAX_THREADS);
    __type(key, __u32);
    __type(value, struct remembered_time);
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

/* Of the record that was read last. */
__u32 hits_lost_read = 0;
/* By row: the number that it told last. */
__u64 told_through[UPROBE_MAX_SITES] = {};
/* The values of the record at hand. */
__u64 drained[UPROBE_MAX_VALUES] = {};

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 16 * 1024 * 1024); /* the loader may set another size */
} ring SEC(".maps");

static __always_inline struct remembered_time *remembered_row(__u32 thread)
{
    __u32 row = thread & (UPROBE_MAX_THREADS - 1);
    return bpf_map_lookup_elem(&remembered, &row);
}

/* The number of the class whose virtual table lies there; 0: none of the map's. The map is filled
 * before the first hit. */
static __always_inline __u64 class_number(__u64 table)
{
    __u32 row = table / 8 % KNOWN_CLASSES;
    if (known_classes[row] != table) {
        __u32 *number = bpf_map_lookup_elem(&classes, &table);
        known_classes[row] = table;
        known_numbers[row] = number ? *number : 0;
    }
    return known_numbers[row];
}

/* The row's value, as a number: `which` it is of the hit's values, if it is one. `thread`: whose
 * memory is asked, if it is. */
static __always_inline __u64 settle(const struct uprobe_fetch *how, __u32 which, __u32 thread)
{
    if (how->reg == UPROBE_REMEMBERED) {
        struct remembered_time *row = remembered_row(thread);
        if (!row || row->thread != thread)
            return 0;
        __u64 told = row->time_ns;
        row->time_ns = 0;
        return told;
    }
    if (how->reg == UPROBE_NONE)
        return (__u64)(__s64)how->offsets[0];
    __u64 value = drained[which & (UPROBE_MAX_VALUES - 1)];
    if (how->width == 4)
        value = (__u64)(__s64)(__s32)value;
    if (how->width == UPROBE_CLASS)
        value = class_number(value);
    return how->negate ? -value : value;
}

/* Whether the value was to be read, and could not be. */
static __always_inline bool is_fault(const struct uprobe_record *record,
                                     const struct uprobe_fetch *how, __u32 which)
{
    return how->reg != UPROBE_NONE && how->reg != UPROBE_REMEMBERED &&
           (record->faults >> (which & (UPROBE_MAX_VALUES - 1)) & 1);
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

static __always_inline void remember(const struct uprobe_record *record,
                                     struct uprobe_counts *count)
{
    struct remembered_time *row = remembered_row(record->tid);
    count->ignored++;
    if (!row)
        return;
    /* the time of another thread is gone */
    if (row->time_ns && row->thread != record->tid)
        count->faults++;
    row->thread = record->tid;
    row->time_ns = record->time_ns;
}

/* The point of this hit for the row: -1 when there is none, which is counted. */
static __always_inline int point_of(const struct uprobe_record *record,
                                    const struct uprobe_site *site, struct uprobe_counts *count)
{
    int point = site->point;
    if (site->kind == UPROBE_TEXT)
        point = (int)drained[site->values[UPROBE_VALUE_TEXT] & (UPROBE_MAX_VALUES - 1)];
    __u32 when = site->values[UPROBE_VALUE_WHEN];
    if (point == UPROBE_TEXT_UNKNOWN)
        count->unknown_text++;
    else if (point == UPROBE_TEXT_UNREAD)
        count->faults++;
    else if (point == UPROBE_IGNORED)
        count->ignored++;
    else if (site->compare == UPROBE_ALWAYS)
        return point;
    else if (is_fault(record, &site->when, when))
        count->faults++;
    else if (condition_holds(site->compare, (__s64)settle(&site->when, when, record->tid),
                             site->when_value))
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

/* Tells of an event: the fold, the reader of events, or both. */
static __always_inline void emit(struct fold_event *one, __u16 cpu, struct uprobe_counts *count)
{
    if (fold_on) {
        fold_take(one);
        if (!events_on) {
            count->events++;
            return;
        }
    }
    struct optrail_event *event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0);
    if (!event) {
        count->lost++;
        note_lost(one->time_ns);
        return;
    }
    event->time_ns = one->time_ns;
    event->key = one->key;
    event->arg0 = one->arg0;
    event->arg1 = one->arg1;
    event->pid = one->pid;
    event->tid = one->tid;
    event->point = (__u16)one->point;
    event->cpu = cpu;
    event->flags = 0;
    count->events++;
    /* the reader comes by itself */
    bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

/* Tells of the first number behind the one that the row told last. Returns whether there are more.
 * How many of them somebody wants to hear of is not known here: at the first hit it is as many as
 * one hit can tell. */
static __always_inline bool emit_through(struct fold_event *one, __u32 row, __u16 cpu,
                                         struct uprobe_counts *count)
{
    __u64 *told = &told_through[row & (UPROBE_MAX_SITES - 1)];
    __u64 until = one->key;
    if (until == *told) {
        count->ignored++;
        return false;
    }
    __u64 from = until > UPROBE_THROUGH ? until - UPROBE_THROUGH + 1 : 1;
    if (*told >= from && *told < until)
        from = *told + 1;
    *told = one->key = from;
    emit(one, cpu, count);
    count->beside += from < until;
    return from < until;
}

/* Tells what a record means for one of its rows. Returns whether the row has more to tell. */
static __always_inline bool tell(const struct uprobe_record *record, const struct uprobe_site *site,
                                 __u32 row, struct uprobe_counts *count)
{
    __u64 now = record->time_ns;
    if (site->kind == UPROBE_REMEMBER) {
        remember(record, count);
        return false;
    }
    int point = point_of(record, site, count);
    if (point < 0)
        return false;
    if (is_fault(record, &site->key, site->values[UPROBE_VALUE_KEY]) ||
        is_fault(record, &site->arg0, site->values[UPROBE_VALUE_ARG0]) ||
        is_fault(record, &site->arg1, site->values[UPROBE_VALUE_ARG1])) {
        count->faults++;
        return false;
    }
    __u64 key = settle(&site->key, site->values[UPROBE_VALUE_KEY], record->tid);
    __u64 arg0 = settle(&site->arg0, site->values[UPROBE_VALUE_ARG0], record->tid);
    __u64 arg1 = settle(&site->arg1, site->values[UPROBE_VALUE_ARG1], record->tid);
    if (site->arg0.reg == UPROBE_REMEMBERED && arg0 == 0) {
        count->ignored++; /* it began before we did */
        return false;
    }
    if (site->positive && (__s64)arg0 <= 0) {
        count->ignored++;
        return false;
    }
    if (!convert_stamp(point, now, &arg0)) {
        count->unset_stamps++;
        return false;
    }
    if (count->first_ns == 0 || now < count->first_ns)
        count->first_ns = now;
    if (now > count->last_ns)
        count->last_ns = now;
    struct fold_event one = {now, key, arg0, arg1, target_tgid, record->tid, (__u32)point};
    if (site->through)
        return emit_through(&one, row, record->cpu, count);
    emit(&one, record->cpu, count);
    return false;
}

#define UPROBE_MORE_LINES                                                                          \
    ((UPROBE_MAX_VALUES - UPROBE_HEAD_VALUES + UPROBE_LINE_VALUES - 1) / UPROBE_LINE_VALUES)

/* Fetches the values of a record whose head is at hand. */
static __always_inline void take_values(const struct uprobe_record *record, __u64 at, __u32 count)
{
    for (int i = 0; i < UPROBE_HEAD_VALUES; i++)
        drained[i] = record->values[i];
    for (int line = 0; line < UPROBE_MORE_LINES; line++) {
        int from = UPROBE_HEAD_VALUES + line * UPROBE_LINE_VALUES;
        __u32 row = (at + 1 + line) & (UPROBE_LINES - 1);
        if (count <= from)
            return;
        const union uprobe_line *more = bpf_map_lookup_elem(&records, &row);
        if (!more)
            return;
        for (int i = 0; i < UPROBE_LINE_VALUES; i++)
            drained[from + i] = more->words[UPROBE_FIRST_WORD + i];
    }
}

#define ROW_HAS_MORE 0x10000

/* Takes the record at `at` for one of its rows, the values fetched. Returns the next row, 0: none;
 * or this one with ROW_HAS_MORE. A function of its own for the verifier, which looks at it once. */
__noinline int take_row(__u32 at, __u32 index)
{
    struct uprobe_record *record = bpf_map_lookup_elem(&records, &at);
    struct uprobe_site *site = bpf_map_lookup_elem(&sites, &index);
    struct uprobe_counts *count = bpf_map_lookup_elem(&counts, &index);
    if (!record || !site || !count)
        return 0;
    return tell(record, site, index, count) ? index | ROW_HAS_MORE : site->next;
}

/* Takes the next record. Returns 0, or 1 when there is none. Called by the loader alone, so nobody
 * else counts and folds at the same time. */
__noinline int take_record(void)
{
    __u64 at = records_read[0];
    __u32 row = at & (UPROBE_LINES - 1);
    struct uprobe_record *record = bpf_map_lookup_elem(&records, &row);
    if (!record || *(volatile __u64 *)&record->ticket != at + 1)
        return 1;
    fold_barrier();
    if (record->lost != hits_lost_read) {
        hits_lost_read = record->lost;
        if (fold_on)
            fold_lose_all();
    }
    __u32 index = record->site;
    const struct uprobe_hit *hit = bpf_map_lookup_elem(&hits, &index);
    if (!hit)
        return 1;
    take_values(record, at, hit->count);
    for (int i = 0; i < UPROBE_MAX_CHAIN + UPROBE_THROUGH; i++) {
        __u32 next = take_row(row, index);
        if (next == 0)
            break;
        index = next & (ROW_HAS_MORE - 1);
    }
    fold_barrier();
    records_read[0] = at + hit->lines;
    return 0;
}

/* For the loader, by BPF_PROG_TEST_RUN: takes the next records. Returns 1 when there may be more.
 * It takes few at once, for it cannot be put aside. Or it lets the fold catch up: one program for
 * both, for each one more takes the verifier its time. */
SEC("raw_tp")
int uprobe_drain(void *ctx)
{
    if (fold_on && fold_catching_up) {
        fold_catch_up();
        return 0;
    }
    for (int i = 0; i < UPROBE_DRAIN; i++)
        if (take_record())
            return 0;
    return 1;
}

/* There is no room for the hit's record: each row's count says so. */
static __always_inline void lose(__u32 index, __u64 now)
{
    __sync_fetch_and_add(&hits_lost[0], 1);
    for (int i = 0; i < UPROBE_MAX_CHAIN; i++) {
        struct uprobe_site *site = bpf_map_lookup_elem(&sites, &index);
        struct uprobe_counts *count = bpf_map_lookup_elem(&counts, &index);
        if (!site || !count)
            return;
        count->lost++;
        note_lost(now);
        index = site->next;
        if (index == 0)
            return;
    }
}

static __always_inline int handle(struct pt_regs *ctx)
{
    __u64 now = bpf_ktime_get_ns();
    __u32 pid, tid;
    if (!is_target(&pid, &tid) || (cut_ns && now > cut_ns))
        return 0;

    __u32 index = (__u32)bpf_get_attach_cookie(ctx);
    struct uprobe_hit *hit = bpf_map_lookup_elem(&hits, &index);
    __u64 number;
    if (!hit)
        return 0;
    if (!reserve(hit->lines, &number)) {
        lose(index, now);
        return 0;
    }
    __u32 row = number & (UPROBE_LINES - 1);
    union uprobe_line *line = bpf_map_lookup_elem(&records, &row);
    if (!line)
        return 0;
    struct uprobe_record *record = &line->head;
    record->time_ns = now;
    record->tid = tid;
    record->site = (__u16)index;
    record->cpu = (__u16)bpf_get_smp_processor_id();
    record->faults = 0;
    if (hit->count > 0) {
        struct scratch scratch;
        take_registers(ctx, &scratch);
        record->faults = write_values(number, hit, &scratch);
    }
    record->lost = (__u32) * (volatile __u64 *)&hits_lost[0];
    fold_barrier();
    *(volatile __u64 *)&record->ticket = number + 1;
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
