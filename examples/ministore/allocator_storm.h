/* SPDX-License-Identifier: MIT */
#ifndef MINISTORE_ALLOCATOR_STORM_H
#define MINISTORE_ALLOCATOR_STORM_H

#include <stdint.h>

/*
 * A disease: all threads allocate from one arena, blocks that no thread caches, and free what
 * others have allocated; growing blocks are copied under the arena's lock (glibc's realloc).
 * Without it ops hardly meet in the allocator.
 */

/* Makes malloc so, before any thread is started. `rounds`: of each op, 0: no storm. */
void allocator_storm_prepare(uint64_t rounds);

/* An op's part of it. Counted as storm_ops and storm_ns. */
void allocator_storm(void);

#endif
