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
        lock_init(&group->lock, LOCK_KIND_MUTEX, LOCK_PG, i);
        lock_init(&group->order_lock, LOCK_KIND_MUTEX, LOCK_PG_ORDER, i);
        pthread_cond_init(&group->applied, NULL);
        node_list_init(&group->apply_list);
    }
    return 0;
}

void placement_groups_destroy(struct placement_groups *groups)
{
    for (uint32_t i = 0; i < groups->count; i++) {
        pthread_cond_destroy(&groups->group[i].applied);
        lock_destroy(&groups->group[i].order_lock);
        lock_destroy(&groups->group[i].lock);
    }
    free(groups->group);
}

struct placement_group *placement_group_of(const struct placement_groups *groups, uint64_t object)
{
    return &groups->group[placement_group_number(object, groups->count)];
}
