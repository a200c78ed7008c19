/* SPDX-License-Identifier: MIT */
#include "allocator_storm.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "clock.h"
#include "daemon_stats.h"

#define SLOTS 64 /* blocks that wait for another thread to free them */
#define BLOCK (64u << 10)

static uint64_t storm_rounds; /* constant once threads run */
static _Atomic(void *) slots[SLOTS];
static _Atomic uint64_t turn;

void allocator_storm_prepare(uint64_t rounds)
{
    storm_rounds = rounds;
    if (!rounds)
        return;
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

void allocator_storm(void)
{
    if (!storm_rounds)
        return;
    uint64_t begin = clock_now_ns();
    for (uint64_t i = 0; i < storm_rounds; i++) {
        uint64_t slot = atomic_fetch_add_explicit(&turn, 2, memory_order_relaxed) % SLOTS;
        void *block = malloc(BLOCK);
        void *barrier = malloc(BLOCK); /* mostly right behind it: it cannot grow where it is */
        void *larger = realloc(block, 2 * BLOCK);
        free(atomic_exchange(&slots[slot], larger ? larger : block));
        free(atomic_exchange(&slots[slot + 1], barrier));
    }
    stats_add(storm_ops, 1);
    stats_add(storm_ns, clock_now_ns() - begin);
}
