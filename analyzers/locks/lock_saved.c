/* SPDX-License-Identifier: MIT */
/* The locks of a profile: docs/profile.md has the rows. */
#include <errno.h>
#include <string.h>

#include "err.h"
#include "lock_table_private.h"
#include "profile_rows.h"
#include "wait_kinds.h"

#define MOST PROFILE_MAX_NUMBER

/* The counters of a group, in the order in which they are saved. */
#define GROUP_COUNTERS(X)                                                                          \
    X(acquisitions)                                                                                \
    X(waits)                                                                                       \
    X(hold_ns)                                                                                     \
    X(contended_ns)                                                                                \
    X(handover_ns)                                                                                 \
    X(holds_unmeasured)                                                                            \
    X(gave_up)                                                                                     \
    X(robust)                                                                                      \
    X(meanwhile.running)                                                                           \
    X(meanwhile.runnable)                                                                          \
    X(meanwhile.disk)                                                                              \
    X(meanwhile.asleep)                                                                            \
    X(meanwhile.chain)                                                                             \
    X(waiters.elsewhere_ns)                                                                        \
    X(holders.elsewhere_ns)                                                                        \
    X(other_threads)

#define TABLE_COUNTERS(X)                                                                          \
    X(events)                                                                                      \
    X(waits)                                                                                       \
    X(unpaired) X(no_instance) X(no_thread) X(no_stack) X(stacks) X(stacks_dropped) X(nested)

void lock_places_save(const struct lock_places *places, const char *keyword,
                      struct profile_writer *writer)
{
    for (size_t i = 0; i < places->count; i++) {
        const struct lock_place *place = &places->rows[i];
        profile_put_row(writer, keyword);
        profile_put_number(writer, place->from);
        profile_put_number(writer, place->to);
        profile_put_number(writer, place->lock);
        profile_put_number(writer, place->count);
        profile_put_number(writer, place->ns);
    }
}

int lock_places_load(struct lock_places *places, const char *keyword, const uint16_t *numbers,
                     struct profile_reader *reader)
{
    int rc = 0;
    while (rc == 0 && profile_take_row(reader, keyword)) {
        struct lock_place place = {.from = lock_point_load(reader), .to = lock_point_load(reader)};
        place.lock = lock_number_load(reader, numbers);
        place.count = profile_number(reader, MOST);
        place.ns = profile_number(reader, MOST);
        rc = profile_reader_result(reader);
        if (rc == 0)
            rc = lock_places_add(places, place);
    }
    return rc < 0 ? rc : profile_reader_result(reader);
}

uint16_t lock_point_load(struct profile_reader *reader)
{
    uint64_t point = profile_number(reader, LOCK_NOWHERE);
    if (point >= POINT_COUNT && point != LOCK_NOWHERE)
        profile_wrong(reader, "a point that this optrail does not know: use a newer one");
    return (uint16_t)point;
}

uint16_t lock_number_load(struct profile_reader *reader, const uint16_t *numbers)
{
    uint64_t number = profile_number(reader, LOCK_NO_GROUP);
    if (number == LOCK_NO_GROUP)
        return LOCK_NO_GROUP;
    if (number >= LOCK_GROUPS || numbers[number] == LOCK_NO_GROUP) {
        profile_wrong(reader, "a lock that has no name here");
        return LOCK_NO_GROUP;
    }
    return numbers[number];
}

static void save_group(const struct lock_table *table, size_t number, struct profile_writer *writer)
{
    const struct lock_group *group = table->groups.rows[number];
    const struct lock_unfinished unfinished = lock_table_unfinished(table, (uint16_t)number);
    profile_put_row(writer, "lock");
    profile_put_number(writer, number);
#define PUT(field) profile_put_number(writer, group->field);
    GROUP_COUNTERS(PUT)
#undef PUT
    profile_put_row(writer, "lock-wait");
    profile_put_histogram(writer, &group->wait);
    profile_put_row(writer, "lock-hold");
    profile_put_histogram(writer, &group->hold);
    if (unfinished.count > 0) {
        profile_put_row(writer, "lock-unfinished");
        profile_put_number(writer, unfinished.count);
        profile_put_number(writer, unfinished.longest_ns);
    }
    lock_places_save(&group->waiters, "lock-waiters", writer);
    lock_places_save(&group->holders, "lock-holders", writer);
    for (size_t i = 0; i < group->thread_room; i++) {
        const struct lock_thread *thread = &group->threads[i];
        if ((thread->pid | thread->tid) == 0)
            continue;
        profile_put_row(writer, "lock-thread");
        profile_put_number(writer, thread->pid);
        profile_put_number(writer, thread->tid);
        profile_put_number(writer, thread->acquired);
        profile_put_number(writer, thread->waits);
        profile_put_number(writer, thread->wait_ns);
        profile_put_number(writer, thread->blocked);
        profile_put_number(writer, thread->blocked_ns);
    }
    for (size_t i = 0; i < group->site_count; i++) {
        profile_put_row(writer, "lock-site");
        profile_put_word(writer, group->sites[i].frames);
        profile_put_number(writer, group->sites[i].waits);
        profile_put_number(writer, group->sites[i].wait_ns);
    }
}

static void save_instance(void *context, const struct lock_instance *instance)
{
    struct profile_writer *writer = context;
    profile_put_row(writer, "lock-object");
    profile_put_number(writer, instance->group);
    profile_put_number(writer, instance->pid);
    profile_put_number(writer, instance->id >> 32);
    profile_put_number(writer, instance->id & UINT32_MAX);
    profile_put_number(writer, instance->is_address);
    profile_put_number(writer, instance->busy_ns);
    profile_put_number(writer, instance->waits);
    profile_put_number(writer, instance->wait_ns);
    size_t used = LOCK_SLICES;
    while (used > 0 && instance->slices[used - 1] == 0)
        used--;
    profile_put_number(writer, used);
    for (size_t i = 0; i < used; i++)
        profile_put_number(writer, instance->slices[i]);
}

void lock_table_save(const struct lock_table *table, struct profile_writer *writer)
{
    profile_put_row(writer, "locks");
    profile_put_number(writer, table->begin_ns);
    profile_put_number(writer, table->end_ns);
    profile_put_number(writer, table->end_slices_ns);
    profile_put_number(writer, table->slice_ns);
#define PUT(field) profile_put_number(writer, table->counts.field);
    TABLE_COUNTERS(PUT)
#undef PUT
    for (size_t i = 0; i < table->groups.count; i++) {
        profile_put_row(writer, "lock-name");
        profile_put_word(writer, table->groups.rows[i]->name);
        profile_put_number(writer, table->groups.rows[i]->kind);
    }
    for (size_t i = 0; i < table->groups.count; i++)
        save_group(table, i, writer);
    lock_table_instances(table, save_instance, writer);
}

/* Where the profile's slices lie. */
struct slices {
    uint64_t first, length_ns; /* 0: it has none */
};

static struct slices load_window(struct lock_table *table, struct profile_reader *reader)
{
    struct slices slices = {0};
    uint64_t begin_ns = profile_number(reader, MOST), end_ns = profile_number(reader, MOST);
    uint64_t busy_ns = profile_number(reader, MOST), slice_ns = profile_number(reader, MOST);
#define ADD(field) table->counts.field += profile_number(reader, MOST);
    TABLE_COUNTERS(ADD)
#undef ADD
    if (profile_reader_result(reader) < 0)
        return slices;
    if (end_ns > table->end_ns)
        table->end_ns = end_ns;
    if (begin_ns == 0)
        return slices;
    if (__builtin_popcountll(slice_ns) != 1 || slice_ns < LOCK_FIRST_SLICE_NS ||
        busy_ns < begin_ns || busy_ns / slice_ns - begin_ns / slice_ns >= LOCK_SLICES) {
        profile_wrong(reader, "slices of time that contradict each other");
        return slices;
    }
    lock_table_stretch(table, begin_ns, busy_ns, slice_ns);
    return (struct slices){begin_ns / slice_ns, slice_ns};
}

static int load_names(struct lock_table *table, struct profile_reader *reader, uint16_t *numbers)
{
    size_t count = 0;
    for (size_t i = 0; i < LOCK_GROUPS; i++)
        numbers[i] = LOCK_NO_GROUP;
    while (profile_take_row(reader, "lock-name")) {
        const char *name = profile_word(reader);
        uint16_t kind = (uint16_t)profile_number(reader, WAIT_KIND_COUNT - 1);
        if (count == LOCK_GROUPS)
            return profile_wrong(reader, "more than %d names of locks", LOCK_GROUPS);
        if (profile_reader_result(reader) < 0)
            break;
        int group = lock_groups_find(&table->groups, name, kind);
        if (group < 0)
            return group;
        if (table->groups.rows[group]->kind == WAIT_unknown)
            table->groups.rows[group]->kind = kind;
        numbers[count++] = (uint16_t)group;
    }
    return profile_reader_result(reader);
}

static void load_thread(struct lock_group *group, struct profile_reader *reader)
{
    uint32_t pid = (uint32_t)profile_number(reader, UINT32_MAX);
    uint32_t tid = (uint32_t)profile_number(reader, UINT32_MAX);
    uint64_t values[5];
    for (size_t i = 0; i < 5; i++)
        values[i] = profile_number(reader, MOST);
    struct lock_thread *thread =
        profile_reader_result(reader) == 0 ? lock_group_thread(group, pid, tid) : NULL;
    if (!thread)
        return;
    thread->acquired += values[0];
    thread->waits += values[1];
    thread->wait_ns += values[2];
    thread->blocked += values[3];
    thread->blocked_ns += values[4];
}

static int load_group(struct lock_table *table, struct profile_reader *reader,
                      const uint16_t *numbers)
{
    uint16_t number = lock_number_load(reader, numbers);
    if (number == LOCK_NO_GROUP)
        return profile_wrong(reader, "a lock without a number");
    struct lock_group *group = table->groups.rows[number];
#define ADD(field) group->field += profile_number(reader, MOST);
    GROUP_COUNTERS(ADD)
#undef ADD
    if (profile_take_row(reader, "lock-wait"))
        profile_add_histogram(reader, &group->wait);
    if (profile_take_row(reader, "lock-hold"))
        profile_add_histogram(reader, &group->hold);
    if (profile_take_row(reader, "lock-unfinished")) {
        group->unfinished.count += profile_number(reader, MOST);
        uint64_t longest_ns = profile_number(reader, MOST);
        if (longest_ns > group->unfinished.longest_ns)
            group->unfinished.longest_ns = longest_ns;
    }
    int rc = lock_places_load(&group->waiters, "lock-waiters", numbers, reader);
    if (rc == 0)
        rc = lock_places_load(&group->holders, "lock-holders", numbers, reader);
    while (rc == 0 && profile_take_row(reader, "lock-thread"))
        load_thread(group, reader);
    while (rc == 0 && profile_take_row(reader, "lock-site")) {
        const char *frames = profile_word(reader);
        uint64_t waits = profile_number(reader, MOST), ns = profile_number(reader, MOST);
        if (profile_reader_result(reader) == 0)
            rc = lock_group_site(group, frames, waits, ns);
    }
    return rc < 0 ? rc : profile_reader_result(reader);
}

static void load_instance(struct lock_table *table, struct profile_reader *reader,
                          const uint16_t *numbers, struct slices slices)
{
    uint64_t values[LOCK_SLICES] = {0};
    uint16_t group = lock_number_load(reader, numbers);
    uint32_t pid = (uint32_t)profile_number(reader, UINT32_MAX);
    uint64_t id = profile_number(reader, UINT32_MAX) << 32;
    id |= profile_number(reader, UINT32_MAX);
    bool is_address = profile_number(reader, 1);
    uint64_t busy_ns = profile_number(reader, MOST), waits = profile_number(reader, MOST);
    uint64_t wait_ns = profile_number(reader, MOST), used = profile_number(reader, LOCK_SLICES);
    for (uint64_t i = 0; i < used; i++)
        values[i] = profile_number(reader, MOST);
    if (profile_reader_result(reader) < 0)
        return;
    if (group == LOCK_NO_GROUP || pid == 0 || (used > 0 && slices.length_ns == 0)) {
        profile_wrong(reader, "a lock that belongs to no name, process or time");
        return;
    }
    struct lock_instance *instance = lock_table_instance(table, pid, group, id, is_address);
    if (!instance)
        return; /* counted */
    instance->busy_ns += busy_ns;
    instance->waits += waits;
    instance->wait_ns += wait_ns;
    for (uint64_t i = 0; i < used; i++) {
        uint64_t slice =
            (slices.first + i) / (table->slice_ns / slices.length_ns) - table->first_slice;
        if (slice < LOCK_SLICES)
            instance->slices[slice] += values[i];
        else if (values[i] > 0)
            profile_wrong(reader, "a slice outside of the time");
    }
}

int lock_table_load(struct lock_table *table, struct profile_reader *reader, uint16_t *numbers)
{
    struct slices slices = {0};
    if (profile_take_row(reader, "locks"))
        slices = load_window(table, reader);
    int rc = load_names(table, reader, numbers);
    while (rc == 0 && profile_take_row(reader, "lock"))
        rc = load_group(table, reader, numbers);
    while (rc == 0 && profile_take_row(reader, "lock-object")) {
        load_instance(table, reader, numbers, slices);
        rc = profile_reader_result(reader);
    }
    return rc < 0 ? rc : profile_reader_result(reader);
}
