/* SPDX-License-Identifier: MIT */
#include "flows.h"

#include <stdlib.h>
#include <string.h>

#include "err.h"

#define FIRST_ROOM 16
#define TAKEN      512u /* a power of two: a direct-mapped memory, old entries are overwritten */

/* The thread took something at time_ns, and had been free since free_ns. */
struct flow_taken {
    uint64_t time_ns, free_ns;
};

int flows_init(struct flows *flows, const struct path_set *paths)
{
    *flows = (struct flows){0};
    flows->threads = calloc(FLOW_THREADS, sizeof(*flows->threads));
    if (!flows->threads) {
        flows_free(flows);
        return err_no_memory();
    }
    for (size_t i = 0; i < paths->count; i++) {
        const struct path *path = paths->paths[i];
        for (size_t j = 0; j < path->stage_count; j++) {
            const struct path_stage *stage = &path->stages[j];
            bool known = stage->kind != STAGE_WAIT || flows->queue_count == FLOW_QUEUES;
            for (size_t k = 0; k < flows->queue_count && !known; k++)
                known = flows->queues[k].from == stage->from && flows->queues[k].to == stage->to;
            if (known)
                continue;
            flows->queues[flows->queue_count++] =
                (struct flow_queue){.from = (uint16_t)stage->from, .to = (uint16_t)stage->to};
            flows->ends_queue[stage->to] = true;
        }
    }
    return 0;
}

void flows_free(struct flows *flows)
{
    for (size_t i = 0; flows->threads && i < FLOW_THREADS; i++) {
        free(flows->threads[i].steps);
        free(flows->threads[i].taken);
    }
    for (size_t i = 0; i < LOCK_GROUPS; i++)
        free(flows->under[i].rows);
    flow_levels_free(&flows->levels);
    free(flows->threads);
    *flows = (struct flows){0};
}

static size_t hash(uint64_t value)
{
    value *= 0x9e3779b97f4a7c15ull;
    return (size_t)(value ^ value >> 32);
}

static struct flow_thread *find_thread(struct flows *flows, uint32_t pid, uint32_t tid, bool make)
{
    for (size_t i = hash((uint64_t)pid << 32 | tid);; i++) {
        struct flow_thread *thread = &flows->threads[i % FLOW_THREADS];
        if (thread->pid == pid && thread->tid == tid)
            return thread;
        if (thread->pid != 0)
            continue;
        if (!make)
            return NULL;
        if (flows->thread_count >= FLOW_THREADS / 4 * 3) {
            flows->no_thread++;
            return NULL;
        }
        flows->thread_count++;
        *thread = (struct flow_thread){.pid = pid, .tid = tid, .last = LOCK_NOWHERE};
        return thread;
    }
}

static struct flow_step *step_slot(struct flow_step *steps, size_t room,
                                   const struct flow_step *wanted)
{
    uint64_t key = (uint64_t)wanted->from << 32 | (uint64_t)wanted->to << 16 | wanted->lock;
    for (size_t i = hash(key);; i++) {
        struct flow_step *step = &steps[i & (room - 1)];
        if (step->count == 0 ||
            (step->from == wanted->from && step->to == wanted->to && step->lock == wanted->lock))
            return step;
    }
}

static int grow(struct flow_thread *thread)
{
    size_t room = thread->step_room ? 2 * thread->step_room : FIRST_ROOM;
    struct flow_step *steps = calloc(room, sizeof(*steps));
    if (!steps)
        return err_no_memory();
    for (size_t i = 0; i < thread->step_room; i++)
        if (thread->steps[i].count)
            *step_slot(steps, room, &thread->steps[i]) = thread->steps[i];
    free(thread->steps);
    thread->steps = steps;
    thread->step_room = room;
    return 0;
}

static int add_step(struct flows *flows, struct flow_thread *thread, struct flow_step added)
{
    if (4 * (thread->step_count + 1) > 3 * thread->step_room) {
        int rc = thread->step_room < FLOW_STEPS ? grow(thread) : 0;
        if (rc < 0)
            return rc;
    }
    struct flow_step *step = step_slot(thread->steps, thread->step_room, &added);
    if (step->count == 0) {
        if (4 * (thread->step_count + 1) > 3 * thread->step_room) {
            flows->no_step++;
            return 0;
        }
        thread->step_count++;
        *step = (struct flow_step){.from = added.from, .to = added.to, .lock = added.lock};
    }
    step->count += added.count;
    step->ns += added.ns;
    return 0;
}

/* What was done under the locks that the thread holds, up to now. */
static int add_held(struct flows *flows, struct flow_thread *thread, uint16_t to, uint64_t now_ns)
{
    int rc = 0;
    for (uint8_t i = 0; rc == 0 && i < thread->held_count; i++) {
        uint64_t since = thread->held[i].since_ns;
        struct lock_place place = {.from = thread->last, .to = to, .lock = LOCK_NO_GROUP};
        uint64_t ns = now_ns > since ? now_ns - since : 0;
        uint64_t waited = thread->held[i].waited_ns < ns ? thread->held[i].waited_ns : ns;
        thread->held[i].since_ns = now_ns;
        thread->held[i].waited_ns -= waited;
        place.ns = ns - waited;
        place.count = 1;
        rc = lock_places_add(&flows->under[thread->held[i].lock], place);
    }
    return rc;
}

static int take_step(struct flows *flows, struct flow_thread *thread, uint16_t point,
                     uint64_t now_ns)
{
    uint64_t ns = now_ns > thread->last_ns ? now_ns - thread->last_ns : 0;
    int rc = add_held(flows, thread, point, now_ns);
    struct flow_step step = {.from = thread->last, .to = point, .count = 1};
    for (uint8_t i = 0; rc == 0 && i < thread->waited_count; i++) {
        uint64_t waited = thread->waited[i].ns < ns ? thread->waited[i].ns : ns;
        ns -= waited;
        step.lock = thread->waited[i].lock;
        step.ns = waited;
        rc = add_step(flows, thread, step);
    }
    thread->waited_count = 0;
    step.lock = LOCK_NO_GROUP;
    step.ns = ns;
    return rc < 0 ? rc : add_step(flows, thread, step);
}

/* Remembers since when the thread was free. */
static int remember_taken(struct flow_thread *thread, uint64_t now_ns)
{
    if (!thread->taken && !(thread->taken = calloc(TAKEN, sizeof(*thread->taken))))
        return err_no_memory();
    thread->taken[hash(now_ns) % TAKEN] = (struct flow_taken){now_ns, thread->free_ns};
    return 0;
}

int flows_event(struct flows *flows, const struct optrail_event *event)
{
    enum event_role role = point_rows[event->point].role;
    uint16_t point = event->point;
    if (role == ROLE_NOTE || role == ROLE_TEXT || role == ROLE_STAMP || role == ROLE_PAUSE ||
        role == ROLE_RESUME)
        return 0;
    struct flow_thread *thread = find_thread(flows, event->pid, event->tid, true);
    if (!thread)
        return 0;
    if (flows->begin_ns == 0)
        flows->begin_ns = event->time_ns;
    flows->end_ns = event->time_ns;
    if (role == ROLE_START || role == ROLE_FINISH)
        flow_levels_event(&flows->levels, event->pid, role == ROLE_START, event->time_ns);
    int rc = 0;
    if (thread->last != LOCK_NOWHERE) {
        rc = take_step(flows, thread, point, event->time_ns);
        /* of several that it takes at once the first one tells since when it was free */
        if (thread->last != point)
            thread->free_ns = thread->last_ns;
        if (rc == 0 && flows->ends_queue[point])
            rc = remember_taken(thread, event->time_ns);
    }
    thread->last = point;
    thread->last_ns = event->time_ns;
    return rc;
}

static void add_queued(struct flows *flows, struct flow_queue *queue, const struct trail *trail,
                       const struct trail_mark *in, const struct trail_mark *out)
{
    uint64_t wait = out->time_ns - in->time_ns;
    const struct flow_thread *thread = find_thread(flows, trail->pid, out->tid, false);
    const struct flow_taken *taken =
        thread && thread->taken ? &thread->taken[hash(out->time_ns) % TAKEN] : NULL;
    queue->ops++;
    queue->wait_ns += wait;
    queue->own += in->tid == out->tid;
    if (!taken || taken->time_ns != out->time_ns) {
        queue->unknown++;
        return;
    }
    uint64_t idle = out->time_ns - taken->free_ns;
    queue->idle_ns += idle < wait ? idle : wait;
}

void flows_trail(struct flows *flows, const struct trail *trail)
{
    const struct trail_mark *first[POINT_COUNT];
    if (trail->end != TRAIL_FINISHED)
        return;
    for (size_t i = trail->mark_count; i-- > 0;)
        first[trail->marks[i].point] = &trail->marks[i];
    for (size_t i = 0; i < flows->queue_count; i++) {
        struct flow_queue *queue = &flows->queues[i];
        if (!trail_passed(trail, (enum point)queue->from) ||
            !trail_passed(trail, (enum point)queue->to))
            continue;
        if (trail->truncated) /* a point may be noted of which the mark is missing */
            continue;
        if (first[queue->to]->time_ns >= first[queue->from]->time_ns)
            add_queued(flows, queue, trail, first[queue->from], first[queue->to]);
    }
}

/* Under a lock is only what begins and ends while it is held. */
static int wait_under(struct flows *flows, struct flow_thread *thread,
                      const struct lock_ended_wait *wait)
{
    int rc = 0;
    for (uint8_t i = 0; rc == 0 && i < thread->held_count; i++) {
        if (thread->held[i].lock == wait->group || wait->begin_ns < thread->held[i].acquired_ns)
            continue;
        thread->held[i].waited_ns += wait->ns;
        rc = lock_places_add(&flows->under[thread->held[i].lock],
                             (struct lock_place){.from = thread->last,
                                                 .to = LOCK_NOWHERE,
                                                 .lock = wait->group,
                                                 .count = 1,
                                                 .ns = wait->ns});
    }
    return rc;
}

int flows_waited(struct flows *flows, const struct lock_ended_wait *wait)
{
    struct flow_thread *thread = find_thread(flows, wait->pid, wait->tid, false);
    if (!thread || thread->last == LOCK_NOWHERE)
        return 0;
    int rc = wait_under(flows, thread, wait);
    for (uint8_t i = 0; i < thread->waited_count; i++)
        if (thread->waited[i].lock == wait->group) {
            thread->waited[i].ns += wait->ns;
            return rc;
        }
    if (thread->waited_count < sizeof(thread->waited) / sizeof(*thread->waited)) {
        thread->waited[thread->waited_count].lock = wait->group;
        thread->waited[thread->waited_count++].ns = wait->ns;
    }
    return rc;
}

int flows_acquired(struct flows *flows, uint32_t pid, uint32_t tid, uint16_t lock, uint64_t now_ns)
{
    struct flow_thread *thread = find_thread(flows, pid, tid, false);
    if (!thread || thread->held_count == FLOW_HELD)
        return 0;
    thread->held[thread->held_count].lock = lock;
    thread->held[thread->held_count].acquired_ns = now_ns;
    thread->held[thread->held_count].waited_ns = 0;
    thread->held[thread->held_count++].since_ns = now_ns;
    return 0;
}

static bool take_out(struct flow_thread *thread, uint16_t lock)
{
    uint8_t i = thread->held_count;
    while (i > 0 && thread->held[i - 1].lock != lock)
        i--;
    if (i == 0)
        return false;
    memmove(&thread->held[i - 1], &thread->held[i],
            (size_t)(thread->held_count - i) * sizeof(*thread->held));
    thread->held_count--;
    return true;
}

int flows_released(struct flows *flows, uint32_t pid, uint32_t tid, uint16_t lock, uint64_t now_ns)
{
    struct flow_thread *thread = find_thread(flows, pid, tid, false);
    if (!thread)
        return 0;
    int rc = add_held(flows, thread, LOCK_NOWHERE, now_ns);
    take_out(thread, lock);
    return rc;
}

void flows_forgotten(struct flows *flows, uint32_t pid, uint32_t tid, uint16_t lock)
{
    struct flow_thread *thread = find_thread(flows, pid, tid, false);
    if (thread)
        take_out(thread, lock);
}

void flows_steps(const struct flows *flows,
                 void (*each)(void *context, const struct flow_thread *thread,
                              const struct flow_step *step),
                 void *context)
{
    for (size_t i = 0; i < FLOW_THREADS; i++)
        for (size_t j = 0; j < flows->threads[i].step_room; j++)
            if (flows->threads[i].steps[j].count)
                each(context, &flows->threads[i], &flows->threads[i].steps[j]);
}

int flows_add_step(struct flows *flows, uint32_t pid, uint32_t tid, const struct flow_step *step)
{
    struct flow_thread *thread = find_thread(flows, pid, tid, true);
    return thread ? add_step(flows, thread, *step) : 0;
}
