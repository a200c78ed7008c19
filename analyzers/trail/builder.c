/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "key_table.h"
#include "thread_table.h"
#include "trail.h"

#define DEFAULT_TIMEOUT_NS  (60ull * 1000 * 1000 * 1000)
#define DEFAULT_OPEN_TRAILS 16384
#define DEFAULT_MARKS       1024
/* a trail begins with room for this many marks, and goes back to it when it ends */
#define FIRST_MARKS 32
/* Marks allocated over all trails, about 16 MiB at most. Beyond it no trail grows, and a new one
 * evicts the oldest: a daemon that never answers must not eat the analyst's memory. */
#define MARK_BUDGET (1u << 20)
/* names a trail may live under at once; further links are not joined, and counted so */
#define MAX_NAMES 6
/* Names that were in use lately, to tell an event that comes after its op was answered from one
 * whose op we never saw begin. A direct-mapped memory: old names are simply overwritten. */
#define PAST_NAMES 32768

#define NONE UINT32_MAX

struct open_trail {
    struct trail trail;
    struct trail_mark *marks; /* owned */
    size_t capacity;
    uint32_t generation;
    uint32_t older, newer; /* list by start; `newer` also chains the free slots */
    uint32_t open_branches;
    uint8_t name_count;
    bool in_use;
    bool lossy;    /* events were lost while it was open */
    bool answered; /* its finish was seen; it waits for a branch beside it */
    struct key_name names[MAX_NAMES];
};

struct trail_builder {
    struct trail_limits limits;
    trail_callback *callback;
    void *context;
    struct key_table keys;
    struct thread_table threads;
    struct key_name *past;    /* owned, PAST_NAMES */
    struct open_trail *slots; /* owned */
    size_t slot_count, slot_capacity;
    uint32_t free_slot;
    uint32_t oldest, newest;
    size_t marks_allocated;
    uint64_t newest_ns;
    uint64_t lost_until_ns;
    bool pauses; /* the tracer looks only for a part of the time */
    struct trail_counts counts;
};

int trail_builder_new(const struct trail_limits *limits, trail_callback *callback, void *context,
                      struct trail_builder **result)
{
    struct trail_builder *builder = calloc(1, sizeof(*builder));
    if (!builder)
        return err_no_memory();
    if (limits)
        builder->limits = *limits;
    if (builder->limits.timeout_ns == 0)
        builder->limits.timeout_ns = DEFAULT_TIMEOUT_NS;
    if (builder->limits.open_trails == 0)
        builder->limits.open_trails = DEFAULT_OPEN_TRAILS;
    if (builder->limits.marks == 0)
        builder->limits.marks = DEFAULT_MARKS;
    builder->callback = callback;
    builder->context = context;
    builder->free_slot = builder->oldest = builder->newest = NONE;
    builder->past = calloc(PAST_NAMES, sizeof(*builder->past));
    int rc = builder->past ? 0 : err_no_memory();
    if (rc == 0)
        rc = key_table_init(&builder->keys);
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
    for (size_t i = 0; i < builder->slot_count; i++)
        free(builder->slots[i].marks);
    free(builder->slots);
    free(builder->past);
    key_table_free(&builder->keys);
    thread_table_free(&builder->threads);
    free(builder);
}

const struct trail_counts *trail_builder_counts(const struct trail_builder *builder)
{
    return &builder->counts;
}

/* Ending a trail */

static void forget(struct trail_builder *builder, uint32_t slot)
{
    struct open_trail *open = &builder->slots[slot];
    /* its first name last: if two fall into one place of the past, that one is asked for more */
    for (int i = open->name_count; i-- > 0;) {
        const struct key_name *name = &open->names[i];
        key_table_remove(&builder->keys, name, slot);
        builder->past[key_name_hash(name) % PAST_NAMES] = *name;
    }
    if (open->older == NONE)
        builder->oldest = open->newer;
    else
        builder->slots[open->older].newer = open->newer;
    if (open->newer == NONE)
        builder->newest = open->older;
    else
        builder->slots[open->newer].older = open->older;
    open->in_use = false;
    open->generation++;
    if (open->capacity > FIRST_MARKS) {
        builder->marks_allocated -= open->capacity;
        free(open->marks);
        open->marks = NULL;
        open->capacity = 0;
    }
    open->newer = builder->free_slot;
    builder->free_slot = slot;
}

static int close_trail(struct trail_builder *builder, uint32_t slot, enum trail_end reason)
{
    struct open_trail *open = &builder->slots[slot];
    struct trail *trail = &open->trail;
    /* an answered op that only waited for a branch beside it counts as what it is: finished */
    if (open->answered)
        reason = open->lossy ? TRAIL_LOST_EVENTS : TRAIL_FINISHED;
    else if (open->lossy && reason != TRAIL_KEY_ENDED)
        reason = TRAIL_LOST_EVENTS;
    trail->end = reason;
    trail->marks = open->marks;
    builder->counts.ended[reason]++;
    int rc = builder->callback ? builder->callback(builder->context, trail) : 0;
    forget(builder, slot);
    return rc;
}

/* Beginning a trail */

static int add_mark(struct trail_builder *builder, uint32_t slot, const struct optrail_event *event,
                    uint64_t time_ns, uint16_t branch)
{
    struct open_trail *open = &builder->slots[slot];
    struct trail *trail = &open->trail;

    trail->seen[event->point / 64] |= 1ull << (event->point % 64);
    if (trail->mark_count == open->capacity) {
        size_t capacity = open->capacity ? 2 * open->capacity : FIRST_MARKS;
        if (open->capacity >= builder->limits.marks ||
            (open->capacity && builder->marks_allocated >= MARK_BUDGET)) {
            trail->truncated = true;
            return 0;
        }
        struct trail_mark *marks = realloc(open->marks, capacity * sizeof(*marks));
        if (!marks)
            return err_no_memory();
        builder->marks_allocated += capacity - open->capacity;
        open->marks = marks;
        open->capacity = capacity;
    }
    /* stamps, and events that come a little out of order, go to where they belong in time */
    size_t at = trail->mark_count++;
    for (; at > 0 && open->marks[at - 1].time_ns > time_ns; at--)
        open->marks[at] = open->marks[at - 1];
    open->marks[at] = (struct trail_mark){
        .time_ns = time_ns, .tid = event->tid, .point = event->point, .branch = branch};
    trail->start_ns = open->marks[0].time_ns;
    return 0;
}

static int take_slot(struct trail_builder *builder, uint32_t *slot)
{
    while (builder->oldest != NONE &&
           ((builder->free_slot == NONE && builder->slot_count >= builder->limits.open_trails) ||
            builder->marks_allocated > MARK_BUDGET)) {
        int rc = close_trail(builder, builder->oldest, TRAIL_EVICTED);
        if (rc < 0)
            return rc;
    }
    if (builder->free_slot != NONE) {
        *slot = builder->free_slot;
        builder->free_slot = builder->slots[*slot].newer;
        return 0;
    }
    if (builder->slot_count == builder->slot_capacity) {
        size_t capacity = builder->slot_capacity ? 2 * builder->slot_capacity : 64;
        struct open_trail *slots = realloc(builder->slots, capacity * sizeof(*slots));
        if (!slots)
            return err_no_memory();
        builder->slots = slots;
        builder->slot_capacity = capacity;
    }
    *slot = (uint32_t)builder->slot_count++;
    memset(&builder->slots[*slot], 0, sizeof(builder->slots[*slot]));
    return 0;
}

static int bind_name(struct trail_builder *builder, uint32_t slot, const struct key_name *name)
{
    struct open_trail *open = &builder->slots[slot];
    int rc = key_table_put(&builder->keys, name, slot);
    if (rc == 0)
        open->names[open->name_count++] = *name;
    return rc;
}

static int start_trail(struct trail_builder *builder, const struct optrail_event *event,
                       const struct key_name *name)
{
    uint32_t slot = key_table_find(&builder->keys, name);
    int rc = 0;
    if (slot != KEY_TABLE_NONE)
        rc = close_trail(builder, slot, TRAIL_KEY_REUSED);
    if (rc == 0)
        rc = take_slot(builder, &slot);
    if (rc < 0)
        return rc;

    struct open_trail *open = &builder->slots[slot];
    open->trail = (struct trail){
        .key = event->key, .pid = event->pid, .type = event->arg0, .client = event->arg1};
    open->open_branches = 0;
    open->name_count = 0;
    open->in_use = true;
    open->answered = false;
    open->lossy = event->time_ns <= builder->lost_until_ns;
    open->newer = NONE;
    open->older = builder->newest;
    if (builder->newest == NONE)
        builder->oldest = slot;
    else
        builder->slots[builder->newest].newer = slot;
    builder->newest = slot;

    rc = bind_name(builder, slot, name);
    if (rc == 0)
        rc = add_mark(builder, slot, event, event->time_ns, 0);
    builder->counts.joined++;
    return rc;
}

/* Everything else that happens to it */

static void unmatched(struct trail_builder *builder, const struct key_name *name, bool keyed,
                      enum event_role role)
{
    bool after = keyed && key_name_equal(&builder->past[key_name_hash(name) % PAST_NAMES], name);

    if (keyed && !after && role == ROLE_FINISH)
        builder->counts.begun_before++;
    if (builder->pauses) {
        builder->counts.at_pauses++;
        return;
    }
    builder->counts.unmatched++;
    if (after)
        builder->counts.of_which_after_finish++;
    else if (keyed)
        builder->counts.of_which_before_start++;
}

/* Between a pause and the next start that is told nothing is known of the process: its open ops
 * are cut, its old names mean nothing any more. */
static int resume(struct trail_builder *builder, uint32_t pid)
{
    for (uint32_t slot = builder->oldest, next; slot != NONE; slot = next) {
        next = builder->slots[slot].newer;
        if (builder->slots[slot].trail.pid != pid)
            continue;
        int rc = close_trail(builder, slot, TRAIL_CUT);
        if (rc < 0)
            return rc;
    }
    for (size_t i = 0; i < PAST_NAMES; i++)
        if (builder->past[i].pid == pid)
            builder->past[i] = (struct key_name){0};
    return 0;
}

static int pause_or_resume(struct trail_builder *builder, const struct optrail_event *event)
{
    builder->counts.notes++;
    builder->pauses = true;
    if (point_rows[event->point].role == ROLE_RESUME)
        return resume(builder, event->pid);
    builder->counts.traced_ns += event->arg0 / (event->arg1 ? event->arg1 : 1);
    return 0;
}

/* The slot of the op that the thread works for; NONE if it works for none that is still open. */
static uint32_t current_slot(struct trail_builder *builder, uint32_t pid, uint32_t tid)
{
    struct thread_stack *stack = thread_table_find(&builder->threads, pid, tid);
    while (stack && stack->depth > 0) {
        struct trail_reference top = stack->stack[stack->depth - 1];
        if (builder->slots[top.slot].in_use &&
            builder->slots[top.slot].generation == top.generation)
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
    const struct open_trail *open = &builder->slots[slot];
    *op = open->trail.key;
    *point = open->marks[open->trail.mark_count - 1].point;
    return true;
}

static int link_name(struct trail_builder *builder, uint32_t slot,
                     const struct optrail_event *event)
{
    struct open_trail *open = &builder->slots[slot];
    if (event->arg1 <= KEY_CURRENT || event->arg1 >= KEY_COUNT || open->name_count == MAX_NAMES) {
        open->trail.truncated = true; /* what follows under that name is missing */
        return 0;
    }
    struct key_name name = {event->arg0, event->pid, (uint32_t)event->arg1};
    if (key_table_find(&builder->keys, &name) == slot)
        return 0;
    return bind_name(builder, slot, &name);
}

/* The op goes on under another name; another op may begin under its first one. */
static int move_name(struct trail_builder *builder, uint32_t slot,
                     const struct optrail_event *event)
{
    struct open_trail *open = &builder->slots[slot];
    for (int i = 0; i < open->name_count; i++) {
        struct key_name name = open->names[i];
        if (name.kind != KEY_OP)
            continue;
        key_table_remove(&builder->keys, &name, slot);
        builder->past[key_name_hash(&name) % PAST_NAMES] = name;
        open->names[i] = open->names[--open->name_count];
        break;
    }
    return link_name(builder, slot, event);
}

/* When a stamped thing happened. A stamp from the future, or from before anything we would still
 * wait for, is not believed: the event's own time stands in for it. */
static uint64_t stamp_time(struct trail_builder *builder, const struct optrail_event *event)
{
    if (event->arg0 <= event->time_ns && event->time_ns - event->arg0 <= builder->limits.timeout_ns)
        return event->arg0;
    builder->counts.stamps_refused++;
    return event->time_ns;
}

static int apply_role(struct trail_builder *builder, uint32_t slot, enum event_role role,
                      const struct optrail_event *event)
{
    struct open_trail *open = &builder->slots[slot];
    struct trail_reference reference = {slot, open->generation};
    struct thread_stack *stack;
    uint16_t branch = role == ROLE_FORK || role == ROLE_JOIN ? (uint16_t)event->arg0 : 0;

    uint64_t time_ns = role == ROLE_STAMP ? stamp_time(builder, event) : event->time_ns;
    int rc = add_mark(builder, slot, event, time_ns, branch);
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
            return close_trail(builder, slot, TRAIL_FINISHED);
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
        return open->open_branches == 0 ? close_trail(builder, slot, TRAIL_FINISHED) : 0;
    case ROLE_END:
        return close_trail(builder, slot, TRAIL_KEY_ENDED);
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

/* Closes what has been open for too long; the list is by start, so only its head is looked at. */
static int close_overdue(struct trail_builder *builder, uint64_t now_ns)
{
    while (builder->oldest != NONE) {
        struct open_trail *oldest = &builder->slots[builder->oldest];
        if (now_ns <= oldest->trail.start_ns ||
            now_ns - oldest->trail.start_ns <= builder->limits.timeout_ns)
            return 0;
        int rc = close_trail(builder, builder->oldest, TRAIL_TIMEOUT);
        if (rc < 0)
            return rc;
    }
    return 0;
}

int trail_builder_event(struct trail_builder *builder, const struct optrail_event *event)
{
    if (event->point >= POINT_COUNT)
        return err_set(EINVAL, "an event has point %u, which the catalogue does not have",
                       event->point);
    if (event->time_ns < builder->newest_ns)
        builder->counts.backwards++;
    else
        builder->newest_ns = event->time_ns;

    int rc = close_overdue(builder, event->time_ns);
    if (rc < 0)
        return rc;

    const struct point_row *row = &point_rows[event->point];
    if (row->role == ROLE_NOTE || row->role == ROLE_TEXT) {
        builder->counts.notes++;
        return 0;
    }
    if (row->role == ROLE_PAUSE || row->role == ROLE_RESUME)
        return pause_or_resume(builder, event);
    struct key_name name = {event->key, event->pid, row->key};
    bool keyed = row->key != KEY_CURRENT;
    if (row->role == ROLE_START && keyed)
        return start_trail(builder, event, &name);

    uint32_t slot = keyed ? key_table_find(&builder->keys, &name)
                          : current_slot(builder, event->pid, event->tid);
    if (slot == NONE) {
        /* the memory of an answered op is given back, or a thread leaves what has ended: as it
         * should be */
        bool past =
            keyed && key_name_equal(&builder->past[key_name_hash(&name) % PAST_NAMES], &name);
        if (((row->role == ROLE_END || row->role == ROLE_RELEASE) && past) ||
            (row->role == ROLE_LEAVE && !keyed))
            builder->counts.joined++;
        else if (is_of_no_op(row->key) && !past)
            builder->counts.notes++;
        else
            unmatched(builder, &name, keyed, row->role);
        return 0;
    }
    builder->counts.joined++;
    return apply_role(builder, slot, row->role, event);
}

int trail_builder_lost(struct trail_builder *builder, uint64_t begin_ns, uint64_t end_ns)
{
    (void)begin_ns; /* whatever is open now was open then, or began after it */
    if (end_ns > builder->lost_until_ns)
        builder->lost_until_ns = end_ns;
    for (uint32_t slot = builder->oldest; slot != NONE; slot = builder->slots[slot].newer)
        if (builder->slots[slot].trail.start_ns <= end_ns)
            builder->slots[slot].lossy = true;
    return 0;
}

int trail_builder_end(struct trail_builder *builder)
{
    while (builder->oldest != NONE) {
        int rc = close_trail(builder, builder->oldest, builder->pauses ? TRAIL_CUT : TRAIL_OPEN);
        if (rc < 0)
            return rc;
    }
    return 0;
}
