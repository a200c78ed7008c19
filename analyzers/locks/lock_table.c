/* SPDX-License-Identifier: MIT */
#include "lock_table_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"

_Static_assert(LOCK_NO_GROUP > LOCK_GROUPS, "no group has this number");

int lock_table_new(const struct lock_view *view, const struct lock_listener *listener,
                   struct lock_table **table)
{
    struct lock_table *made = calloc(1, sizeof(*made));
    if (!made)
        return err_no_memory();
    if (view)
        made->view = *view;
    if (listener)
        made->listener = *listener;
    made->slice_ns = LOCK_FIRST_SLICE_NS;
    *table = made;
    return 0;
}

void lock_table_free(struct lock_table *table)
{
    if (!table)
        return;
    lock_groups_free(&table->groups);
    stack_table_free(&table->stacks);
    free(table->instances);
    free(table->actors);
    free(table->names);
    free(table->processes);
    free(table);
}

static size_t hash(uint64_t a, uint64_t b)
{
    uint64_t h = (a ^ b * 0x9e3779b97f4a7c15ull) * 0x9e3779b97f4a7c15ull;
    return (size_t)(h ^ h >> 32);
}

struct lock_instance *lock_table_instance(struct lock_table *table, uint32_t pid, uint16_t group,
                                          uint64_t id, bool is_address)
{
    if (!table->instances &&
        !(table->instances = calloc(LOCK_INSTANCES, sizeof(*table->instances))))
        return NULL;
    for (size_t i = hash(id, (uint64_t)pid << 16 | group);; i++) {
        struct lock_instance *entry = &table->instances[i % LOCK_INSTANCES];
        if (entry->pid == pid && entry->id == id && entry->group == group)
            return entry;
        if (entry->pid != 0)
            continue;
        if (table->instance_count >= LOCK_INSTANCES / 4 * 3) {
            table->counts.no_instance++;
            return NULL;
        }
        table->instance_count++;
        *entry =
            (struct lock_instance){.id = id, .pid = pid, .group = group, .is_address = is_address};
        return entry;
    }
}

struct lock_actor *lock_table_actor(struct lock_table *table, uint32_t pid, uint32_t tid)
{
    if (!table->actors && !(table->actors = calloc(LOCK_TABLE_THREADS, sizeof(*table->actors))))
        return NULL;
    for (size_t i = hash(tid, pid);; i++) {
        struct lock_actor *actor = &table->actors[i % LOCK_TABLE_THREADS];
        if (actor->pid == pid && actor->tid == tid)
            return actor;
        if (actor->pid != 0)
            continue;
        if (table->actor_count >= LOCK_TABLE_THREADS / 4 * 3) {
            table->counts.no_thread++;
            return NULL;
        }
        table->actor_count++;
        *actor = (struct lock_actor){.pid = pid, .tid = tid};
        return actor;
    }
}

struct lock_actor *lock_table_known_actor(struct lock_table *table, uint32_t pid, uint32_t tid)
{
    for (size_t i = hash(tid, pid); table->actors; i++) {
        struct lock_actor *actor = &table->actors[i % LOCK_TABLE_THREADS];
        if (actor->pid == pid && actor->tid == tid)
            return actor;
        if (actor->pid == 0)
            break;
    }
    return NULL;
}

static struct lock_named *named_row(const struct lock_table *table, uint32_t pid, uint64_t address)
{
    for (size_t i = hash(address, pid);; i++) {
        struct lock_named *row = &table->names[i % LOCK_TABLE_NAMES];
        if (row->pid == 0 || (row->pid == pid && row->address == address))
            return row;
    }
}

const struct lock_named *lock_table_named(const struct lock_table *table, uint32_t pid,
                                          uint64_t address)
{
    const struct lock_named *row = table->names ? named_row(table, pid, address) : NULL;
    return row && row->pid ? row : NULL;
}

int lock_table_name(struct lock_table *table, struct lock_named name)
{
    if (!table->names && !(table->names = calloc(LOCK_TABLE_NAMES, sizeof(*table->names))))
        return err_no_memory();
    struct lock_named *row = named_row(table, name.pid, name.address);
    if (!row->pid && table->name_count >= LOCK_TABLE_NAMES / 4 * 3) {
        table->counts.no_instance++;
        return 0;
    }
    table->name_count += !row->pid;
    *row = name;
    return 0;
}

static int take_name(struct lock_table *table, const struct optrail_event *event)
{
    char name[128];
    if (!event->arg0)
        return 0; /* the text was not to be had */
    snprintf(name, sizeof(name), "%s", (const char *)(uintptr_t)event->arg0);
    int group = *name ? lock_groups_find(&table->groups, name, WAIT_unknown) : 0;
    if (group < 0 || !*name)
        return group;
    return lock_table_name(table, (struct lock_named){.address = event->key,
                                                      .instance = event->arg1,
                                                      .pid = event->pid,
                                                      .group = (uint16_t)group});
}

bool lock_table_is_unnamed(const struct lock_table *table, uint32_t pid, uint64_t address)
{
    size_t group = 0;
    while (group < table->groups.count &&
           strcmp(table->groups.rows[group]->name, LOCK_UNNAMED) != 0)
        group++;
    if (group == table->groups.count || !table->instances)
        return false;
    for (size_t i = hash(address, (uint64_t)pid << 16 | group);; i++) {
        const struct lock_instance *entry = &table->instances[i % LOCK_INSTANCES];
        if (entry->pid == 0)
            return false;
        if (entry->pid == pid && entry->id == address && entry->group == group)
            return true;
    }
}

/* Two slices become one. */
static void double_slices(struct lock_table *table)
{
    uint64_t odd = table->first_slice % 2;
    for (size_t i = 0; table->instances && i < LOCK_INSTANCES; i++) {
        uint64_t *slices = table->instances[i].slices, sums[LOCK_SLICES] = {0};
        if (!table->instances[i].pid)
            continue;
        for (size_t j = 0; j < LOCK_SLICES; j++)
            sums[(j + odd) / 2] += slices[j];
        memcpy(slices, sums, sizeof(sums));
    }
    table->first_slice /= 2;
    table->slice_ns *= 2;
}

/* The slices begin so many earlier. */
static void move_slices(struct lock_table *table, uint64_t by)
{
    for (size_t i = 0; table->instances && i < LOCK_INSTANCES; i++) {
        uint64_t *slices = table->instances[i].slices;
        if (!table->instances[i].pid)
            continue;
        memmove(slices + by, slices, (LOCK_SLICES - by) * sizeof(*slices));
        memset(slices, 0, by * sizeof(*slices));
    }
    table->first_slice -= by;
}

void lock_table_stretch(struct lock_table *table, uint64_t begin_ns, uint64_t end_ns,
                        uint64_t slice_ns)
{
    if (table->begin_ns == 0 || begin_ns < table->begin_ns) {
        bool first = table->begin_ns == 0;
        table->begin_ns = begin_ns;
        if (first)
            table->first_slice = begin_ns / table->slice_ns;
    }
    if (end_ns > table->end_slices_ns)
        table->end_slices_ns = end_ns;
    while (table->slice_ns < slice_ns ||
           table->end_slices_ns / table->slice_ns - table->begin_ns / table->slice_ns >=
               LOCK_SLICES)
        double_slices(table);
    uint64_t first = table->begin_ns / table->slice_ns;
    if (first < table->first_slice)
        move_slices(table, table->first_slice - first);
}

/* When the process told something first; it is made if it is new. */
static uint64_t process_begin(struct lock_table *table, uint32_t pid, uint64_t now_ns)
{
    if (table->process && table->process->pid == pid)
        return table->process->begin_ns;
    if (!table->processes &&
        !(table->processes = calloc(LOCK_PROCESSES, sizeof(*table->processes))))
        return table->begin_ns;
    for (size_t i = hash(pid, 0);; i++) {
        struct lock_process *process = &table->processes[i % LOCK_PROCESSES];
        if (process->pid == 0) {
            if (table->process_count >= LOCK_PROCESSES / 4 * 3)
                return table->begin_ns;
            table->process_count++;
            *process = (struct lock_process){pid, now_ns};
        }
        if (process->pid == pid) {
            table->process = process;
            return process->begin_ns;
        }
    }
}

void lock_table_busy(struct lock_table *table, struct lock_instance *instance, uint64_t begin_ns,
                     uint64_t end_ns)
{
    uint64_t known_ns = process_begin(table, instance->pid, begin_ns);
    if (begin_ns < known_ns)
        begin_ns = known_ns;
    if (end_ns <= begin_ns)
        return;
    lock_table_stretch(table, begin_ns, end_ns, 0);
    instance->busy_ns += end_ns - begin_ns;
    while (begin_ns < end_ns) {
        uint64_t slice = begin_ns / table->slice_ns;
        uint64_t border = (slice + 1) * table->slice_ns;
        uint64_t until = border < end_ns ? border : end_ns;
        instance->slices[slice - table->first_slice] += until - begin_ns;
        begin_ns = until;
    }
}

uint16_t lock_table_point(const struct lock_table *table, uint32_t pid, uint32_t tid)
{
    uint64_t op;
    uint16_t point;
    if (!table->view.current || !table->view.current(table->view.context, pid, tid, &op, &point))
        return LOCK_NOWHERE;
    return point;
}

static int take_stack(struct lock_table *table, const struct optrail_event *event)
{
    if (!event->arg0)
        return 0;
    int rc = stack_table_define(&table->stacks, event->pid, (uint32_t)event->key,
                                (const char *)(uintptr_t)event->arg0);
    table->counts.stacks++;
    table->counts.stacks_dropped += rc == 1;
    return rc < 0 ? rc : 0;
}

int lock_table_event(struct lock_table *table, const struct optrail_event *event)
{
    if (table->begin_ns == 0)
        lock_table_stretch(table, event->time_ns, event->time_ns, 0);
    process_begin(table, event->pid, event->time_ns);
    switch (event->point) {
    case POINT_lock_named:
        return take_name(table, event);
    case POINT_stack_define:
        return take_stack(table, event);
    case POINT_lock_waited:
    case POINT_lock_holder:
    case POINT_lock_meanwhile:
    case POINT_lock_chain:
    case POINT_lock_counted:
        table->counts.events++;
        return lock_captured_event(table, event);
    default:
        break;
    }
    int rc = lock_captured_end(table, event->pid, event->tid);
    return rc < 0 ? rc : lock_told_event(table, event);
}

const struct lock_groups *lock_table_groups(const struct lock_table *table)
{
    return &table->groups;
}

struct lock_group *lock_table_group(struct lock_table *table, uint16_t group)
{
    return table->groups.rows[group];
}

struct lock_counts lock_table_counts(const struct lock_table *table)
{
    return table->counts;
}

uint64_t lock_table_slice_ns(const struct lock_table *table)
{
    return table->slice_ns;
}

uint64_t lock_table_slices_ns(const struct lock_table *table)
{
    return table->first_slice * table->slice_ns;
}

uint64_t lock_table_begin_ns(const struct lock_table *table)
{
    return table->begin_ns;
}

void lock_table_instances(const struct lock_table *table,
                          void (*each)(void *context, const struct lock_instance *instance),
                          void *context)
{
    for (size_t i = 0; table->instances && i < LOCK_INSTANCES; i++)
        if (table->instances[i].pid)
            each(context, &table->instances[i]);
}

uint64_t lock_table_end_ns(const struct lock_table *table)
{
    return table->end_ns;
}
