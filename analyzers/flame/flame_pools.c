/* SPDX-License-Identifier: MIT */
#include "flame_pools.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define TOLD 4 /* the largest ones are named */

size_t flame_pool_length(const char *thread)
{
    size_t length = strlen(thread);
    while (length > 0 && strchr("0123456789 -_:/#.", thread[length - 1]))
        length--;
    return length;
}

static void add(struct flame_pools *pools, const char *name, size_t length, uint64_t ns)
{
    struct flame_pool *row = pools->rows, *end = pools->rows + pools->count;
    if (length >= sizeof(row->name))
        length = sizeof(row->name) - 1;
    while (row < end && (strncmp(row->name, name, length) != 0 || row->name[length]))
        row++;
    if (row == pools->rows + FLAME_POOLS) {
        pools->others_ns += ns;
        return;
    }
    if (row == end) {
        memcpy(row->name, name, length);
        row->name[length] = 0;
        row->ns = 0;
        pools->count++;
    }
    row->ns += ns;
}

void flame_pools_add(struct flame_pools *pools, const char *thread, uint64_t ns)
{
    size_t length = flame_pool_length(thread);
    if (length)
        add(pools, thread, length, ns);
    else
        pools->others_ns += ns;
}

void flame_pools_merge(struct flame_pools *to, const struct flame_pools *from)
{
    for (size_t i = 0; i < from->count; i++)
        add(to, from->rows[i].name, strlen(from->rows[i].name), from->rows[i].ns);
    to->others_ns += from->others_ns;
}

/* The largest pool that is not among `told`; NULL: there is none. */
static const struct flame_pool *largest(const struct flame_pools *pools,
                                        const bool told[FLAME_POOLS])
{
    const struct flame_pool *best = NULL;
    for (size_t i = 0; i < pools->count; i++)
        if (!told[i] && pools->rows[i].ns > 0 && (!best || pools->rows[i].ns > best->ns))
            best = &pools->rows[i];
    return best;
}

uint64_t flame_pools_sum(const struct flame_pools *pools)
{
    uint64_t sum = pools->others_ns;
    for (size_t i = 0; i < pools->count; i++)
        sum += pools->rows[i].ns;
    return sum;
}

const char *flame_pools_text(const struct flame_pools *pools, char *text, size_t size)
{
    bool told[FLAME_POOLS] = {false};
    uint64_t sum = flame_pools_sum(pools), rest = sum;
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < TOLD && used < size; i++) {
        const struct flame_pool *pool = largest(pools, told);
        if (!pool)
            break;
        told[pool - pools->rows] = true;
        rest -= pool->ns;
        used += (size_t)snprintf(text + used, size - used, "%s%s %.0f %%", used ? ", " : "",
                                 pool->name, 100.0 * (double)pool->ns / (double)sum);
    }
    if (rest > 0 && used < size)
        snprintf(text + used, size - used, "%sothers %.0f %%", used ? ", " : "",
                 100.0 * (double)rest / (double)sum);
    return text;
}
