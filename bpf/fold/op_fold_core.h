/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
#ifndef OPTRAIL_OP_FOLD_CORE_H
#define OPTRAIL_OP_FOLD_CORE_H

#include "op_fold_divide.h"

/*
 * From events to ops: the rules of the trail builder. Whoever includes this has defined before what
 * op_fold_divide.h asks for. Called by one thread at a time.
 *
 * Events come nearly in order, so an op's marks are sorted when it is folded. An answered op is
 * folded FOLD_RIPE_NS later, by one of the ops that begin or are answered then.
 */

struct fold_event {
    uint64_t time_ns, key, arg0, arg1;
    uint32_t pid, tid;
    uint32_t point;
};

static FOLD_INLINE bool fold_is_over(const struct fold_op *op, uint64_t now)
{
    return op->answered && op->open_branches <= 0 && now > op->closed_ns;
}

static FOLD_INLINE bool fold_is_overdue(const struct fold_op *op, uint64_t now)
{
    return now > op->start_ns && now - op->start_ns > fold_settings.timeout_ns;
}

/* The op no longer lives under the key. */
static FOLD_INLINE void fold_let_go(const struct fold_name *name, struct fold_ref ref)
{
    struct fold_ref *bound = env_name_find(name);
    if (bound && bound->slot == ref.slot && bound->state == ref.state)
        env_name_remove(name);
    struct fold_name *past = env_past((uint32_t)(fold_name_hash(name) % FOLD_PAST));
    if (past)
        *past = *name;
}

/* The op no longer lives under its keys. The first key last: if two fall into one place of the
 * past, that one is asked for more. */
static FOLD_INLINE void fold_forget(struct fold_op *op, struct fold_ref ref)
{
    for (int i = FOLD_NAMES - 1; i >= 0; i--) {
        if (i >= (int)op->name_count)
            continue;
        struct fold_name name = op->names[i];
        fold_let_go(&name, ref);
    }
}

/* Ends the op, and gives its slot back. */
static FOLD_INLINE void fold_release(struct fold_op *op, struct fold_ref ref, enum fold_end end)
{
    uint64_t *birth = env_birth(ref.slot);
    op->state = ref.state + 1;
    fold_forget(op, ref);
    fold_add(FOLD_ENDED + (uint32_t)end, 1);
    if (birth)
        *birth = 0;
    env_free_give(ref.slot);
}

/* Ends an op that was not answered. */
static FOLD_INLINE void fold_give_up(struct fold_op *op, struct fold_ref ref, enum fold_end end)
{
    if (op->state == ref.state)
        fold_release(op, ref, end);
}

/* Divides and sums up an answered op, and gives its slot back. */
FOLD_CALL int fold_close(uint32_t slot, uint32_t state)
{
    struct fold_ref ref = {slot, state};
    struct fold_op *op = env_op(slot);
    struct fold_workspace *workspace = env_workspace();
    if (!op || !workspace || op->state != state || !op->answered || op->open_branches > 0)
        return 0;
    fold_divide(op, workspace);
    fold_release(op, ref, FOLD_FINISHED);
    return 0;
}

/* The answered op will be folded. `force`: whatever branch is still open. */
static FOLD_INLINE void fold_answer(struct fold_op *op, struct fold_ref ref, uint64_t now,
                                    bool force)
{
    if (force)
        op->open_branches = 0;
    op->closed_ns = now;
    env_answered_push(ref); /* no room: fold_look_at finds it later */
}

/* Folds the op that was answered longest ago, if that is long enough. */
FOLD_CALL int fold_one_ripe(uint64_t now)
{
    struct fold_ref ref;
    if (env_answered_peek(&ref))
        return 0;
    struct fold_op *op = env_op(ref.slot);
    if (op && op->state == ref.state && op->answered && now < op->closed_ns + fold_settings.ripe_ns)
        return 0;
    if (env_answered_pop(&ref))
        return 0;
    fold_close(ref.slot, ref.state);
    return 1;
}

/* Ends what has been open for too long, and folds what was forgotten. */
FOLD_CALL int fold_look_at(uint32_t slot, uint64_t now)
{
    struct fold_op *op = env_op(slot);
    if (!op)
        return 0;
    struct fold_ref ref = {slot, op->state};
    if ((ref.state & 1) == 0 || !fold_is_overdue(op, now))
        return 0;
    if (!op->answered) {
        fold_give_up(op, ref, FOLD_TIMEOUT);
    } else {
        op->open_branches = 0;
        fold_close(slot, ref.state);
    }
    return 0;
}

/* With each start, the next eight slots: their births lie in one cache line. */
#define FOLD_GLANCE 8

static FOLD_INLINE void fold_glance(uint64_t now)
{
    uint32_t hand = fold_hand;
    fold_hand += FOLD_GLANCE;
    for (uint32_t i = 0; i < FOLD_GLANCE; i++) {
        uint32_t slot = (hand + i) & (fold_settings.slot_count - 1);
        uint64_t *birth = env_birth(slot);
        if (birth && *birth && now > *birth && now - *birth > fold_settings.timeout_ns)
            fold_look_at(slot, now);
    }
}

/* When there is no slot left: the oldest of some is given up. */
#define FOLD_EVICT_AMONG 64

struct fold_oldest {
    uint32_t hand;
    uint32_t slot;
    uint64_t birth;
};

static long fold_evict_step(uint32_t i, void *context)
{
    struct fold_oldest *oldest = context;
    uint32_t slot = (oldest->hand + i) & (fold_settings.slot_count - 1);
    uint64_t *birth = env_birth(slot);
    if (birth && *birth && *birth < oldest->birth) {
        oldest->birth = *birth;
        oldest->slot = slot;
    }
    return 0;
}

FOLD_CALL int fold_evict(void)
{
    struct fold_oldest oldest = {.slot = FOLD_NO_SLOT, .birth = ~0ull};
    oldest.hand = fold_hand;
    fold_hand += FOLD_EVICT_AMONG;
    bpf_loop(FOLD_EVICT_AMONG, fold_evict_step, &oldest, 0);
    struct fold_op *op = env_op(oldest.slot);
    if (!op)
        return 0;
    struct fold_ref ref = {oldest.slot, op->state};
    if ((ref.state & 1) == 0)
        return 0;
    if (!op->answered) {
        fold_give_up(op, ref, FOLD_EVICTED);
    } else {
        op->open_branches = 0;
        fold_close(ref.slot, ref.state);
    }
    return 0;
}

static FOLD_INLINE void fold_bind(struct fold_op *op, struct fold_ref ref,
                                  const struct fold_name *name)
{
    uint32_t at = op->name_count;
    if (at >= FOLD_NAMES) {
        fold_add(FOLD_TRUNCATED, 1);
        return;
    }
    op->names[at] = *name;
    op->name_count = at + 1;
    if (env_name_put(name, &ref))
        fold_add(FOLD_NAME_LESS, 1);
}

static FOLD_INLINE void fold_append(struct fold_op *op, uint64_t time_ns,
                                    const struct fold_event *event, uint32_t branch)
{
    uint32_t at = op->count++;
    if (at >= FOLD_MARKS) {
        if (at == FOLD_MARKS)
            fold_add(FOLD_TRUNCATED, 1);
        if (event->point < POINT_COUNT)
            op->seen[event->point / 64] |= 1ull << (event->point & 63);
        return;
    }
    struct fold_mark *mark = &op->marks[at];
    mark->time_ns = time_ns;
    mark->tid = event->tid;
    mark->branch = (uint16_t)branch;
    mark->point = (uint8_t)event->point;
    mark->unused = 0;
    if (time_ns < op->start_ns)
        op->start_ns = time_ns;
}

/* What lived under the key of a start is over. */
static FOLD_INLINE void fold_supersede(struct fold_ref ref, uint64_t now)
{
    struct fold_op *op = env_op(ref.slot);
    if (!op || op->state != ref.state)
        return;
    if (!op->answered)
        fold_give_up(op, ref, fold_is_overdue(op, now) ? FOLD_TIMEOUT : FOLD_KEY_REUSED);
    else if (op->open_branches > 0)
        fold_answer(op, ref, now, true);
}

static FOLD_INLINE void fold_start(const struct fold_event *event, const struct fold_name *name)
{
    struct fold_ref *bound = env_name_find(name);
    uint32_t slot;
    if (bound)
        fold_supersede(*bound, event->time_ns);
    fold_glance(event->time_ns);
    if (env_free_take(&slot)) {
        fold_evict();
        if (env_free_take(&slot)) {
            fold_add(FOLD_SLOT_LESS, 1);
            return;
        }
    }
    struct fold_op *op = env_op(slot);
    uint64_t *birth = env_birth(slot);
    if (!op || !birth)
        return;
    struct fold_ref ref = {slot, op->state + 1};
    op->count = 0;
    op->pid = event->pid;
    op->name_count = 0;
    op->open_branches = 0;
    op->answered = 0;
    op->key = event->key;
    op->type = event->arg0;
    op->client = event->arg1;
    op->tid = 0;
    op->start_ns = event->time_ns;
    op->bytes_in = op->bytes_out = 0;
    for (int i = 0; i < FOLD_POINT_WORDS; i++)
        op->seen[i] = 0;
    fold_append(op, event->time_ns, event, 0);
    op->state = ref.state;
    *birth = event->time_ns;
    fold_bind(op, ref, name);
    fold_one_ripe(event->time_ns);
}

static FOLD_INLINE uint64_t fold_thread_id(const struct fold_event *event)
{
    return (uint64_t)event->pid << 32 | event->tid;
}

/* The op that the thread works for: the newest that is still open. */
static FOLD_INLINE struct fold_op *fold_current(const struct fold_event *event,
                                                struct fold_ref *ref)
{
    struct fold_thread *thread = env_thread(fold_thread_id(event), false);
    if (!thread)
        return 0;
    for (int i = 0; i < FOLD_DEPTH; i++) {
        if (thread->height == 0)
            return 0;
        struct fold_ref top = thread->stack[(thread->top - 1) & (FOLD_DEPTH - 1)];
        struct fold_op *op = env_op(top.slot);
        if (op && op->state == top.state && !fold_is_over(op, event->time_ns) &&
            !fold_is_overdue(op, event->time_ns)) {
            *ref = top;
            return op;
        }
        thread->top--;
        thread->height--;
    }
    return 0;
}

static FOLD_INLINE void fold_enter(const struct fold_event *event, struct fold_ref ref)
{
    struct fold_thread *thread = env_thread(fold_thread_id(event), true);
    if (!thread) {
        fold_add(FOLD_THREAD_LESS, 1);
        return;
    }
    thread->stack[thread->top & (FOLD_DEPTH - 1)] = ref;
    thread->top++;
    if (thread->height < FOLD_DEPTH)
        thread->height++;
}

/* Takes out the topmost entry of this op, those above it move down; or all. */
static FOLD_INLINE void fold_leave(const struct fold_event *event, struct fold_ref ref, bool all)
{
    struct fold_thread *thread = env_thread(fold_thread_id(event), false);
    struct fold_ref above = {FOLD_NO_SLOT, 0};
    if (!thread)
        return;
    if (all) {
        thread->height = 0;
        return;
    }
    uint32_t found = 0;
    for (uint32_t i = 1; i <= FOLD_DEPTH; i++) {
        struct fold_ref *entry = &thread->stack[(thread->top - i) & (FOLD_DEPTH - 1)];
        if (i <= thread->height && found == 0 && entry->slot == ref.slot &&
            entry->state == ref.state)
            found = i;
    }
    if (found == 0)
        return;
    for (uint32_t i = 1; i <= FOLD_DEPTH; i++) {
        struct fold_ref *entry = &thread->stack[(thread->top - i) & (FOLD_DEPTH - 1)];
        struct fold_ref here = *entry;
        if (i > 1 && i <= found)
            *entry = above;
        above = here;
    }
    thread->top--;
    thread->height--;
}

/* When a stamped thing happened, if that can be believed; see the trail builder. */
static FOLD_INLINE uint64_t fold_stamp(const struct fold_event *event)
{
    if (event->arg0 <= event->time_ns && event->time_ns - event->arg0 <= fold_settings.timeout_ns)
        return event->arg0;
    fold_add(FOLD_STAMPS_REFUSED, 1);
    return event->time_ns;
}

static FOLD_INLINE void fold_finish(struct fold_op *op, struct fold_ref ref,
                                    const struct fold_event *event, bool release)
{
    if (release)
        op->open_branches = 0;
    if (!op->answered) {
        op->finish_ns = op->closed_ns = event->time_ns;
        if (event->arg0 || event->arg1) {
            op->bytes_in = event->arg0;
            op->bytes_out = event->arg1;
        }
        op->answered = 1;
        if (op->open_branches <= 0)
            env_answered_push(ref);
    } else if (release) {
        fold_answer(op, ref, event->time_ns, true);
    }
    if (fold_one_ripe(event->time_ns))
        fold_one_ripe(event->time_ns);
}

static FOLD_INLINE void fold_link(struct fold_op *op, struct fold_ref ref,
                                  const struct fold_event *event)
{
    struct fold_name name = {event->arg0, event->pid, (uint32_t)event->arg1};
    if (event->arg1 <= KEY_CURRENT || event->arg1 >= KEY_COUNT) {
        fold_add(FOLD_TRUNCATED, 1);
        return;
    }
    struct fold_ref *bound = env_name_find(&name);
    if (!bound || bound->slot != ref.slot || bound->state != ref.state)
        fold_bind(op, ref, &name);
}

/* The key that the op began under is free for another one. */
static FOLD_INLINE void fold_unbind(struct fold_op *op, struct fold_ref ref)
{
    uint32_t last = op->name_count - 1;
    if (last >= FOLD_NAMES)
        return;
    struct fold_name moved = op->names[last];
    for (uint32_t i = 0; i < FOLD_NAMES; i++) {
        if (i > last || op->names[i].kind != KEY_OP)
            continue;
        struct fold_name name = op->names[i];
        op->names[i] = moved;
        op->name_count = last;
        fold_let_go(&name, ref);
        return;
    }
}

static FOLD_INLINE void fold_role(struct fold_op *op, struct fold_ref ref, uint32_t role,
                                  bool keyed, const struct fold_event *event)
{
    uint64_t time_ns = role == ROLE_STAMP ? fold_stamp(event) : event->time_ns;
    uint32_t branch = role == ROLE_FORK || role == ROLE_JOIN ? (uint32_t)event->arg0 : 0;
    fold_append(op, time_ns, event, branch);
    if (role == ROLE_ANSWER) {
        op->bytes_in = event->arg0;
        op->bytes_out = event->arg1;
    }
    if (role == ROLE_ENTER || role == ROLE_ANSWER) {
        fold_enter(event, ref);
    } else if (role == ROLE_LEAVE) {
        fold_leave(event, ref, !keyed);
    } else if (role == ROLE_LINK || role == ROLE_MOVE) {
        if (role == ROLE_MOVE)
            fold_unbind(op, ref);
        fold_link(op, ref, event);
    } else if (role == ROLE_IDENTIFY) {
        op->client = event->arg0;
        op->tid = event->arg1;
    } else if (role == ROLE_FORK) {
        op->open_branches++;
    } else if (role == ROLE_JOIN) {
        if (op->open_branches > 0 && --op->open_branches == 0 && op->answered)
            fold_answer(op, ref, event->time_ns, false);
    } else if (role == ROLE_FINISH || role == ROLE_RELEASE) {
        fold_finish(op, ref, event, role == ROLE_RELEASE);
    } else if (role == ROLE_END) {
        if (!op->answered)
            fold_give_up(op, ref, FOLD_KEY_ENDED);
        else if (op->open_branches > 0)
            fold_answer(op, ref, event->time_ns, true);
    }
}

/* Keys that ops only come to by a LINK: under one that none was linked to the daemon does work of
 * its own, which is no op's. */
static FOLD_INLINE bool fold_is_of_no_op(uint32_t kind)
{
    return kind == KEY_SEQUENCE || kind == KEY_CONTEXT || kind == KEY_STORE_OP ||
           kind == KEY_MESSAGE || kind == KEY_SUBOP;
}

/* An event that leads to no open op. `known`: its key was one's, lately. */
static FOLD_INLINE void fold_unmatched(uint32_t role, uint32_t kind, bool known)
{
    /* the memory of an answered op is given back, or a thread leaves what has ended: as it should
     * be */
    if (((role == ROLE_END || role == ROLE_RELEASE) && known) ||
        (role == ROLE_LEAVE && kind == KEY_CURRENT))
        return;
    if (fold_is_of_no_op(kind) && !known) {
        fold_add(FOLD_NOTES, 1);
        return;
    }
    fold_add(FOLD_UNMATCHED, 1);
    if (kind == KEY_CURRENT)
        return;
    fold_add(known ? FOLD_AFTER_FINISH : FOLD_BEFORE_START, 1);
    if (role == ROLE_FINISH && !known)
        fold_add(FOLD_BEGUN_BEFORE, 1);
}

/* Takes one event. */
static FOLD_INLINE void fold_take(const struct fold_event *event)
{
    if (event->point >= POINT_COUNT)
        return;
    uint32_t role = fold_points[event->point].role;
    struct fold_name name = {event->key, event->pid, fold_points[event->point].key};
    bool keyed = name.kind != KEY_CURRENT;
    if (role == ROLE_NOTE || role == ROLE_TEXT || role == ROLE_PAUSE || role == ROLE_RESUME) {
        fold_add(FOLD_NOTES, 1);
        return;
    }
    if (role == ROLE_START && keyed) {
        fold_start(event, &name);
        return;
    }
    struct fold_ref ref = {FOLD_NO_SLOT, 0};
    struct fold_op *op = 0;
    bool known = false;
    if (keyed) {
        struct fold_ref *bound = env_name_find(&name);
        if (bound) {
            ref = *bound;
            op = env_op(ref.slot);
        }
        if (op && op->state != ref.state)
            op = 0;
    } else {
        op = fold_current(event, &ref);
    }
    if (op && fold_is_overdue(op, event->time_ns)) {
        fold_look_at(ref.slot, event->time_ns);
        op = 0;
    }
    if (op && fold_is_over(op, event->time_ns)) {
        op = 0;
        known = true;
    }
    if (op) {
        fold_role(op, ref, role, keyed, event);
        return;
    }
    if (keyed && !known) {
        struct fold_name *past = env_past((uint32_t)(fold_name_hash(&name) % FOLD_PAST));
        known = past && past->key == name.key && past->pid == name.pid && past->kind == name.kind;
    }
    fold_unmatched(role, name.kind, known);
}

/* The end: every answered op is folded, ripe or not, and what is open is counted. Nothing may come
 * any more. `last_ns`: when the last event came. */
static long fold_end_step(uint32_t slot, void *context)
{
    const uint64_t *last_ns = context;
    struct fold_op *op = env_op(slot);
    if (!op)
        return 1;
    struct fold_ref ref = {slot, op->state};
    if ((ref.state & 1) == 0)
        return 0;
    if (op->answered) {
        op->open_branches = 0;
        fold_close(slot, ref.state);
    } else {
        fold_give_up(op, ref, fold_is_overdue(op, *last_ns) ? FOLD_TIMEOUT : FOLD_OPEN);
    }
    return 0;
}

/* Events were lost: of the ops that are open now, nobody knows what happened. */
static long fold_lose_step(uint32_t slot, void *context)
{
    struct fold_op *op = env_op(slot);
    (void)context;
    if (!op)
        return 1;
    struct fold_ref ref = {slot, op->state};
    if ((ref.state & 1) != 0 && (!op->answered || op->open_branches > 0))
        fold_give_up(op, ref, FOLD_LOST_EVENTS);
    return 0;
}

static FOLD_INLINE int fold_lose_all(void)
{
    bpf_loop(fold_settings.slot_count, fold_lose_step, 0, 0);
    return 0;
}

static FOLD_INLINE void fold_end_all(uint64_t last_ns)
{
    bpf_loop(fold_settings.slot_count, fold_end_step, &last_ns, 0);
}

/* While events go on: folds what is ripe, when no op begins or is answered that would do so. */
static long fold_ripe_step(uint32_t i, void *context)
{
    const uint64_t *now = context;
    (void)i;
    return !fold_one_ripe(*now);
}

static FOLD_INLINE void fold_all_ripe(uint64_t now)
{
    bpf_loop(FOLD_ANSWERED, fold_ripe_step, &now, 0);
}

#endif
