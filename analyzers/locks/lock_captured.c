/* SPDX-License-Identifier: MIT */
/*
 * Contended waits that were captured at the futex. What is told of one wait comes as several
 * events of its thread; it is complete when the thread tells of something else.
 */
#include "lock_table_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lock_rules.h"
#include "lock_waits.h"
#include "wait_kinds.h"

/* The name that follows from what is known of the wait alone. True: a rule gave it. */
static bool name_of(const struct lock_wait *wait, const char *frames, char *name, size_t size)
{
    const struct lock_rule *rule = lock_rules_find(wait->kind, frames);
    if (rule)
        snprintf(name, size, "%s", rule->name);
    else if (wait->kind == WAIT_allocator)
        snprintf(name, size, "allocator");
    else if (!frames || !lock_site_name(wait->kind, frames, name, size))
        snprintf(name, size, "%s at %#llx", lock_kind_words(wait->kind),
                 (unsigned long long)wait->lock);
    return rule != NULL;
}

void lock_table_wait_name(const struct lock_table *table, const struct lock_wait *wait,
                          const char *frames, char *name, size_t size)
{
    struct lock_wait known = *wait;
    const struct lock_named *named = lock_table_named(table, wait->pid, wait->lock);
    if (known.kind >= WAIT_KIND_COUNT)
        known.kind = WAIT_unknown;
    bool told = named && !named->guessed;
    bool by_rule = !told && name_of(&known, frames, name, size);
    if (named && !by_rule)
        snprintf(name, size, "%s", table->groups.rows[named->group]->name);
}

const char *lock_table_stack(const struct lock_table *table, uint32_t pid, uint32_t number)
{
    return stack_table_find(&table->stacks, pid, number);
}

/* The group of the lock, as the daemon has named it or by what name_of() finds. A stack that no row
 * knows takes the name that the address has already: the lock is asked for in several places. */
static int find_group(struct lock_table *table, const struct lock_wait *wait, const char *frames)
{
    char name[160];
    const struct lock_named *named = lock_table_named(table, wait->pid, wait->lock);
    if (named && !named->guessed)
        return named->group;
    bool by_rule = name_of(wait, frames, name, sizeof(name));
    if (named && frames && (lock_groups_call(&table->groups, named->group, name) < 0))
        return -ENOMEM;
    if (named && (!by_rule || strcmp(table->groups.rows[named->group]->name, name) == 0))
        return named->group;
    int group = lock_groups_find(&table->groups, name, wait->kind);
    if (group < 0 || wait->kind == WAIT_allocator)
        return group;
    bool told = !by_rule && lock_table_is_unnamed(table, wait->pid, wait->lock);
    int rc = lock_table_name(table, (struct lock_named){.address = wait->lock,
                                                        .pid = wait->pid,
                                                        .group = (uint16_t)group,
                                                        .guessed = !told});
    return rc < 0 ? rc : group;
}

static void add_meanwhile(struct lock_meanwhile *meanwhile, const struct lock_wait *wait)
{
    meanwhile->running += wait->weight * wait->running_ns;
    meanwhile->runnable += wait->weight * wait->runnable_ns;
    meanwhile->disk += wait->weight * wait->disk_ns;
    meanwhile->asleep += wait->weight * wait->asleep_ns;
    /* who waits for this lock itself has given it back: what it does is no owner's any more */
    if (wait->chain_lock != wait->lock)
        meanwhile->chain += wait->weight * wait->chain_ns;
}

static void add_threads(struct lock_group *group, const struct lock_wait *wait, uint64_t ns)
{
    struct lock_thread *thread = lock_group_thread(group, wait->pid, wait->tid);
    if (thread) {
        thread->waits += wait->weight;
        thread->wait_ns += wait->weight * ns;
    }
    uint32_t blocker = wait->owner_tid ? wait->owner_tid : wait->releaser_tid;
    if (blocker && (thread = lock_group_thread(group, wait->pid, blocker))) {
        thread->blocked += wait->weight;
        thread->blocked_ns += wait->weight * ns;
    }
}

/* Captured waits come in the order of their ends: what lies before the end of the one before them
 * counts as covered. */
static void add_instance(struct lock_table *table, uint16_t group, const struct lock_wait *wait,
                         uint64_t ns)
{
    struct lock_instance *instance = lock_table_instance(table, wait->pid, group, wait->lock, true);
    if (!instance)
        return;
    uint64_t begin = wait->begin_ns;
    if (wait->hold_ns > ns && wait->hold_ns < wait->end_ns)
        begin = wait->end_ns - wait->hold_ns;
    lock_table_busy(table, instance, begin > instance->covered_ns ? begin : instance->covered_ns,
                    wait->end_ns);
    if (wait->end_ns > instance->covered_ns)
        instance->covered_ns = wait->end_ns;
    instance->waits += wait->weight;
    instance->wait_ns += wait->weight * ns;
}

/* One stands for itself alone: that it was taken into a sample says nothing of others. */
static void add_unfinished(struct lock_group *group, const struct lock_wait *wait, uint64_t ns)
{
    if (!(wait->flags & LOCK_WAIT_UNFINISHED))
        return;
    group->unfinished.count++;
    if (ns > group->unfinished.longest_ns)
        group->unfinished.longest_ns = ns;
}

static void add_histograms(struct lock_group *group, const struct lock_wait *wait, uint64_t ns)
{
    uint32_t weight = wait->weight < 1000000 ? wait->weight : 1000000;
    for (uint32_t i = 0; i < weight; i++)
        histogram_add(&group->wait, ns);
    if (wait->hold_ns == 0) {
        group->holds_unmeasured += weight;
        return;
    }
    for (uint32_t i = 0; i < weight; i++)
        histogram_add(&group->hold, wait->hold_ns);
    group->hold_ns += weight * wait->hold_ns;
    group->contended_ns += weight * wait->hold_ns;
}

int lock_table_wait(struct lock_table *table, const struct lock_wait *original, const char *frames)
{
    struct lock_wait wait = *original;
    if (wait.kind >= WAIT_KIND_COUNT)
        wait.kind = WAIT_unknown;
    if (wait.weight == 0)
        wait.weight = 1;
    table->counts.waits += wait.weight;
    table->counts.no_stack += frames ? 0 : wait.weight;
    if (wait_kind_rows[wait.kind].class == WAIT_CLASS_IDLE || wait.end_ns < wait.begin_ns)
        return 0;
    if (table->begin_ns == 0)
        lock_table_stretch(table, wait.begin_ns, wait.begin_ns, 0);
    if (wait.end_ns > table->end_ns)
        table->end_ns = wait.end_ns;
    int number = find_group(table, &wait, frames);
    if (number < 0)
        return number;
    struct lock_group *group = table->groups.rows[number];
    uint64_t ns = wait.end_ns - wait.begin_ns;
    add_meanwhile(&group->meanwhile, &wait);
    add_unfinished(group, &wait, ns);
    int rc = frames ? lock_group_site(group, frames, wait.weight, wait.weight * ns) : 0;
    if (rc < 0 || group->acquisitions > 0)
        return rc; /* the daemon tells of this lock itself: the wait is counted there */
    if (group->kind == WAIT_unknown)
        group->kind = wait.kind;
    group->waits += wait.weight;
    group->gave_up += wait.flags & LOCK_WAIT_GAVE_UP ? wait.weight : 0;
    group->robust += wait.flags & LOCK_WAIT_ROBUST ? wait.weight : 0;
    add_histograms(group, &wait, ns);
    add_threads(group, &wait, ns);
    add_instance(table, (uint16_t)number, &wait, ns);
    if (wait.point == LOCK_WAIT_NO_POINT)
        wait.point = lock_table_point(table, wait.pid, wait.tid);
    struct lock_place place = {.from = wait.point,
                               .to = LOCK_NOWHERE,
                               .lock = LOCK_NO_GROUP,
                               .count = wait.weight,
                               .ns = wait.weight * ns};
    rc = lock_places_add(&group->waiters, place);
    uint32_t owner = wait.owner_tid ? wait.owner_tid : wait.releaser_tid;
    if (wait.holder_point == LOCK_WAIT_NO_POINT && owner)
        wait.holder_point = lock_table_point(table, wait.pid, owner);
    place.from = wait.holder_point;
    if (rc == 0)
        rc = lock_places_add(&group->holders, place);
    if (rc == 0 && table->listener.waited)
        rc = table->listener.waited(table->listener.context,
                                    &(struct lock_ended_wait){.pid = wait.pid,
                                                              .tid = wait.tid,
                                                              .group = (uint16_t)number,
                                                              .begin_ns = wait.begin_ns,
                                                              .ns = place.ns});
    return rc;
}

static int deliver(struct lock_table *table, struct lock_actor *actor)
{
    if (!actor->pending)
        return 0;
    actor->pending = false;
    table->pending_count--;
    return lock_table_wait(table, &actor->wait,
                           stack_table_find(&table->stacks, actor->pid, actor->wait.stack));
}

int lock_captured_event(struct lock_table *table, const struct optrail_event *event)
{
    struct lock_actor *actor = lock_table_actor(table, event->pid, event->tid);
    if (!actor)
        return 0;
    if (event->point == POINT_lock_waited) {
        int rc = deliver(table, actor);
        if (rc < 0)
            return rc;
        actor->pending = true;
        table->pending_count++;
        actor->wait = (struct lock_wait){
            .weight = 1, .point = LOCK_WAIT_NO_POINT, .holder_point = LOCK_WAIT_NO_POINT};
    } else if (!actor->pending || actor->wait.lock != event->key) {
        table->counts.unpaired++;
        return 0;
    }
    lock_wait_take(&actor->wait, event);
    if (event->point == POINT_lock_waited)
        actor->wait.point = lock_table_point(table, event->pid, event->tid);
    return 0;
}

int lock_captured_end(struct lock_table *table, uint32_t pid, uint32_t tid)
{
    if (table->pending_count == 0)
        return 0;
    struct lock_actor *actor = lock_table_known_actor(table, pid, tid);
    return actor ? deliver(table, actor) : 0;
}

int lock_table_flush(struct lock_table *table)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && table->actors && i < LOCK_TABLE_THREADS; i++)
        if (table->actors[i].pid)
            rc = deliver(table, &table->actors[i]);
    return rc;
}
