/* SPDX-License-Identifier: MIT */
/* What threads do, in a profile: docs/profile.md has the rows. */
#include <stdlib.h>

#include "contention_saved.h"
#include "err.h"
#include "profile_rows.h"

#define MOST PROFILE_MAX_NUMBER

static void save_levels(const struct flow_levels *levels, struct profile_writer *writer)
{
    uint64_t used = 0;
    if (!levels->span.any)
        return;
    for (size_t i = 0; i < FLOW_LEVELS; i++)
        used += levels->sums[i] > 0;
    profile_put_row(writer, "flow-levels");
    profile_put_number(writer, levels->span.shift);
    profile_put_number(writer, levels->span.first_ns);
    profile_put_number(writer, levels->span.last_ns);
    profile_put_number(writer, used);
    for (size_t i = 0; i < FLOW_LEVELS; i++) {
        if (levels->sums[i] == 0)
            continue;
        profile_put_number(writer, i);
        profile_put_number(writer, levels->sums[i]);
    }
}

static int load_levels(struct flow_levels *levels, struct profile_reader *reader)
{
    uint32_t shift = (uint32_t)profile_number(reader, 62);
    uint64_t first_ns = profile_number(reader, MOST), last_ns = profile_number(reader, MOST);
    uint64_t used = profile_number(reader, FLOW_LEVELS);
    if (profile_reader_result(reader) < 0)
        return profile_reader_result(reader);
    uint64_t count = (last_ns >> shift) - (first_ns >> shift) + 1;
    if (shift < 10 || last_ns < first_ns || count > FLOW_LEVELS)
        return profile_wrong(reader, "windows of time that contradict each other");
    flow_levels_cover(levels, first_ns, last_ns, shift);
    for (uint64_t i = 0; i < used; i++) {
        uint64_t window = profile_number(reader, count - 1), sum = profile_number(reader, MOST);
        window =
            (((first_ns >> shift) + window) >> (levels->span.shift - shift)) - levels->span.base;
        if (profile_reader_result(reader) == 0)
            levels->sums[window] += sum;
    }
    return profile_reader_result(reader);
}

static void save_threads(const struct flows *flows, struct profile_writer *writer)
{
    for (size_t i = 0; i < FLOW_THREADS; i++) {
        const struct flow_thread *thread = &flows->threads[i];
        if (thread->step_count == 0)
            continue;
        profile_put_row(writer, "flow-thread");
        profile_put_number(writer, thread->pid);
        profile_put_number(writer, thread->tid);
        for (size_t j = 0; j < thread->step_room; j++) {
            const struct flow_step *step = &thread->steps[j];
            if (step->count == 0)
                continue;
            profile_put_row(writer, "flow-step");
            profile_put_number(writer, step->from);
            profile_put_number(writer, step->to);
            profile_put_number(writer, step->lock);
            profile_put_number(writer, step->count);
            profile_put_number(writer, step->ns);
        }
    }
}

static int load_thread(struct flows *flows, struct profile_reader *reader, const uint16_t *numbers)
{
    uint32_t pid = (uint32_t)profile_number(reader, UINT32_MAX);
    uint32_t tid = (uint32_t)profile_number(reader, UINT32_MAX);
    int rc = profile_reader_result(reader);
    if (rc == 0 && pid == 0)
        return profile_wrong(reader, "a thread of no process");
    while (rc == 0 && profile_take_row(reader, "flow-step")) {
        struct flow_step step = {.from = lock_point_load(reader), .to = lock_point_load(reader)};
        step.lock = lock_number_load(reader, numbers);
        step.count = profile_number(reader, MOST);
        step.ns = profile_number(reader, MOST);
        rc = profile_reader_result(reader);
        if (rc == 0)
            rc = step.count ? flows_add_step(flows, pid, tid, &step)
                            : profile_wrong(reader, "a step that was never made");
    }
    return rc;
}

static void save_queues(const struct flows *flows, struct profile_writer *writer)
{
    for (size_t i = 0; i < flows->queue_count; i++) {
        const struct flow_queue *queue = &flows->queues[i];
        if (queue->ops == 0)
            continue;
        profile_put_row(writer, "flow-queue");
        profile_put_number(writer, queue->from);
        profile_put_number(writer, queue->to);
        profile_put_number(writer, queue->ops);
        profile_put_number(writer, queue->wait_ns);
        profile_put_number(writer, queue->idle_ns);
        profile_put_number(writer, queue->own);
        profile_put_number(writer, queue->unknown);
    }
}

static int load_queue(struct flows *flows, struct profile_reader *reader)
{
    uint16_t from = lock_point_load(reader), to = lock_point_load(reader);
    uint64_t values[5];
    size_t at = 0;
    for (size_t i = 0; i < 5; i++)
        values[i] = profile_number(reader, MOST);
    if (profile_reader_result(reader) < 0)
        return profile_reader_result(reader);
    while (at < flows->queue_count &&
           (flows->queues[at].from != from || flows->queues[at].to != to))
        at++;
    if (at == FLOW_QUEUES)
        return profile_wrong(reader, "more than %d queues", FLOW_QUEUES);
    if (at == flows->queue_count)
        flows->queues[flows->queue_count++] = (struct flow_queue){.from = from, .to = to};
    struct flow_queue *queue = &flows->queues[at];
    queue->ops += values[0];
    queue->wait_ns += values[1];
    queue->idle_ns += values[2];
    queue->own += values[3];
    queue->unknown += values[4];
    return 0;
}

static void save_under(const struct flows *flows, struct profile_writer *writer)
{
    for (size_t i = 0; i < LOCK_GROUPS; i++) {
        const struct lock_places *places = &flows->under[i];
        if (places->count == 0 && places->elsewhere_ns == 0)
            continue;
        profile_put_row(writer, "flow-under");
        profile_put_number(writer, i);
        profile_put_number(writer, places->elsewhere_ns);
        lock_places_save(places, "flow-place", writer);
    }
}

static int load_under(struct flows *flows, struct profile_reader *reader, const uint16_t *numbers)
{
    uint16_t lock = lock_number_load(reader, numbers);
    uint64_t elsewhere_ns = profile_number(reader, MOST);
    if (profile_reader_result(reader) < 0)
        return profile_reader_result(reader);
    if (lock == LOCK_NO_GROUP)
        return profile_wrong(reader, "what is done under no lock");
    flows->under[lock].elsewhere_ns += elsewhere_ns;
    return lock_places_load(&flows->under[lock], "flow-place", numbers, reader);
}

void flows_save(const struct flows *flows, struct profile_writer *writer)
{
    profile_put_row(writer, "flows");
    profile_put_number(writer, flows->begin_ns);
    profile_put_number(writer, flows->end_ns);
    profile_put_number(writer, flows->no_thread);
    profile_put_number(writer, flows->no_step);
    save_levels(&flows->levels, writer);
    save_queues(flows, writer);
    save_threads(flows, writer);
    save_under(flows, writer);
}

static int load_window(struct flows *flows, struct profile_reader *reader)
{
    uint64_t begin_ns = profile_number(reader, MOST), end_ns = profile_number(reader, MOST);
    flows->no_thread += profile_number(reader, MOST);
    flows->no_step += profile_number(reader, MOST);
    if (begin_ns && (flows->begin_ns == 0 || begin_ns < flows->begin_ns))
        flows->begin_ns = begin_ns;
    if (begin_ns && end_ns > flows->end_ns)
        flows->end_ns = end_ns;
    return profile_reader_result(reader);
}

int flows_load(struct flows *flows, struct profile_reader *reader, const uint16_t *numbers)
{
    int rc = profile_take_row(reader, "flows") ? load_window(flows, reader) : 0;
    if (rc == 0 && profile_take_row(reader, "flow-levels"))
        rc = load_levels(&flows->levels, reader);
    while (rc == 0 && profile_take_row(reader, "flow-queue"))
        rc = load_queue(flows, reader);
    while (rc == 0 && profile_take_row(reader, "flow-thread"))
        rc = load_thread(flows, reader, numbers);
    while (rc == 0 && profile_take_row(reader, "flow-under"))
        rc = load_under(flows, reader, numbers);
    return rc < 0 ? rc : profile_reader_result(reader);
}

void contention_save(void *state, const struct saved_paths *paths, struct profile_writer *writer)
{
    const struct contention *contention = state;
    (void)paths;
    lock_table_save(contention->locks, writer);
    flows_save(&contention->flows, writer);
}

int contention_load(void *state, const struct saved_paths *paths, struct profile_reader *reader)
{
    struct contention *contention = state;
    uint16_t numbers[LOCK_GROUPS];
    (void)paths;
    int rc = lock_table_load(contention->locks, reader, numbers);
    return rc < 0 ? rc : flows_load(&contention->flows, reader, numbers);
}
