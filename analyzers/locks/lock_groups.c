/* SPDX-License-Identifier: MIT */
#include "lock_groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"

static const char further[] = "further locks";

int lock_groups_find(struct lock_groups *groups, const char *name, uint16_t kind)
{
    for (size_t i = 0; i < groups->count; i++)
        if (strcmp(groups->rows[i]->name, name) == 0)
            return (int)i;
    if (groups->count == LOCK_GROUPS)
        return LOCK_GROUPS - 1;
    if (groups->count == LOCK_GROUPS - 1)
        name = further;
    struct lock_group *group = calloc(1, sizeof(*group));
    if (!group || !(group->name = strdup(name))) {
        free(group);
        return err_no_memory();
    }
    group->kind = kind;
    histogram_init(&group->wait);
    histogram_init(&group->hold);
    groups->rows[groups->count] = group;
    return (int)groups->count++;
}

int lock_groups_call(struct lock_groups *groups, uint16_t group, const char *name)
{
    char *copy;
    if (!strstr(groups->rows[group]->name, " at 0x"))
        return 0;
    for (size_t i = 0; i < groups->count; i++)
        if (strcmp(groups->rows[i]->name, name) == 0)
            return 0;
    if (!(copy = strdup(name)))
        return err_no_memory();
    free(groups->rows[group]->name);
    groups->rows[group]->name = copy;
    return 0;
}

void lock_groups_free(struct lock_groups *groups)
{
    for (size_t i = 0; i < groups->count; i++) {
        struct lock_group *group = groups->rows[i];
        for (size_t j = 0; j < group->site_count; j++)
            free(group->sites[j].frames);
        free(group->threads);
        free(group->waiters.rows);
        free(group->holders.rows);
        free(group->name);
        free(group);
    }
    groups->count = 0;
}

int lock_places_add(struct lock_places *places, struct lock_place place)
{
    for (size_t i = 0; i < places->count; i++) {
        struct lock_place *row = &places->rows[i];
        if (row->from == place.from && row->to == place.to && row->lock == place.lock) {
            row->count += place.count;
            row->ns += place.ns;
            return 0;
        }
    }
    if (places->count == LOCK_PLACES) {
        places->elsewhere_ns += place.ns;
        return 0;
    }
    if (!places->rows && !(places->rows = calloc(LOCK_PLACES, sizeof(*places->rows))))
        return err_no_memory();
    places->rows[places->count++] = place;
    return 0;
}

/* The thread's row, or the free one where it belongs. */
static struct lock_thread *thread_row(struct lock_thread *threads, size_t room, uint32_t pid,
                                      uint32_t tid)
{
    uint64_t key = ((uint64_t)pid << 32 | tid) * 0x9e3779b97f4a7c15ull;
    for (size_t i = (size_t)(key >> 32);; i++) {
        struct lock_thread *thread = &threads[i & (room - 1)];
        if ((thread->pid == pid && thread->tid == tid) || (thread->pid | thread->tid) == 0)
            return thread;
    }
}

static bool grow_threads(struct lock_group *group)
{
    size_t room = group->thread_room ? 2 * group->thread_room : 16;
    struct lock_thread *threads = calloc(room, sizeof(*threads));
    if (!threads)
        return false;
    for (size_t i = 0; i < group->thread_room; i++) {
        const struct lock_thread *thread = &group->threads[i];
        if (thread->pid | thread->tid)
            *thread_row(threads, room, thread->pid, thread->tid) = *thread;
    }
    free(group->threads);
    group->threads = threads;
    group->thread_room = room;
    return true;
}

struct lock_thread *lock_group_thread(struct lock_group *group, uint32_t pid, uint32_t tid)
{
    struct lock_thread *thread =
        group->thread_room ? thread_row(group->threads, group->thread_room, pid, tid) : NULL;
    if (thread && (thread->pid | thread->tid))
        return thread;
    if (group->thread_count == LOCK_THREADS || (pid | tid) == 0 ||
        (2 * group->thread_count >= group->thread_room && !grow_threads(group))) {
        group->other_threads++;
        return NULL;
    }
    thread = thread_row(group->threads, group->thread_room, pid, tid);
    *thread = (struct lock_thread){.pid = pid, .tid = tid};
    group->thread_count++;
    return thread;
}

int lock_group_site(struct lock_group *group, const char *frames, uint64_t waits, uint64_t ns)
{
    struct lock_site *smallest = NULL;
    for (size_t i = 0; i < group->site_count; i++) {
        struct lock_site *site = &group->sites[i];
        if (strcmp(site->frames, frames) == 0) {
            site->waits += waits;
            site->wait_ns += ns;
            return 0;
        }
        if (!smallest || site->wait_ns < smallest->wait_ns)
            smallest = site;
    }
    /* a full table gives up its smallest row when a larger one comes */
    if (group->site_count == LOCK_SITES && (!smallest || smallest->wait_ns >= ns))
        return 0;
    char *copy = strdup(frames);
    if (!copy)
        return err_no_memory();
    if (group->site_count < LOCK_SITES)
        smallest = &group->sites[group->site_count++];
    else
        free(smallest->frames);
    *smallest = (struct lock_site){copy, waits, ns};
    return 0;
}
