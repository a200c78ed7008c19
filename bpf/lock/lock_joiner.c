/* SPDX-License-Identifier: MIT */
#include "lock_joiner.h"

#include <stdlib.h>

#include "err.h"
#include "wait_kinds.h"

/* A thread's last wait. */
struct held_wait {
    struct lock_wait wait;
    struct watched_process *process; /* weak */
    uint32_t owner;                  /* as the process names it; 0: the word named none */
    uint32_t acquisition;
    bool taken; /* a row in use: of this thread, whether it holds something or not */
    bool held;
};

/* Which kind of lock an address was last. */
#define KNOWN_LOCKS 16384
struct known_lock {
    uint64_t lock;
    uint32_t pid;
    uint8_t family;
};

struct lock_joiner {
    const struct lock_stacks *stacks;   /* weak */
    struct lock_capture_counts *counts; /* weak */
    struct held_wait *rows;             /* owned; open addressing by thread */
    size_t row_count, used;             /* a power of two */
    struct known_lock known[KNOWN_LOCKS];
};

static size_t hash_thread(uint32_t pid, uint32_t tid)
{
    uint64_t hash = ((uint64_t)pid << 32 | tid) * 0x9e3779b97f4a7c15ull;
    return (size_t)(hash >> 32);
}

struct lock_joiner *lock_joiner_create(const struct lock_stacks *stacks,
                                       struct lock_capture_counts *counts)
{
    struct lock_joiner *waits = calloc(1, sizeof(*waits));
    if (waits) {
        waits->stacks = stacks;
        waits->counts = counts;
        waits->row_count = 1024;
        waits->rows = calloc(waits->row_count, sizeof(*waits->rows));
    }
    if (!waits || !waits->rows) {
        lock_joiner_free(waits);
        err_no_memory();
        return NULL;
    }
    return waits;
}

void lock_joiner_free(struct lock_joiner *waits)
{
    if (!waits)
        return;
    free(waits->rows);
    free(waits);
}

static struct held_wait *place_of(struct held_wait *rows, size_t row_count, uint32_t pid,
                                  uint32_t tid)
{
    size_t at = hash_thread(pid, tid) & (row_count - 1);
    while (rows[at].taken && (rows[at].wait.tid != tid || rows[at].wait.pid != pid))
        at = (at + 1) & (row_count - 1);
    return &rows[at];
}

/* Rows that hold nothing are left behind: their threads may have ended. */
static int grow(struct lock_joiner *waits)
{
    size_t held = 0;
    for (size_t i = 0; i < waits->row_count; i++)
        held += waits->rows[i].held;
    size_t count = 1024;
    while (count < 4 * held)
        count *= 2;
    struct held_wait *rows = calloc(count, sizeof(*rows));
    if (!rows)
        return err_no_memory();
    for (size_t i = 0; i < waits->row_count; i++)
        if (waits->rows[i].held)
            *place_of(rows, count, waits->rows[i].wait.pid, waits->rows[i].wait.tid) =
                waits->rows[i];
    free(waits->rows);
    waits->rows = rows;
    waits->row_count = count;
    waits->used = held;
    return 0;
}

/* Kinds that one lock may appear as. */
static uint8_t family_of(uint16_t kind)
{
    switch (kind) {
    case WAIT_mutex:
    case WAIT_mutex_shared:
    case WAIT_mutex_pi:
    case WAIT_mutex_timed:
        return WAIT_mutex;
    case WAIT_rwlock_read:
    case WAIT_rwlock_write:
        return WAIT_rwlock_read;
    case WAIT_condvar:
    case WAIT_condvar_idle:
    case WAIT_condvar_internal:
        return WAIT_condvar;
    default:
        return (uint8_t)kind;
    }
}

static void note_lock(struct lock_joiner *waits, const struct lock_wait *wait)
{
    struct known_lock *known =
        &waits->known[(hash_thread(wait->pid, (uint32_t)(wait->lock >> 3))) % KNOWN_LOCKS];
    uint8_t family = family_of(wait->kind);
    if (known->lock == wait->lock && known->pid == wait->pid && known->family != family)
        waits->counts->address_reused++;
    *known = (struct known_lock){wait->lock, wait->pid, family};
}

/* The kind as the stack tells it, where the futex call alone does not. */
static uint16_t kind_of(const struct lock_joiner *waits, const struct lock_record *record)
{
    const struct lock_stack_text *stack = lock_stacks_find(waits->stacks, record->stack);
    if (record->kind == WAIT_condvar && record->flags & LOCK_RECORD_IDLE)
        return WAIT_condvar_idle;
    if (!stack)
        return record->kind;
    if (record->kind == WAIT_allocator && stack->hint == STACK_OF_LIBC)
        return WAIT_libc;
    if (record->kind == WAIT_futex && stack->hint == STACK_OF_GUARD)
        return WAIT_once;
    return record->kind;
}

static uint16_t flags_of(uint16_t flags)
{
    return (uint16_t)((flags & LOCK_RECORD_GAVE_UP ? LOCK_WAIT_GAVE_UP : 0) |
                      (flags & LOCK_RECORD_OWNER_DIED ? LOCK_WAIT_ROBUST : 0) |
                      (flags & LOCK_RECORD_OWNERLESS ? LOCK_WAIT_OWNERLESS : 0) |
                      (flags & LOCK_RECORD_UNFINISHED ? LOCK_WAIT_UNFINISHED : 0));
}

/* Who the lock's word says has it; counts what it does not say. Not before the wait is handed on:
 * an owner that ended after it is told to have ended only then. */
static void find_owner(struct lock_joiner *waits, struct held_wait *held, uint64_t now)
{
    struct lock_wait *wait = &held->wait;
    if (!wait_kind_rows[wait->kind].owned)
        return;
    if (held->owner)
        wait->owner_tid = watched_process_tid(held->process, held->owner, wait->begin_ns, now);
    if (wait->owner_tid)
        return;
    wait->flags |= LOCK_WAIT_OWNERLESS;
    if (held->owner)
        waits->counts->owner_gone++;
    else
        waits->counts->owner_unknown++;
}

/* The owner's time up to the release; what is not known of it stays out. */
static void add_meanwhile(struct lock_wait *wait, const struct lock_record *record)
{
    wait->running_ns += record->meanwhile[LOCK_STATE_RUNNING];
    wait->runnable_ns += record->meanwhile[LOCK_STATE_RUNNABLE];
    wait->disk_ns += record->meanwhile[LOCK_STATE_DISK];
    wait->asleep_ns += record->meanwhile[LOCK_STATE_ASLEEP];
    wait->chain_ns += record->meanwhile[LOCK_STATE_CHAIN];
    if (record->meanwhile[LOCK_STATE_CHAIN])
        wait->chain_lock = record->chain_lock;
}

static void set_end(struct held_wait *held, const struct lock_record *record)
{
    struct lock_wait *wait = &held->wait;
    wait->end_ns = record->end_ns;
    wait->hold_ns = record->hold_ns;
    wait->releaser_tid = record->releaser;
    wait->holder_stack = record->holder_stack;
    wait->futex_calls++;
    if (record->weight > wait->weight)
        wait->weight = record->weight;
    add_meanwhile(wait, record);
}

static int hand_on(struct lock_joiner *waits, struct held_wait *held, uint64_t now,
                   lock_wait_callback *callback, void *context)
{
    struct lock_capture_counts *counts = waits->counts;
    struct lock_wait *wait = &held->wait;
    const struct lock_stack_text *stack = lock_stacks_find(waits->stacks, wait->stack);
    uint64_t waited = (wait->end_ns - wait->begin_ns) * wait->weight;
    if (stack)
        counts->ended_ns[stack->end] += waited;
    else
        counts->no_stack_ns += waited;
    find_owner(waits, held, now);
    if (wait_kind_rows[wait->kind].owned) {
        counts->releaser_unknown += wait->releaser_tid == 0;
        counts->hold_unmeasured += wait->hold_ns == 0;
    }
    counts->delivered++;
    held->held = false;
    return callback(context, wait);
}

int lock_joiner_add(struct lock_joiner *waits, struct watched_process *process,
                    const struct lock_record *record, uint64_t now, lock_wait_callback *callback,
                    void *context)
{
    if (2 * waits->used >= waits->row_count) {
        int error = grow(waits);
        if (error)
            return error;
    }
    struct held_wait *held = place_of(waits->rows, waits->row_count, record->pid, record->tid);
    waits->used += !held->taken;
    held->taken = true;
    if (held->held && record->flags & LOCK_RECORD_CONTINUES &&
        held->acquisition == record->acquisition) {
        waits->counts->joined++;
        held->wait.flags |= flags_of(record->flags & (uint16_t)~LOCK_RECORD_OWNERLESS);
        if (!held->owner && record->owner) { /* the first that is known of those who had it */
            held->owner = record->owner;
            held->wait.flags &= (uint16_t)~LOCK_WAIT_OWNERLESS;
        }
        set_end(held, record);
        return 0;
    }
    int error = held->held ? hand_on(waits, held, now, callback, context) : 0;
    held->wait = (struct lock_wait){
        .begin_ns = record->begin_ns,
        .lock = record->lock,
        .pid = record->pid,
        .tid = record->tid,
        .stack = record->stack,
        .kind = kind_of(waits, record),
        .point = LOCK_WAIT_NO_POINT,
        .holder_point = LOCK_WAIT_NO_POINT,
        .flags = flags_of(record->flags),
    };
    held->acquisition = record->acquisition;
    held->held = true;
    held->process = process;
    held->owner = record->owner;
    set_end(held, record);
    note_lock(waits, &held->wait);
    return error;
}

int lock_joiner_flush(struct lock_joiner *waits, uint64_t now, uint64_t held_ns,
                      lock_wait_callback *callback, void *context)
{
    int error = 0;
    for (size_t i = 0; i < waits->row_count && !error; i++) {
        struct held_wait *held = &waits->rows[i];
        if (held->held && (held->wait.end_ns + held_ns <= now || held_ns == 0))
            error = hand_on(waits, held, now, callback, context);
    }
    return error;
}
