/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "err.h"
#include "key_table.h"
#include "open_trails.h"
#include "thread_table.h"
#include "trail.h"

#define NONE OPEN_TRAILS_NONE

struct trail_builder {
    struct open_trails trails;
    struct thread_table threads;
    uint64_t newest_ns;
    bool pauses; /* the tracer looks only for a part of the time */
};

int trail_builder_new(const struct trail_limits *limits, trail_callback *callback, void *context,
                      struct trail_builder **result)
{
    struct trail_builder *builder = calloc(1, sizeof(*builder));
    if (!builder)
        return err_no_memory();
    int rc = open_trails_init(&builder->trails, limits, callback, context);
    if (rc == 0)
        rc = thread_table_init(&builder->threads);
    if (rc < 0) {
        trail_builder_free(builder);
        return rc;
    }
    *result = builder;
    return 0;
}

void trail_builder_free(struct trail_builder *builder)
{
    if (!builder)
        return;
    open_trails_free(&builder->trails);
    thread_table_free(&builder->threads);
    free(builder);
}

const struct trail_counts *trail_builder_counts(const struct trail_builder *builder)
{
    return &builder->trails.counts;
}

static void unmatched(struct trail_builder *builder, const struct key_name *name, bool keyed,
                      enum event_role role)
{
    bool after = keyed && open_trails_was_name(&builder->trails, name);

    if (keyed && !after && role == ROLE_FINISH)
        builder->trails.counts.begun_before++;
    if (builder->pauses) {
        builder->trails.counts.at_pauses++;
        return;
    }
    builder->trails.counts.unmatched++;
    if (after)
        builder->trails.counts.of_which_after_finish++;
    else if (keyed)
        builder->trails.counts.of_which_before_start++;
}

/* Between a pause and the next start that is told nothing is known of the process: its open ops
 * are cut, its old names mean nothing any more. */
static int resume(struct trail_builder *builder, uint32_t pid)
{
    for (uint32_t slot = builder->trails.oldest, next; slot != NONE; slot = next) {
        next = builder->trails.slots[slot].newer;
        if (builder->trails.slots[slot].trail.pid != pid)
            continue;
        int rc = open_trails_close(&builder->trails, slot, TRAIL_CUT);
        if (rc < 0)
            return rc;
    }
    open_trails_forget_names(&builder->trails, pid);
    return 0;
}

static int pause_or_resume(struct trail_builder *builder, const struct optrail_event *event)
{
    builder->trails.counts.notes++;
    builder->pauses = true;
    if (point_rows[event->point].role == ROLE_RESUME)
        return resume(builder, event->pid);
    builder->trails.counts.traced_ns += event->arg0 / (event->arg1 ? event->arg1 : 1);
    return 0;
}

/* The slot of the op that the thread works for; NONE if it works for none that is still open. */
static uint32_t current_slot(struct trail_builder *builder, uint32_t pid, uint32_t tid)
{
    struct thread_stack *stack = thread_table_find(&builder->threads, pid, tid);
    while (stack && stack->depth > 0) {
        struct trail_reference top = stack->stack[stack->depth - 1];
        if (builder->trails.slots[top.slot].in_use &&
            builder->trails.slots[top.slot].generation == top.generation)
            return top.slot;
        stack->depth--; /* that op has ended meanwhile */
    }
    return NONE;
}

bool trail_builder_current(struct trail_builder *builder, uint32_t pid, uint32_t tid, uint64_t *op,
                           uint16_t *point)
{
    uint32_t slot = current_slot(builder, pid, tid);
    if (slot == NONE)
        return false;
    const struct open_trail *open = &builder->trails.slots[slot];
    *op = open->trail.key;
    *point = open->marks[open->trail.mark_count - 1].point;
    return true;
}

static int link_name(struct trail_builder *builder, uint32_t slot,
                     const struct optrail_event *event)
{
    struct open_trail *open = &builder->trails.slots[slot];
    if (event->arg1 <= KEY_CURRENT || event->arg1 >= KEY_COUNT ||
        open->name_count == OPEN_TRAIL_NAMES) {
        open->trail.truncated = true; /* what follows under that name is missing */
        return 0;
    }
    struct key_name name = {event->arg0, event->pid, (uint32_t)event->arg1};
    if (key_table_find(&builder->trails.keys, &name) == slot)
        return 0;
    return open_trails_bind(&builder->trails, slot, &name);
}

/* The op goes on under another name; another op may begin under its first one. */
static int move_name(struct trail_builder *builder, uint32_t slot,
                     const struct optrail_event *event)
{
    struct open_trail *open = &builder->trails.slots[slot];
    for (int i = 0; i < open->name_count; i++) {
        if (open->names[i].kind != KEY_OP)
            continue;
        open_trails_unbind(&builder->trails, slot, i);
        break;
    }
    return link_name(builder, slot, event);
}

/* When a stamped thing happened. A stamp from the future, or from before anything we would still
 * wait for, is not believed: the event's own time stands in for it. */
static uint64_t stamp_time(struct trail_builder *builder, const struct optrail_event *event)
{
    if (event->arg0 <= event->time_ns &&
        event->time_ns - event->arg0 <= builder->trails.limits.timeout_ns)
        return event->arg0;
    builder->trails.counts.stamps_refused++;
    return event->time_ns;
}

static int apply_role(struct trail_builder *builder, uint32_t slot, enum event_role role,
                      const struct optrail_event *event)
{
    struct open_trail *open = &builder->trails.slots[slot];
    struct trail_reference reference = {slot, open->generation};
    struct thread_stack *stack;
    uint16_t branch = role == ROLE_FORK || role == ROLE_JOIN ? (uint16_t)event->arg0 : 0;

    uint64_t time_ns = role == ROLE_STAMP ? stamp_time(builder, event) : event->time_ns;
    int rc = open_trails_mark(&builder->trails, slot, event, time_ns, branch);
    if (rc < 0)
        return rc;
    switch (role) {
    case ROLE_ANSWER:
        open->trail.bytes_in = event->arg0;
        open->trail.bytes_out = event->arg1;
        /* fall through */
    case ROLE_ENTER:
        stack = thread_table_get(&builder->threads, event->pid, event->tid);
        if (!stack)
            return -ENOMEM;
        thread_stack_push(stack, reference);
        return 0;
    case ROLE_LEAVE:
        stack = thread_table_find(&builder->threads, event->pid, event->tid);
        if (stack && point_rows[event->point].key == KEY_CURRENT)
            stack->depth = 0;
        else if (stack)
            thread_stack_remove(stack, reference);
        return 0;
    case ROLE_LINK:
        return link_name(builder, slot, event);
    case ROLE_IDENTIFY:
        open->trail.client = event->arg0;
        open->trail.tid = event->arg1;
        return 0;
    case ROLE_FORK:
        open->open_branches++;
        return 0;
    case ROLE_JOIN:
        if (open->open_branches > 0)
            open->open_branches--;
        if (open->open_branches == 0 && open->answered)
            return open_trails_close(&builder->trails, slot, TRAIL_FINISHED);
        return 0;
    case ROLE_MOVE:
        return move_name(builder, slot, event);
    case ROLE_RELEASE:
        open->open_branches = 0;
        /* fall through */
    case ROLE_FINISH:
        if (!open->answered) {
            open->answered = true;
            open->trail.finish_ns = event->time_ns;
            if (event->arg0 || event->arg1) {
                open->trail.bytes_in = event->arg0;
                open->trail.bytes_out = event->arg1;
            }
        }
        return open->open_branches == 0 ? open_trails_close(&builder->trails, slot, TRAIL_FINISHED)
                                        : 0;
    case ROLE_END:
        return open_trails_close(&builder->trails, slot, TRAIL_KEY_ENDED);
    default:
        return 0;
    }
}

/* A key that ops only come to by a LINK: under one that none was linked to the daemon does work of
 * its own, which is no op's. */
static bool is_of_no_op(enum key_kind kind)
{
    return kind == KEY_SEQUENCE || kind == KEY_CONTEXT || kind == KEY_STORE_OP ||
           kind == KEY_MESSAGE || kind == KEY_SUBOP;
}

int trail_builder_event(struct trail_builder *builder, const struct optrail_event *event)
{
    if (event->point >= POINT_COUNT)
        return err_set(EINVAL, "an event has point %u, which the catalogue does not have",
                       event->point);
    if (event->time_ns < builder->newest_ns)
        builder->trails.counts.backwards++;
    else
        builder->newest_ns = event->time_ns;

    int rc = open_trails_close_overdue(&builder->trails, event->time_ns);
    if (rc < 0)
        return rc;

    const struct point_row *row = &point_rows[event->point];
    if (row->role == ROLE_NOTE || row->role == ROLE_TEXT) {
        builder->trails.counts.notes++;
        return 0;
    }
    if (row->role == ROLE_PAUSE || row->role == ROLE_RESUME)
        return pause_or_resume(builder, event);
    struct key_name name = {event->key, event->pid, row->key};
    bool keyed = row->key != KEY_CURRENT;
    if (row->role == ROLE_START && keyed)
        return open_trails_start(&builder->trails, event, &name);

    uint32_t slot = keyed ? key_table_find(&builder->trails.keys, &name)
                          : current_slot(builder, event->pid, event->tid);
    if (slot == NONE) {
        /* the memory of an answered op is given back, or a thread leaves what has ended: as it
         * should be */
        bool past = keyed && open_trails_was_name(&builder->trails, &name);
        if (((row->role == ROLE_END || row->role == ROLE_RELEASE) && past) ||
            (row->role == ROLE_LEAVE && !keyed))
            builder->trails.counts.joined++;
        else if (is_of_no_op(row->key) && !past)
            builder->trails.counts.notes++;
        else
            unmatched(builder, &name, keyed, row->role);
        return 0;
    }
    builder->trails.counts.joined++;
    return apply_role(builder, slot, row->role, event);
}

int trail_builder_lost(struct trail_builder *builder, uint64_t begin_ns, uint64_t end_ns)
{
    (void)begin_ns; /* whatever is open now was open then, or began after it */
    if (end_ns > builder->trails.lost_until_ns)
        builder->trails.lost_until_ns = end_ns;
    for (uint32_t slot = builder->trails.oldest; slot != NONE;
         slot = builder->trails.slots[slot].newer)
        if (builder->trails.slots[slot].trail.start_ns <= end_ns)
            builder->trails.slots[slot].lossy = true;
    return 0;
}

int trail_builder_end(struct trail_builder *builder)
{
    while (builder->trails.oldest != NONE) {
        int rc = open_trails_close(&builder->trails, builder->trails.oldest,
                                   builder->pauses ? TRAIL_CUT : TRAIL_OPEN);
        if (rc < 0)
            return rc;
    }
    return 0;
}
