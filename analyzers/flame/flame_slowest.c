/* SPDX-License-Identifier: MIT */
#include "flame_slowest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"

#define MOST_WAITS 256
#define OPS_PID    2147483647u /* of the group of tracks that are of ops, not of a process */

struct slow_wait {
    struct lock_wait wait;
    char lock[96];
};

struct slow_op {
    const struct path *path; /* weak; NULL: none matched */
    const char *type;        /* weak: the path's, or static */
    uint64_t start_ns, finish_ns;
    uint64_t client, tid;
    uint32_t pid;
    size_t mark_count, span_count, wait_count;
    struct trail_mark *marks; /* owned, as the others */
    struct flame_span *spans;
    struct slow_wait *waits;
    size_t waits_left_out;
};

struct flame_slowest {
    size_t room, count;
    struct slow_op *last; /* weak: the one that was kept last */
    struct slow_op ops[]; /* the slowest first */
};

int flame_slowest_new(size_t count, struct flame_slowest **slowest)
{
    struct flame_slowest *made = calloc(1, sizeof(*made) + count * sizeof(made->ops[0]));
    if (!made)
        return err_no_memory();
    made->room = count;
    *slowest = made;
    return 0;
}

static void clear(struct slow_op *op)
{
    free(op->marks);
    free(op->spans);
    free(op->waits);
    *op = (struct slow_op){0};
}

void flame_slowest_free(struct flame_slowest *slowest)
{
    for (size_t i = 0; slowest && i < slowest->count; i++)
        clear(&slowest->ops[i]);
    free(slowest);
}

static uint64_t latency_of(const struct slow_op *op)
{
    return op->finish_ns - op->start_ns;
}

static void *copy(const void *rows, size_t count, size_t size)
{
    void *copied = malloc(count * size + 1);
    if (copied && count > 0)
        memcpy(copied, rows, count * size);
    return copied;
}

int flame_slowest_take(struct flame_slowest *slowest, const struct flame_op *op, bool *kept)
{
    const struct trail *trail = op->trail;
    *kept = slowest->count < slowest->room ||
            op->latency_ns > latency_of(&slowest->ops[slowest->count - 1]);
    if (!*kept)
        return 0;
    struct slow_op made = {.path = op->match.path,
                           .type = op->type,
                           .start_ns = trail->start_ns,
                           .finish_ns = trail->finish_ns,
                           .client = trail->client,
                           .tid = trail->tid,
                           .pid = trail->pid,
                           .mark_count = trail->mark_count,
                           .span_count = op->span_count};
    made.marks = copy(trail->marks, trail->mark_count, sizeof(*made.marks));
    made.spans = copy(op->spans, op->span_count, sizeof(*made.spans));
    if (!made.marks || !made.spans) {
        clear(&made);
        return err_no_memory();
    }
    if (slowest->count == slowest->room)
        clear(&slowest->ops[--slowest->count]);
    size_t at = slowest->count++;
    for (; at > 0 && latency_of(&slowest->ops[at - 1]) < op->latency_ns; at--)
        slowest->ops[at] = slowest->ops[at - 1];
    slowest->ops[at] = made;
    slowest->last = &slowest->ops[at];
    return 0;
}

int flame_slowest_wait(struct flame_slowest *slowest, const struct lock_wait *wait,
                       const char *lock)
{
    struct slow_op *op = slowest->last;
    if (op->wait_count == MOST_WAITS) {
        op->waits_left_out++;
        return 0;
    }
    struct slow_wait *waits = realloc(op->waits, (op->wait_count + 1) * sizeof(*waits));
    if (!waits)
        return err_no_memory();
    op->waits = waits;
    waits[op->wait_count].wait = *wait;
    snprintf(waits[op->wait_count++].lock, sizeof(waits->lock), "%s", lock);
    return 0;
}

static int name_text(struct flame_timeline *timeline, const char *text, uint32_t *name)
{
    return flame_name(&timeline->names, text, strlen(text), name);
}

static int thread_track(struct flame_timeline *timeline, uint32_t pid, uint32_t tid,
                        uint32_t *track)
{
    struct flame_track made = {.pid = pid, .tid = tid};
    char text[32];
    snprintf(text, sizeof(text), "process %" PRIu32, pid);
    int result = name_text(timeline, text, &made.group);
    snprintf(text, sizeof(text), "thread %" PRIu32, tid);
    if (result == 0)
        result = name_text(timeline, text, &made.name);
    return result == 0 ? flame_timeline_track(timeline, &made, track) : result;
}

static const char *stage_name(const struct slow_op *op, int stage)
{
    return stage < 0 ? "unattributed" : op->path->stages[stage].name;
}

/* The stage that the op was in at this time. */
static const char *stage_at(const struct slow_op *op, uint64_t time_ns)
{
    for (size_t i = 0; i < op->span_count; i++)
        if (time_ns >= op->spans[i].begin_ns && time_ns < op->spans[i].end_ns)
            return stage_name(op, op->spans[i].stage);
    return op->type;
}

static int add_slice(struct flame_timeline *timeline, uint32_t track, const char *category,
                     const char *name, const char *detail, uint64_t begin_ns, uint64_t end_ns)
{
    struct flame_slice slice = {.track = track, .begin_ns = begin_ns, .end_ns = end_ns};
    if (end_ns <= begin_ns)
        return 0;
    int result = name_text(timeline, name, &slice.name);
    if (result == 0)
        result = name_text(timeline, category, &slice.category);
    if (result == 0)
        result = name_text(timeline, detail, &slice.detail);
    return result == 0 ? flame_timeline_slice(timeline, &slice) : result;
}

/* The op and its stages, on a track of their own. */
static int tell_op(struct flame_timeline *timeline, const struct slow_op *op, uint32_t number,
                   const char *label)
{
    struct flame_track made = {.pid = OPS_PID, .tid = number + 1};
    uint32_t track;
    int result = name_text(timeline, "slowest ops", &made.group);
    if (result == 0)
        result = name_text(timeline, label, &made.name);
    if (result == 0)
        result = flame_timeline_track(timeline, &made, &track);
    if (result == 0)
        result = add_slice(timeline, track, "op", op->type, label, op->start_ns, op->finish_ns);
    for (size_t i = 0; result == 0 && i < op->span_count; i++)
        result = add_slice(timeline, track, "stage", stage_name(op, op->spans[i].stage), "",
                           op->spans[i].begin_ns, op->spans[i].end_ns);
    return result;
}

static int add_flow(struct flame_timeline *timeline, const char *name, uint32_t from,
                    uint64_t from_ns, uint32_t to, uint64_t to_ns)
{
    struct flame_flow flow = {
        .from_track = from, .from_ns = from_ns, .to_track = to, .to_ns = to_ns};
    int result = name_text(timeline, name, &flow.name);
    return result == 0 ? flame_timeline_flow(timeline, &flow) : result;
}

/* What threads did for the op: between two of its marks on the same thread, that thread worked for
 * it. Where it goes on on another thread, an arrow leads there. */
static int tell_threads(struct flame_timeline *timeline, const struct slow_op *op,
                        const char *label)
{
    uint32_t track, last_track = 0;
    uint64_t last_end = 0;
    int result = 0;
    for (size_t i = 0; result == 0 && i < op->mark_count;) {
        const struct trail_mark *first = &op->marks[i];
        size_t end = i + 1;
        while (end < op->mark_count && op->marks[end].tid == first->tid)
            end++;
        uint64_t until = op->marks[end - 1].time_ns;
        result = thread_track(timeline, op->pid, first->tid, &track);
        if (result == 0)
            result = add_slice(timeline, track, "op", label, "", first->time_ns, until);
        for (size_t at = i; result == 0 && at + 1 < end; at++)
            result = add_slice(timeline, track, "stage", stage_at(op, op->marks[at].time_ns), label,
                               op->marks[at].time_ns, op->marks[at + 1].time_ns);
        if (result == 0 && until > first->time_ns) {
            if (last_end > 0)
                result =
                    add_flow(timeline, "goes on", last_track, last_end - 1, track, first->time_ns);
            last_track = track;
            last_end = until;
        }
        i = end;
    }
    return result;
}

/* A wait, and who held the lock meanwhile: the owner at its beginning, or else who released it. */
static int tell_wait(struct flame_timeline *timeline, const struct slow_op *op,
                     const struct slow_wait *slow, const char *label)
{
    const struct lock_wait *wait = &slow->wait;
    uint32_t holder_tid = wait->releaser_tid ? wait->releaser_tid : wait->owner_tid;
    uint32_t waiter = 0, holder = 0;
    char name[128];
    snprintf(name, sizeof(name), "waits for %s", slow->lock);
    int result = thread_track(timeline, op->pid, wait->tid, &waiter);
    if (result == 0)
        result = add_slice(timeline, waiter, "wait", name, label, wait->begin_ns, wait->end_ns);
    if (result < 0 || !holder_tid || holder_tid == wait->tid || wait->end_ns <= wait->begin_ns)
        return result;
    uint64_t since = wait->begin_ns;
    if (wait->hold_ns > 0 && wait->hold_ns < wait->end_ns - wait->begin_ns)
        since = wait->end_ns - wait->hold_ns;
    snprintf(name, sizeof(name), "holds %s", slow->lock);
    result = thread_track(timeline, op->pid, holder_tid, &holder);
    if (result == 0)
        result = add_slice(timeline, holder, "hold", name, label, since, wait->end_ns);
    if (result == 0)
        result = add_flow(timeline, "waits for", waiter, wait->begin_ns, holder, since);
    return result;
}

int flame_slowest_tell(const struct flame_slowest *slowest, struct flame_timeline *timeline)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < slowest->count; i++) {
        const struct slow_op *op = &slowest->ops[i];
        char label[128];
        snprintf(label, sizeof(label), "%s %.3f ms, client %" PRIu64 ".%" PRIu64, op->type,
                 (double)latency_of(op) / 1e6, op->client, op->tid);
        result = tell_op(timeline, op, (uint32_t)i, label);
        if (result == 0)
            result = tell_threads(timeline, op, label);
        for (size_t j = 0; result == 0 && j < op->wait_count; j++)
            result = tell_wait(timeline, op, &op->waits[j], label);
        if (result == 0 && op->waits_left_out > 0)
            result = flame_timeline_note(timeline, "%s: %zu of its waits are left out", label,
                                         op->waits_left_out);
    }
    if (result == 0)
        flame_timeline_finish(timeline);
    return result;
}
