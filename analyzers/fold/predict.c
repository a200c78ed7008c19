/* SPDX-License-Identifier: MIT */
#include "predict.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* How sharp the corner is where two bounds meet: service times that hardly vary make it sharper
 * than the exponential ones of the textbook (which would be about 2). */
#define CORNER  6.0
#define BATCHES 1.5

static bool is_stage(const struct blame_cause *cause, const char *name)
{
    return cause->class != BLAME_LOCK && cause->stage && strcmp(cause->stage->name, name) == 0;
}

/* The part that goes away with the cause: its own, and all waiting for locks, for locks are bounds
 * of their own. */
static double vanishing(const struct blame_cause *cause, const struct report_part *parts,
                        size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        if (strncmp(parts[i].name, "lock:", 5) == 0 || is_stage(cause, parts[i].name))
            sum += parts[i].share;
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
    double time = (double)stage->total_ns / 1e9;
    const struct report_activity *activity = activity_of(report, stage->name);
    if (is_stage(cause, stage->name) || strcmp(stage->kind, "wait") == 0 ||
        strcmp(stage->kind, "lock") == 0 || strcmp(stage->kind, "throttle") == 0)
        return 0;
    if (activity && activity->ns)
        time *= 1 - (double)activity->locks_ns / (double)activity->ns;
    return time;
}

/* Half a batch is waited for on average before one's own begins. */
static double batch_wait(const struct report *report, const struct blame_cause *cause)
{
    double wait = 0;
    for (size_t i = 0; i < report->queue_count; i++) {
        const struct report_queue *queue = &report->queues[i];
        if (queue->batch < BATCHES)
            continue;
        double left = 1 - vanishing(cause, queue->parts, queue->part_count);
        wait += 0.5 * queue->service_ns * queue->batch * left / 1e9 * queue->busy;
    }
    return wait;
}

struct prediction predict_without(const struct report *report, const struct blame_cause *cause)
{
    struct prediction prediction = {0};
    double rate = report->load.rate, ops = 0, time = 0, inverse = 0, smallest = INFINITY;
    if (!report->load.known || rate <= 0 || report->load.in_flight <= 0)
        return prediction;
    for (size_t i = 0; i < report->op_count; i++) {
        const struct report_op *op = &report->ops[i];
        ops += (double)op->count;
        time += (double)op->unattributed_ns / 1e9;
        for (size_t j = 0; j < op->stage_count; j++)
            time += unhindered(report, &op->stages[j], cause);
    }
    double under_way = fmax(report->load.peak, report->load.in_flight);
    double outside = fmax(0, (under_way - report->load.in_flight) / rate);
    double each = time / ops + outside + batch_wait(report, cause);
    if (each > 0)
        inverse += pow(each / under_way, CORNER);
    for (size_t i = 0; i < report->queue_count + report->lock_count; i++) {
        bool is_queue = i < report->queue_count;
        const struct report_queue *queue = is_queue ? &report->queues[i] : NULL;
        const struct report_lock *lock = is_queue ? NULL : &report->locks[i - report->queue_count];
        double busy = is_queue ? queue->busiest : lock->busy;
        if (is_queue && queue->batch >= BATCHES)
            continue;
        if (lock && (lock == cause->lock || strcmp(lock->class, "lock") != 0))
            continue;
        busy *= 1 - (is_queue ? vanishing(cause, queue->parts, queue->part_count)
                              : vanishing(cause, lock->holders, lock->holder_count));
        if (busy <= 0)
            continue;
        inverse += pow(busy / rate, CORNER);
        if (rate / busy < smallest) {
            smallest = rate / busy;
            snprintf(prediction.ceiling, sizeof(prediction.ceiling), "%s",
                     is_queue ? queue->stage : lock->name);
        }
    }
    if (isfinite(smallest))
        prediction.ceiling_ops_per_s = smallest;
    if (inverse > 0)
        prediction.ops_per_s = pow(inverse, -1 / CORNER);
    return prediction;
}
