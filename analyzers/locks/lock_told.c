/* SPDX-License-Identifier: MIT */
/*
 * Locks that a daemon tells of: asked for, got, given back (locks.def). All of it is told, so that
 * holds are exact, and so is how long a lock is held while others wait.
 */
#include "lock_table_private.h"

#include <string.h>

#include "lock_rows.h"
#include "wait_kinds.h"

/* An acquisition that takes longer than this was no plain one, whoever had the lock. */
#define LONG_ASK_NS 20000u

/* Which lock the event is about; NULL when there is no room for it. */
static int find_instance(struct lock_table *table, const struct lock_row *row,
                         const struct optrail_event *event, struct lock_instance **instance)
{
    uint64_t address = row->which == LOCK_BY_KEY ? event->key : event->arg0;
    const struct lock_named *named =
        row->which == LOCK_BY_INSTANCE ? NULL : lock_table_named(table, event->pid, address);
    uint16_t kind = row->kind;
    if (row->which == LOCK_BY_KEY)
        kind = event->arg0 < WAIT_KIND_COUNT ? (uint16_t)event->arg0 : (uint16_t)WAIT_unknown;
    int group = named
                    ? named->group
                    : lock_groups_find(&table->groups, *row->name ? row->name : LOCK_UNNAMED, kind);
    if (group < 0)
        return group;
    if (table->groups.rows[group]->kind == WAIT_unknown)
        table->groups.rows[group]->kind = kind;
    /* a lock that is told of by its instance elsewhere is the same by this name */
    bool by_instance = row->which == LOCK_BY_INSTANCE;
    for (size_t i = 0; named && !by_instance && i < LOCK_ROW_COUNT; i++)
        by_instance = lock_rows[i].which == LOCK_BY_INSTANCE &&
                      strcmp(lock_rows[i].name, table->groups.rows[group]->name) == 0;
    uint64_t id = !by_instance ? address : named ? named->instance : event->arg0;
    *instance = lock_table_instance(table, event->pid, (uint16_t)group, id, !by_instance);
    return 0;
}

/* Time has passed: while it was held, others may have waited. */
static void advance(struct lock_instance *instance, uint64_t now_ns)
{
    if (instance->holding > 0 && instance->waiting > 0 && now_ns > instance->changed_ns)
        instance->contended_ns += now_ns - instance->changed_ns;
    if (now_ns > instance->changed_ns)
        instance->changed_ns = now_ns;
}

/* A thread that goes on has not waited for what it asked for last: how that ended was lost, or it
 * gave up. */
static void forget_request(struct lock_actor *actor)
{
    if (actor->asked)
        actor->asked->waiting -= actor->asked->waiting > 0;
    actor->asked = NULL;
}

static void request(struct lock_actor *actor, struct lock_instance *instance,
                    const struct lock_row *row, const struct optrail_event *event, uint16_t point)
{
    forget_request(actor);
    actor->asked = instance;
    actor->asked_ns = event->time_ns;
    actor->asked_point = point;
    /* where an address is told, it is asked for only when it is not free */
    actor->had_to_wait =
        row->which == LOCK_BY_KEY || instance->holding > 0 || instance->waiting > 0;
    actor->blocker = instance->holder;
    instance->waiting++;
}

/* Adds the wait that has ended to its group. */
static int add_wait(struct lock_table *table, struct lock_actor *actor, uint64_t now_ns)
{
    struct lock_instance *instance = actor->asked;
    struct lock_group *group = table->groups.rows[instance->group];
    uint64_t wait = now_ns > actor->asked_ns ? now_ns - actor->asked_ns : 0;
    if (!actor->had_to_wait && wait < LONG_ASK_NS)
        return 0;
    uint64_t free_since =
        instance->released_ns > actor->asked_ns ? instance->released_ns : actor->asked_ns;
    if (instance->holding == 0 && now_ns > free_since)
        group->handover_ns += now_ns - free_since;
    group->waits++;
    histogram_add(&group->wait, wait);
    instance->waits++;
    instance->wait_ns += wait;
    struct lock_thread *thread = lock_group_thread(group, actor->pid, actor->tid);
    if (thread) {
        thread->waits++;
        thread->wait_ns += wait;
    }
    if (actor->had_to_wait && (thread = lock_group_thread(group, actor->pid, actor->blocker))) {
        thread->blocked++;
        thread->blocked_ns += wait;
    }
    int rc = lock_places_add(&group->waiters, (struct lock_place){.from = actor->asked_point,
                                                                  .to = LOCK_NOWHERE,
                                                                  .lock = LOCK_NO_GROUP,
                                                                  .count = 1,
                                                                  .ns = wait});
    if (rc == 0 && table->listener.waited)
        rc = table->listener.waited(table->listener.context,
                                    &(struct lock_ended_wait){.pid = actor->pid,
                                                              .tid = actor->tid,
                                                              .group = instance->group,
                                                              .begin_ns = actor->asked_ns,
                                                              .ns = wait});
    return rc;
}

/* Takes the lock out of those that the thread holds; since when it had it, 0: it had not. */
static uint64_t take_out(struct lock_actor *actor, const struct lock_instance *instance)
{
    size_t i = actor->held_count;
    while (i > 0 && actor->held[i - 1].instance != instance)
        i--;
    if (i == 0)
        return 0;
    uint64_t since = actor->held[i - 1].since_ns;
    memmove(&actor->held[i - 1], &actor->held[i], (actor->held_count - i) * sizeof(*actor->held));
    actor->held_count--;
    return since;
}

/* Somebody has got it whom its holder must have let in: that one's release is missing. */
static void forget_holders(struct lock_table *table, struct lock_instance *instance)
{
    struct lock_actor *holder = lock_table_actor(table, instance->pid, instance->holder);
    instance->holding = 0;
    table->groups.rows[instance->group]->holds_unmeasured++;
    if (!holder || !take_out(holder, instance) || !table->listener.forgotten)
        return;
    table->listener.forgotten(table->listener.context, holder->pid, holder->tid, instance->group);
}

/* The thread has it. Room in a throttle is had, but not held: nobody else waits for this thread. */
static int acquired(struct lock_table *table, struct lock_actor *actor,
                    struct lock_instance *instance, uint64_t now_ns)
{
    struct lock_group *group = table->groups.rows[instance->group];
    struct lock_thread *thread = lock_group_thread(group, actor->pid, actor->tid);
    int rc = 0;
    group->acquisitions++;
    if (thread)
        thread->acquired++;
    if (actor->asked == instance)
        rc = add_wait(table, actor, now_ns);
    forget_request(actor);
    if (wait_kind_rows[group->kind].class != WAIT_CLASS_LOCK)
        return rc;
    if (instance->holding > 0 && group->kind != WAIT_rwlock_read)
        forget_holders(table, instance);
    if (instance->holding++ == 0) {
        instance->begun_ns = now_ns;
        instance->contended_ns = 0;
    }
    instance->holder = actor->tid;
    if (actor->held_count == LOCK_HELD) {
        table->counts.nested++;
    } else {
        actor->held[actor->held_count].instance = instance;
        actor->held[actor->held_count++].since_ns = now_ns;
    }
    if (rc == 0 && table->listener.acquired)
        rc = table->listener.acquired(table->listener.context, actor->pid, actor->tid,
                                      instance->group, now_ns);
    return rc;
}

static int released(struct lock_table *table, struct lock_actor *actor,
                    struct lock_instance *instance, uint64_t now_ns)
{
    struct lock_group *group = table->groups.rows[instance->group];
    uint64_t since = take_out(actor, instance);
    forget_request(actor);
    if (since == 0) { /* it was got before the trace began, or by another thread */
        table->counts.unpaired++;
        return 0;
    }
    uint64_t hold = now_ns > since ? now_ns - since : 0;
    histogram_add(&group->hold, hold);
    group->hold_ns += hold;
    instance->released_ns = now_ns;
    if (instance->holding > 0 && --instance->holding == 0) {
        lock_table_busy(table, instance, instance->begun_ns, now_ns);
        group->contended_ns += instance->contended_ns;
    }
    if (table->listener.released)
        return table->listener.released(table->listener.context, actor->pid, actor->tid,
                                        instance->group, now_ns);
    return 0;
}

struct lock_unfinished lock_table_unfinished(const struct lock_table *table, uint16_t group)
{
    struct lock_unfinished unfinished = table->groups.rows[group]->unfinished;
    for (size_t i = 0; table->actors && i < LOCK_TABLE_THREADS; i++) {
        const struct lock_actor *actor = &table->actors[i];
        if (!actor->pid || !actor->asked || actor->asked->group != group || !actor->had_to_wait ||
            table->end_ns < actor->asked_ns + LONG_ASK_NS)
            continue;
        uint64_t ns = table->end_ns - actor->asked_ns;
        unfinished.count++;
        unfinished.longest_ns = ns > unfinished.longest_ns ? ns : unfinished.longest_ns;
    }
    return unfinished;
}

int lock_told_event(struct lock_table *table, const struct optrail_event *event)
{
    enum lock_step step;
    const struct lock_row *row = lock_row_of_point(event->point, &step);
    if (!row)
        return 0;
    struct lock_instance *instance = NULL;
    int rc = find_instance(table, row, event, &instance);
    struct lock_actor *actor = instance ? lock_table_actor(table, event->pid, event->tid) : NULL;
    if (rc < 0 || !actor)
        return rc;
    table->counts.events++;
    if (event->time_ns > table->end_ns)
        table->end_ns = event->time_ns;
    advance(instance, event->time_ns);
    switch (step) {
    case LOCK_REQUEST:
        request(actor, instance, row, event,
                row->which == LOCK_BY_KEY ? lock_table_point(table, event->pid, event->tid)
                                          : event->point);
        return 0;
    case LOCK_ACQUIRED:
        return acquired(table, actor, instance, event->time_ns);
    case LOCK_RELEASED:
        return released(table, actor, instance, event->time_ns);
    }
    return 0;
}
