/* SPDX-License-Identifier: MIT */
#include "blame.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cpu_blame.h"

/* So often time is handed on; waiting in a circle ends where it is then. */
#define ROUNDS 12
/* Threads that are busy for this part of the time are a ceiling. */
#define SATURATED 0.85

const char *const blame_class_names[BLAME_CLASS_COUNT] = {
    [BLAME_LOCK] = "lock",
    [BLAME_THROTTLE] = "throttle",
    [BLAME_DEVICE] = "device",
    [BLAME_NETWORK] = "network",
    [BLAME_WORK] = "work",
    [BLAME_QUEUE] = "queue",
    [BLAME_ALLOCATOR] = "allocator",
    [BLAME_UNATTRIBUTED] = "unattributed",
    [BLAME_CPU] = "cpu",
};

struct ledger {
    const struct report *report;
    const struct report_op *op;
    struct blame *blame;
    double held[BLAME_CAUSES];    /* to be handed on in this round */
    double coming[BLAME_CAUSES];  /* in the next */
    double settled[BLAME_CAUSES]; /* stays */
};

static enum blame_class class_of_stage(const char *kind)
{
    static const struct {
        const char *kind;
        enum blame_class class;
    } rows[] = {{"lock", BLAME_LOCK},   {"throttle", BLAME_THROTTLE}, {"io", BLAME_DEVICE},
                {"net", BLAME_NETWORK}, {"work", BLAME_WORK},         {"wait", BLAME_QUEUE}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (strcmp(rows[i].kind, kind) == 0)
            return rows[i].class;
    return BLAME_WORK;
}

static const struct report_queue *queue_of(const struct report *report, const char *stage)
{
    for (size_t i = 0; i < report->queue_count; i++)
        if (strcmp(report->queues[i].stage, stage) == 0)
            return &report->queues[i];
    return NULL;
}

static const struct report_activity *activity_of(const struct report *report, const char *stage)
{
    for (size_t i = 0; i < report->activity_count; i++)
        if (strcmp(report->activities[i].stage, stage) == 0)
            return &report->activities[i];
    return NULL;
}

static int cause_of_stage(const struct ledger *ledger, const char *name)
{
    for (size_t i = 0; i < ledger->blame->count; i++)
        if (ledger->blame->causes[i].stage &&
            strcmp(ledger->blame->causes[i].stage->name, name) == 0)
            return (int)i;
    return -1;
}

static int cause_of_lock(const struct ledger *ledger, const char *name)
{
    for (size_t i = 0; i < ledger->blame->count; i++)
        if (ledger->blame->causes[i].lock && strcmp(ledger->blame->causes[i].lock->name, name) == 0)
            return (int)i;
    return -1;
}

static struct blame_cause *add_cause(struct ledger *ledger, enum blame_class class,
                                     const char *name)
{
    if (ledger->blame->count == BLAME_CAUSES)
        return NULL;
    struct blame_cause *cause = &ledger->blame->causes[ledger->blame->count++];
    *cause = (struct blame_cause){.class = class, .name = name};
    return cause;
}

/* Stages of all ops, for threads are busy with other types' ops too; then locks, each with its
 * stage if it is one; the last one: unattributed. */
static void list_causes(struct ledger *ledger)
{
    const struct report *report = ledger->report;
    for (size_t i = 0; i <= report->op_count; i++) {
        const struct report_op *op = i == 0 ? ledger->op : &report->ops[i - 1];
        for (size_t j = 0; j < op->stage_count; j++) {
            const struct report_stage *stage = &op->stages[j];
            if (cause_of_stage(ledger, stage->name) >= 0)
                continue;
            struct blame_cause *cause = add_cause(ledger, class_of_stage(stage->kind), stage->name);
            if (!cause)
                return;
            cause->stage = stage;
            cause->queue = queue_of(report, stage->name);
            if (i == 0)
                cause->direct = stage->share;
        }
    }
    for (size_t i = 0; i < report->lock_count; i++) {
        const struct report_lock *lock = &report->locks[i];
        int stage = *lock->stage ? cause_of_stage(ledger, lock->stage) : -1;
        struct blame_cause *cause = stage >= 0 ? &ledger->blame->causes[stage] : NULL;
        if (!cause)
            cause = add_cause(ledger,
                              strcmp(lock->kind, "allocator") == 0   ? BLAME_ALLOCATOR
                              : strcmp(lock->class, "throttle") == 0 ? BLAME_THROTTLE
                                                                     : BLAME_LOCK,
                              lock->name);
        if (cause)
            cause->lock = lock;
    }
    struct blame_cause *rest = add_cause(ledger, BLAME_UNATTRIBUTED, "");
    if (rest)
        rest->direct = ledger->op->unattributed_share;
}

/* The allocator's lock tells no owner. But while somebody waits for it somebody has it, who is
 * where those are that wait: that long threads did something under it in a stage, ns. */
static double under_allocator(const struct ledger *ledger, const struct report_lock *lock,
                              const char *stage)
{
    for (size_t i = 0; i < lock->waiter_count; i++)
        if (strcmp(lock->waiters[i].name, stage) == 0)
            return lock->waiters[i].share * lock->busy * ledger->report->load.seconds * 1e9;
    return 0;
}

/* Which part of what threads do in a stage is done under a lock that others wait for. */
static double under_lock(const struct ledger *ledger, const struct report_lock *lock,
                         const char *stage)
{
    const struct report_activity *activity = activity_of(ledger->report, stage);
    if (!activity || activity->ns == 0)
        return 0;
    if (strcmp(lock->kind, "allocator") == 0) {
        double own = (double)(activity->ns - activity->locks_ns);
        return own > 0 ? fmin(1, under_allocator(ledger, lock, stage) / own) : 0;
    }
    for (size_t i = 0; i < lock->holder_count; i++)
        if (strcmp(lock->holders[i].name, stage) == 0) {
            double part = (double)lock->holders[i].ns / (double)activity->ns;
            return (part < 1 ? part : 1) * lock->contended;
        }
    return 0;
}

/* Gives time to a stage of a thread; what is done under a contended lock, to that lock. */
static void give_stage(struct ledger *ledger, const char *stage, double time, int from)
{
    double left = time;
    for (size_t i = 0; i < ledger->blame->count; i++) {
        const struct report_lock *lock = ledger->blame->causes[i].lock;
        double part =
            lock && strcmp(lock->class, "lock") == 0 ? time * under_lock(ledger, lock, stage) : 0;
        if (part > left)
            part = left;
        ledger->coming[i] += part;
        left -= part;
    }
    int to = cause_of_stage(ledger, stage);
    if (to >= 0)
        ledger->coming[to] += left;
    else
        ledger->settled[from] += left; /* the threads' own business, behind this queue */
}

static void give(struct ledger *ledger, const struct report_part *part, double time, int from)
{
    static const char prefix[] = "lock:";
    if (strncmp(part->name, prefix, sizeof(prefix) - 1) != 0) {
        give_stage(ledger, part->name, time, from);
        return;
    }
    int to = cause_of_lock(ledger, part->name + sizeof(prefix) - 1);
    if (to >= 0)
        ledger->coming[to] += time;
    else
        ledger->settled[from] += time;
}

/* A queue: while its thread was free nobody else is to blame. */
static void hand_on_queue(struct ledger *ledger, int number, double time)
{
    const struct report_queue *queue = ledger->blame->causes[number].queue;
    double idle = time * queue->idle_share;
    ledger->settled[number] += idle;
    if (queue->part_count == 0)
        ledger->settled[number] += time - idle;
    for (size_t i = 0; i < queue->part_count; i++)
        give(ledger, &queue->parts[i], (time - idle) * queue->parts[i].share, number);
}

/* A lock: what its holders wait for in turn. */
static void hand_on_lock(struct ledger *ledger, int number, double time)
{
    const struct report_lock *lock = ledger->blame->causes[number].lock;
    double handover =
        lock->wait_total_ns ? (double)lock->handover_ns / (double)lock->wait_total_ns : 0;
    double held = time * (1 - handover);
    ledger->settled[number] += time - held;
    for (size_t i = 0; i < lock->holder_count; i++) {
        const struct report_part *part = &lock->holders[i];
        bool is_lock = strncmp(part->name, "lock:", 5) == 0;
        int to =
            is_lock ? cause_of_lock(ledger, part->name + 5) : cause_of_stage(ledger, part->name);
        bool waits = to >= 0 && to != number &&
                     (is_lock || ledger->blame->causes[to].class == BLAME_THROTTLE ||
                      ledger->blame->causes[to].class == BLAME_LOCK);
        if (waits)
            ledger->coming[to] += held * part->share;
        else
            ledger->settled[number] += held * part->share;
    }
    if (lock->holder_count == 0)
        ledger->settled[number] += held;
}

/* Where in the op's path a stage stands; -1: it has none. */
static int position(const struct report_op *op, const char *stage)
{
    for (size_t i = 0; i < op->stage_count; i++)
        if (strcmp(op->stages[i].name, stage) == 0)
            return (int)i;
    return -1;
}

/* Whether the threads' part is waiting at this throttle. */
static bool is_itself(const struct blame_cause *throttle, const char *part)
{
    if (strncmp(part, "lock:", 5) == 0)
        return throttle->lock && strcmp(throttle->lock->name, part + 5) == 0;
    return strcmp(throttle->stage->name, part) == 0;
}

/* A throttle is to blame itself, unless something behind it cannot do more anyway. */
static void hand_on_throttle(struct ledger *ledger, int number, double time)
{
    const struct blame_cause *throttle = &ledger->blame->causes[number];
    int at = throttle->stage ? position(ledger->op, throttle->stage->name) : -1;
    for (size_t i = 0; i < ledger->blame->count && at >= 0; i++) {
        const struct report_queue *queue = ledger->blame->causes[i].queue;
        if (queue && queue->busy >= SATURATED && !queue->batches &&
            position(ledger->op, queue->stage) > at && queue->part_count > 0 &&
            !is_itself(throttle, queue->parts[0].name)) {
            ledger->coming[i] += time;
            return;
        }
    }
    ledger->settled[number] += time;
}

/* A stage in which something is done; the thread may wait for locks meanwhile. */
static void hand_on_work(struct ledger *ledger, int number, double time)
{
    const struct blame_cause *cause = &ledger->blame->causes[number];
    const struct report_activity *activity =
        cause->stage ? activity_of(ledger->report, cause->stage->name) : NULL;
    double left = time;
    for (size_t i = 0; activity && activity->ns && i < activity->part_count; i++) {
        double part = time * (double)activity->parts[i].ns / (double)activity->ns;
        int to = cause_of_lock(ledger, activity->parts[i].name + 5);
        if (to < 0 || to == number)
            continue;
        ledger->coming[to] += part;
        left -= part;
    }
    ledger->settled[number] += left;
}

static void hand_on(struct ledger *ledger, int number)
{
    const struct blame_cause *cause = &ledger->blame->causes[number];
    double time = ledger->held[number];
    ledger->held[number] = 0;
    if (time <= 0)
        return;
    if (cause->queue)
        hand_on_queue(ledger, number, time);
    else if (cause->class == BLAME_THROTTLE && cause->stage)
        hand_on_throttle(ledger, number, time);
    else if (cause->lock)
        hand_on_lock(ledger, number, time);
    else
        hand_on_work(ledger, number, time);
}

static int by_share(const void *a, const void *b)
{
    const struct blame_cause *left = a, *right = b;
    if (left->share != right->share)
        return left->share < right->share ? 1 : -1;
    return strcmp(left->name, right->name);
}

void blame_find(const struct report *report, const struct report_op *op, struct blame *blame)
{
    struct ledger ledger = {.report = report, .op = op, .blame = blame};
    blame->count = 0;
    list_causes(&ledger);
    for (size_t i = 0; i < blame->count; i++)
        ledger.held[i] = blame->causes[i].direct;
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < blame->count; i++)
            hand_on(&ledger, (int)i);
        memcpy(ledger.held, ledger.coming, sizeof(ledger.held));
        memset(ledger.coming, 0, sizeof(ledger.coming));
    }
    for (size_t i = 0; i < blame->count; i++)
        blame->causes[i].share = ledger.settled[i] + ledger.held[i];
    cpu_blame(report, blame);
    qsort(blame->causes, blame->count, sizeof(*blame->causes), by_share);
}
