/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_FLAME_POOLS_H
#define OPTRAIL_FLAME_POOLS_H

#include <stddef.h>
#include <stdint.h>

/* Sums of time by thread pool, bounded: pools that find no room are summed in `others_ns`. */
#define FLAME_POOLS     64
#define FLAME_POOL_NAME 32

struct flame_pool {
    char name[FLAME_POOL_NAME];
    uint64_t ns;
};

struct flame_pools {
    struct flame_pool rows[FLAME_POOLS];
    size_t count;
    uint64_t others_ns;
};

/* Length of the part of a thread's name that it has in common with its like: up to its number. 0:
 * it is a number. */
size_t flame_pool_length(const char *thread);

void flame_pools_add(struct flame_pools *pools, const char *thread, uint64_t ns);
void flame_pools_merge(struct flame_pools *to, const struct flame_pools *from);

uint64_t flame_pools_sum(const struct flame_pools *pools); /* of all, ns */

/* "journal_write 61 %, msgr-worker 30 %, others 9 %": the largest ones and their shares, into
 * `text`, which is returned. Empty if there was no time. */
const char *flame_pools_text(const struct flame_pools *pools, char *text, size_t size);

#endif
