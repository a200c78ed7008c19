/* SPDX-License-Identifier: MIT */
#include "predict.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* How sharp the corner is where two bounds meet: service times that hardly vary make it sharper
 * than the exponential ones of the textbook (which would be about 2). */
#define CORNER 10.0
/* A ceiling this many times higher is none. */
#define FAR 2.0
/* Waiting until somebody is awake takes less where more is done: so much of it is left. */
#define AWAKE 0.5
/* Threads that are busy for this part of the time have no time for anything else. */
#define SATURATED 0.85
/* Threads that are busy for such a part of the time of the busiest one share what there is to do;
 * when they wait for a lock in between, which one of them did how much is by chance. */
#define BALANCED 0.9

static bool is_stage(const struct blame_cause *cause, const char *name)
{
    return cause->class != BLAME_LOCK && cause->stage && strcmp(cause->stage->name, name) == 0;
}

/* What is left of a stage's time without accidents, of all types of ops. */
static double typical(const struct report *report, const char *name)
{
    double all = 0, left = 0;
    for (size_t i = 0; i < report->op_count; i++)
        for (size_t j = 0; j < report->ops[i].stage_count; j++) {
            const struct report_stage *stage = &report->ops[i].stages[j];
            if (strcmp(stage->name, name) != 0)
                continue;
            all += (double)stage->total_ns;
            left += (double)stage->total_ns * stage->typical;
        }
    return all > 0 ? left / all : 1;
}

/* The part that goes away with the cause: its own, all waiting for locks, for locks are bounds of
 * their own, and accidents. */
static double vanishing(const struct report *report, const struct blame_cause *cause,
                        const struct report_part *parts, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += strncmp(parts[i].name, "lock:", 5) == 0 || is_stage(cause, parts[i].name)
                   ? parts[i].share
                   : parts[i].share * (1 - typical(report, parts[i].name));
    return sum;
}

static const struct report_activity *activity_of(const struct report *report, const char *stage)
{
    for (size_t i = 0; i < report->activity_count; i++)
        if (strcmp(report->activities[i].stage, stage) == 0)
            return &report->activities[i];
    return NULL;
}

/* Adds what an op spends there when nobody is in its way, in seconds times ops. */
static double unhindered(const struct report *report, const struct report_stage *stage,
                         const struct blame_cause *cause)
{
    /* what was beside a peer's answer is what the op waits for without it */
    uint64_t beside = cause->class == BLAME_NETWORK ? stage->beside_ns : 0;
    double time = ((double)stage->total_ns * stage->typical + (double)beside) / 1e9;
    const struct report_activity *activity = activity_of(report, stage->name);
    if (is_stage(cause, stage->name) || strcmp(stage->kind, "wait") == 0 ||
        strcmp(stage->kind, "lock") == 0 || strcmp(stage->kind, "throttle") == 0)
        return 0;
    if (activity && activity->ns)
        time *= 1 - (double)activity->locks_ns / (double)activity->ns;
    return time;
}

/* What an op waits at queues all the same: until a free thread is awake, and for the rest of the
 * batch before its own. */
static double queue_wait(const struct report *report, const struct blame_cause *cause)
{
    double wait = 0;
    for (size_t i = 0; i < report->queue_count; i++) {
        const struct report_queue *queue = &report->queues[i];
        if (is_stage(cause, queue->stage) || queue->ops == 0)
            continue;
        double awake = (double)queue->late_ns / (double)queue->ops / 1e9;
        double left = 1 - vanishing(report, cause, queue->parts, queue->part_count);
        double batch = queue->batches ? 0.5 * queue->service_ns * queue->batch * left / 1e9 : 0;
        wait += fmax(awake, batch);
    }
    return wait;
}

/* How busy the threads behind a queue are without the cause, the busiest of them where each has ops
 * of its own. */
static double busy_without(const struct report *report, const struct report_queue *queue,
                           const struct blame_cause *cause)
{
    double locks = 0, stays = 1 - vanishing(report, cause, queue->parts, queue->part_count);
    if (queue->shared)
        return queue->busy * stays;
    if (queue->busy >= BALANCED * queue->busiest)
        return queue->busiest * stays;
    for (size_t i = 0; i < queue->part_count; i++)
        if (strncmp(queue->parts[i].name, "lock:", 5) == 0)
            locks += queue->parts[i].share;
    return locks < 1 ? queue->busiest_alone * stays / (1 - locks) : 0;
}

/* How long an op is outside of the daemon before the next one comes in its place. Where the thread
 * that reads requests has no time for it because of the cause, that is not known. */
static double outside(const struct report *report, const struct blame_cause *cause,
                      double under_way)
{
    for (size_t i = 0; i < report->queue_count; i++) {
        const struct report_queue *queue = &report->queues[i];
        bool reads = false;
        for (size_t j = 0; j < queue->part_count; j++)
            reads |= strcmp(queue->parts[j].name, report->ops[0].stages[0].name) == 0;
        if (reads && queue->busiest >= SATURATED &&
            vanishing(report, cause, queue->parts, queue->part_count) > 0.5)
            return 0;
    }
    return fmax(0, AWAKE * (under_way - report->load.steady) / report->load.rate);
}

/* Where the cause keeps requests from being read, nobody knows how many there are. */
static bool waits_unseen(const struct report *report, const struct blame_cause *cause)
{
    for (size_t i = 0; i < report->op_count; i++) {
        const struct report_op *op = &report->ops[i];
        for (size_t j = 0; j < op->stage_count && strcmp(op->stages[j].kind, "wait") != 0; j++)
            if (cause->stage && strcmp(cause->stage->name, op->stages[j].name) == 0)
                return true;
    }
    return false;
}

/* An op of a client and what the daemon does for it are two ops of the report, and one of the load.
 */
static bool has_several_daemons(const struct report *report)
{
    for (size_t i = 1; i < report->op_count; i++)
        if (strcmp(report->ops[i].daemon, report->ops[0].daemon) != 0 && *report->ops[i].daemon)
            return true;
    return false;
}

/* How busy the server of this number, queues first, is without the cause; 0: it is no bound. `name`
 * (weak): what it is called. */
static double server_without(const struct report *report, size_t number,
                             const struct blame_cause *cause, const char **name)
{
    if (number < report->queue_count) {
        const struct report_queue *queue = &report->queues[number];
        *name = queue->stage;
        return queue->batches ? 0 : busy_without(report, queue, cause);
    }
    const struct report_lock *lock = &report->locks[number - report->queue_count];
    *name = lock->name;
    if (lock == cause->lock || strcmp(lock->class, "lock") != 0)
        return 0;
    return lock->busy * (1 - vanishing(report, cause, lock->holders, lock->holder_count));
}

struct prediction predict_without(const struct report *report, const struct blame_cause *cause)
{
    struct prediction prediction = {0};
    double rate = report->load.rate, ops = 0, time = 0, inverse = 0, smallest = INFINITY;
    /* what would be under way on a faster machine is not known */
    if (cause->class == BLAME_CPU || waits_unseen(report, cause) || !report->load.known ||
        rate <= 0 || report->load.in_flight <= 0 || report->op_count == 0 ||
        report->ops[0].stage_count == 0 || has_several_daemons(report))
        return prediction;
    for (size_t i = 0; i < report->op_count; i++) {
        const struct report_op *op = &report->ops[i];
        ops += (double)op->count;
        time += (double)op->unattributed_ns / 1e9;
        for (size_t j = 0; j < op->stage_count; j++)
            time += unhindered(report, &op->stages[j], cause);
    }
    double under_way = fmax(report->load.peak, report->load.in_flight);
    double each = time / ops + outside(report, cause, under_way) + queue_wait(report, cause);
    if (each > 0)
        inverse += pow(each / under_way, CORNER);
    for (size_t i = 0; i < report->queue_count + report->lock_count; i++) {
        const char *name;
        double busy = server_without(report, i, cause, &name);
        if (busy <= 0)
            continue;
        inverse += pow(busy / rate, CORNER);
        if (rate / busy < smallest) {
            smallest = rate / busy;
            snprintf(prediction.ceiling, sizeof(prediction.ceiling), "%s", name);
        }
    }
    if (isfinite(smallest))
        prediction.ceiling_ops_per_s = smallest;
    if (inverse > 0)
        prediction.ops_per_s = pow(inverse, -1 / CORNER);
    if (smallest > FAR * prediction.ops_per_s) /* the ops under way are too few for it */
        prediction.ceiling[0] = '\0';
    return prediction;
}
