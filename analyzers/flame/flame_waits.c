/* SPDX-License-Identifier: MIT */
#include "flame_waits.h"

#include <stdbool.h>
#include <stdlib.h>

#include "err.h"

#define BUCKETS 16384u
#define THREADS 8192u
#define NONE    UINT32_MAX
#define SKIPPED (UINT32_MAX - 1) /* what the thread told last is not wanted */

struct kept {
    struct flame_wait wait;
    uint32_t next; /* in its bucket, or in the list of free rows */
    bool used;
};

/* The wait that a thread told last. A thread that falls on the same row takes it over. */
struct teller {
    uint32_t pid, tid;
    uint32_t row;
};

struct flame_waits {
    flame_wait_callback *callback;
    void *context; /* weak */
    uint64_t unpaired;
    uint32_t free; /* first free row */
    uint32_t buckets[BUCKETS];
    struct teller tellers[THREADS];
    struct kept rows[FLAME_WAITS];
};

int flame_waits_new(flame_wait_callback *callback, void *context, struct flame_waits **waits)
{
    struct flame_waits *made = calloc(1, sizeof(*made));
    if (!made)
        return err_no_memory();
    made->callback = callback;
    made->context = context;
    for (uint32_t i = 0; i < BUCKETS; i++)
        made->buckets[i] = NONE;
    for (uint32_t i = 0; i < THREADS; i++)
        made->tellers[i].row = NONE;
    for (uint32_t i = 0; i < FLAME_WAITS; i++)
        made->rows[i].next = i + 1 < FLAME_WAITS ? i + 1 : NONE;
    *waits = made;
    return 0;
}

void flame_waits_free(struct flame_waits *waits)
{
    free(waits);
}

static uint32_t bucket_of(uint32_t pid, uint64_t op)
{
    return (uint32_t)((op ^ (uint64_t)pid << 40) * 0x9e3779b97f4a7c15ull >> 50) & (BUCKETS - 1);
}

static struct teller *teller_of(struct flame_waits *waits, uint32_t pid, uint32_t tid)
{
    uint64_t hash = ((uint64_t)pid << 32 | tid) * 0x9e3779b97f4a7c15ull;
    return &waits->tellers[hash >> 51 & (THREADS - 1)];
}

static void release(struct flame_waits *waits, uint32_t row)
{
    waits->rows[row].used = false;
    waits->rows[row].next = waits->free;
    waits->free = row;
}

/* The thread tells of something new: what it told before is complete. One of no op is handed over.
 */
static int settle(struct flame_waits *waits, struct teller *teller)
{
    uint32_t row = teller->row;
    teller->row = NONE;
    if (row == NONE || row == SKIPPED || !waits->rows[row].used || waits->rows[row].wait.op != 0 ||
        waits->rows[row].wait.pid != teller->pid || waits->rows[row].wait.tid != teller->tid)
        return 0;
    struct flame_wait wait = waits->rows[row].wait;
    release(waits, row);
    return waits->callback(waits->context, &wait, 0);
}

/* Keeps the wait; *row is NONE when it was handed over because there is no room. */
static int keep(struct flame_waits *waits, const struct flame_wait *wait, uint32_t *row)
{
    *row = waits->free;
    if (*row == NONE)
        return waits->callback(waits->context, wait, 1);
    waits->free = waits->rows[*row].next;
    waits->rows[*row] = (struct kept){.wait = *wait, .next = NONE, .used = true};
    if (wait->op != 0) {
        uint32_t *bucket = &waits->buckets[bucket_of(wait->pid, wait->op)];
        waits->rows[*row].next = *bucket;
        *bucket = *row;
    }
    return 0;
}

int flame_waits_begin(struct flame_waits *waits, const struct flame_wait *wait)
{
    struct teller *teller = teller_of(waits, wait->pid, wait->tid);
    uint32_t row;
    int result = settle(waits, teller);
    if (result < 0)
        return result;
    result = keep(waits, wait, &row);
    *teller = (struct teller){wait->pid, wait->tid, row};
    return result;
}

int flame_waits_skip(struct flame_waits *waits, const struct optrail_event *event)
{
    struct teller *teller = teller_of(waits, event->pid, event->tid);
    int result = settle(waits, teller);
    *teller = (struct teller){event->pid, event->tid, SKIPPED};
    return result;
}

int flame_waits_add(struct flame_waits *waits, const struct flame_wait *wait)
{
    uint32_t row;
    return wait->op ? keep(waits, wait, &row) : waits->callback(waits->context, wait, 0);
}

struct flame_wait *flame_waits_last(struct flame_waits *waits, enum flame_wait_source source,
                                    const struct optrail_event *event)
{
    const struct teller *teller = teller_of(waits, event->pid, event->tid);
    struct kept *kept = teller->row < FLAME_WAITS ? &waits->rows[teller->row] : NULL;
    if (teller->row == SKIPPED && teller->pid == event->pid && teller->tid == event->tid)
        return NULL;
    if (!kept || !kept->used || kept->wait.pid != event->pid || kept->wait.tid != event->tid ||
        kept->wait.source != source ||
        (source == FLAME_WAIT_CAPTURED && kept->wait.lock.lock != event->key)) {
        waits->unpaired++;
        return NULL;
    }
    return &kept->wait;
}

int flame_waits_of_op(struct flame_waits *waits, uint32_t pid, uint64_t op, struct flame_wait *wait)
{
    for (uint32_t *at = &waits->buckets[bucket_of(pid, op)]; *at != NONE;
         at = &waits->rows[*at].next) {
        uint32_t row = *at;
        if (waits->rows[row].wait.pid != pid || waits->rows[row].wait.op != op)
            continue;
        *wait = waits->rows[row].wait;
        *at = waits->rows[row].next;
        release(waits, row);
        return 1;
    }
    return 0;
}

int flame_waits_flush(struct flame_waits *waits)
{
    int result = 0;
    for (uint32_t i = 0; result == 0 && i < FLAME_WAITS; i++)
        if (waits->rows[i].used) {
            waits->rows[i].used = false;
            result = waits->callback(waits->context, &waits->rows[i].wait, 0);
        }
    return result;
}

uint64_t flame_waits_unpaired(const struct flame_waits *waits)
{
    return waits->unpaired;
}
