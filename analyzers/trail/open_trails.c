/* SPDX-License-Identifier: MIT */
#include "open_trails.h"

#include <stdlib.h>
#include <string.h>

#include "err.h"

#define DEFAULT_TIMEOUT_NS  (60ull * 1000 * 1000 * 1000)
#define DEFAULT_OPEN_TRAILS 16384
#define DEFAULT_MARKS       1024
/* a trail begins with room for this many marks, and goes back to it when it ends */
#define FIRST_MARKS 32
/* Marks allocated over all trails, about 16 MiB at most. Beyond it no trail grows, and a new one
 * evicts the oldest: a daemon that never answers must not eat the analyst's memory. */
#define MARK_BUDGET (1u << 20)
/* Names that were in use lately, to tell an event that comes after its op was answered from one
 * whose op we never saw begin. A direct-mapped memory: old names are simply overwritten. */
#define PAST_NAMES 32768

#define NONE OPEN_TRAILS_NONE

int open_trails_init(struct open_trails *trails, const struct trail_limits *limits,
                     trail_callback *callback, void *context)
{
    *trails = (struct open_trails){.callback = callback,
                                   .context = context,
                                   .free_slot = NONE,
                                   .oldest = NONE,
                                   .newest = NONE};
    if (limits)
        trails->limits = *limits;
    if (trails->limits.timeout_ns == 0)
        trails->limits.timeout_ns = DEFAULT_TIMEOUT_NS;
    if (trails->limits.open_trails == 0)
        trails->limits.open_trails = DEFAULT_OPEN_TRAILS;
    if (trails->limits.marks == 0)
        trails->limits.marks = DEFAULT_MARKS;
    trails->past = calloc(PAST_NAMES, sizeof(*trails->past));
    return trails->past ? key_table_init(&trails->keys) : err_no_memory();
}

void open_trails_free(struct open_trails *trails)
{
    for (size_t i = 0; i < trails->slot_count; i++)
        free(trails->slots[i].marks);
    free(trails->slots);
    free(trails->past);
    key_table_free(&trails->keys);
}

/* Names */

static struct key_name *past_of(const struct open_trails *trails, const struct key_name *name)
{
    return &trails->past[key_name_hash(name) % PAST_NAMES];
}

bool open_trails_was_name(const struct open_trails *trails, const struct key_name *name)
{
    return key_name_equal(past_of(trails, name), name);
}

void open_trails_forget_names(struct open_trails *trails, uint32_t pid)
{
    for (size_t i = 0; i < PAST_NAMES; i++)
        if (trails->past[i].pid == pid)
            trails->past[i] = (struct key_name){0};
}

int open_trails_bind(struct open_trails *trails, uint32_t slot, const struct key_name *name)
{
    struct open_trail *open = &trails->slots[slot];
    int rc = key_table_put(&trails->keys, name, slot);
    if (rc == 0)
        open->names[open->name_count++] = *name;
    return rc;
}

void open_trails_unbind(struct open_trails *trails, uint32_t slot, int index)
{
    struct open_trail *open = &trails->slots[slot];
    struct key_name name = open->names[index];
    key_table_remove(&trails->keys, &name, slot);
    *past_of(trails, &name) = name;
    open->names[index] = open->names[--open->name_count];
}

/* Ending a trail */

static void forget(struct open_trails *trails, uint32_t slot)
{
    struct open_trail *open = &trails->slots[slot];
    /* its first name last: if two fall into one place of the past, that one is asked for more */
    for (int i = open->name_count; i-- > 0;)
        open_trails_unbind(trails, slot, i);
    if (open->older == NONE)
        trails->oldest = open->newer;
    else
        trails->slots[open->older].newer = open->newer;
    if (open->newer == NONE)
        trails->newest = open->older;
    else
        trails->slots[open->newer].older = open->older;
    open->in_use = false;
    open->generation++;
    if (open->capacity > FIRST_MARKS) {
        trails->marks_allocated -= open->capacity;
        free(open->marks);
        open->marks = NULL;
        open->capacity = 0;
    }
    open->newer = trails->free_slot;
    trails->free_slot = slot;
}

int open_trails_close(struct open_trails *trails, uint32_t slot, enum trail_end reason)
{
    struct open_trail *open = &trails->slots[slot];
    struct trail *trail = &open->trail;
    /* an answered op that only waited for a branch beside it counts as what it is: finished */
    if (open->answered)
        reason = open->lossy ? TRAIL_LOST_EVENTS : TRAIL_FINISHED;
    else if (open->lossy) /* what ended it may be missing, and this be what came after */
        reason = TRAIL_LOST_EVENTS;
    trail->end = reason;
    trail->marks = open->marks;
    trails->counts.ended[reason]++;
    int rc = trails->callback ? trails->callback(trails->context, trail) : 0;
    forget(trails, slot);
    return rc;
}

/* Beginning a trail */

int open_trails_mark(struct open_trails *trails, uint32_t slot, const struct optrail_event *event,
                     uint64_t time_ns, uint16_t branch)
{
    struct open_trail *open = &trails->slots[slot];
    struct trail *trail = &open->trail;

    trail->seen[event->point / 64] |= 1ull << (event->point % 64);
    if (trail->mark_count == open->capacity) {
        size_t capacity = open->capacity ? 2 * open->capacity : FIRST_MARKS;
        if (open->capacity >= trails->limits.marks ||
            (open->capacity && trails->marks_allocated >= MARK_BUDGET)) {
            trail->truncated = true;
            return 0;
        }
        struct trail_mark *marks = realloc(open->marks, capacity * sizeof(*marks));
        if (!marks)
            return err_no_memory();
        trails->marks_allocated += capacity - open->capacity;
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

static int take_slot(struct open_trails *trails, uint32_t *slot)
{
    while (trails->oldest != NONE &&
           ((trails->free_slot == NONE && trails->slot_count >= trails->limits.open_trails) ||
            trails->marks_allocated > MARK_BUDGET)) {
        int rc = open_trails_close(trails, trails->oldest, TRAIL_EVICTED);
        if (rc < 0)
            return rc;
    }
    if (trails->free_slot != NONE) {
        *slot = trails->free_slot;
        trails->free_slot = trails->slots[*slot].newer;
        return 0;
    }
    if (trails->slot_count == trails->slot_capacity) {
        size_t capacity = trails->slot_capacity ? 2 * trails->slot_capacity : 64;
        struct open_trail *slots = realloc(trails->slots, capacity * sizeof(*slots));
        if (!slots)
            return err_no_memory();
        trails->slots = slots;
        trails->slot_capacity = capacity;
    }
    *slot = (uint32_t)trails->slot_count++;
    memset(&trails->slots[*slot], 0, sizeof(trails->slots[*slot]));
    return 0;
}

int open_trails_start(struct open_trails *trails, const struct optrail_event *event,
                      const struct key_name *name)
{
    uint32_t slot = key_table_find(&trails->keys, name);
    int rc = 0;
    if (slot != KEY_TABLE_NONE)
        rc = open_trails_close(trails, slot, TRAIL_KEY_REUSED);
    if (rc == 0)
        rc = take_slot(trails, &slot);
    if (rc < 0)
        return rc;

    struct open_trail *open = &trails->slots[slot];
    open->trail = (struct trail){
        .key = event->key, .pid = event->pid, .type = event->arg0, .client = event->arg1};
    open->open_branches = 0;
    open->name_count = 0;
    open->in_use = true;
    open->answered = false;
    open->lossy = event->time_ns <= trails->lost_until_ns;
    open->newer = NONE;
    open->older = trails->newest;
    if (trails->newest == NONE)
        trails->oldest = slot;
    else
        trails->slots[trails->newest].newer = slot;
    trails->newest = slot;

    rc = open_trails_bind(trails, slot, name);
    if (rc == 0)
        rc = open_trails_mark(trails, slot, event, event->time_ns, 0);
    trails->counts.joined++;
    return rc;
}

/* Closes what has been open for too long; the list is by start, so only its head is looked at. */
int open_trails_close_overdue(struct open_trails *trails, uint64_t now_ns)
{
    while (trails->oldest != NONE) {
        struct open_trail *oldest = &trails->slots[trails->oldest];
        if (now_ns <= oldest->trail.start_ns ||
            now_ns - oldest->trail.start_ns <= trails->limits.timeout_ns)
            return 0;
        int rc = open_trails_close(trails, trails->oldest, TRAIL_TIMEOUT);
        if (rc < 0)
            return rc;
    }
    return 0;
}
