/* SPDX-License-Identifier: MIT */
#include "placement_group.h"

#include <stdlib.h>

#include "daemon_log.h"

int placement_groups_init(struct placement_groups *groups, uint32_t count)
{
    groups->count = count;
    groups->group = calloc(count, sizeof(*groups->group));
    if (!groups->group)
        return log_error("no memory for %u placement groups", count);
    for (uint32_t i = 0; i < count; i++) {
        struct placement_group *group = &groups->group[i];
        group->number = i;
        pthread_mutex_init(&group->lock, NULL);
        pthread_mutex_init(&group->order_lock, NULL);
        pthread_cond_init(&group->applied, NULL);
        node_list_init(&group->apply_list);
    }
    return 0;
}

void placement_groups_destroy(struct placement_groups *groups)
{
    for (uint32_t i = 0; i < groups->count; i++) {
        pthread_cond_destroy(&groups->group[i].applied);
        pthread_mutex_destroy(&groups->group[i].order_lock);
        pthread_mutex_destroy(&groups->group[i].lock);
    }
    free(groups->group);
}

/* The finalizer of splitmix64 (Steele, Lea, Flood, 2014): a bijection that mixes all bits. */
uint64_t object_hash(uint64_t object)
{
    object ^= object >> 30;
    object *= 0xbf58476d1ce4e5b9ull;
    object ^= object >> 27;
    object *= 0x94d049bb133111ebull;
    return object ^ object >> 31;
}

struct placement_group *placement_group_of(const struct placement_groups *groups, uint64_t object)
{
    return &groups->group[(object_hash(object) >> 32) % groups->count];
}
