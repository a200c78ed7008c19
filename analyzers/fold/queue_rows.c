/* SPDX-License-Identifier: MIT */
/* The report's queues: what arrives, who takes it, and what those who take it are busy with. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contention.h"
#include "err.h"

/* Threads that are seen to take several ops at once take as many as come. */
#define BATCHES 1.01

/* A thread of the pool behind a queue. */
struct server {
    const struct flow_thread *thread; /* weak */
    uint64_t busy_ns, locks_ns;       /* locks: of busy */
    uint64_t ops, visits;
};

struct pool {
    const struct contention *contention;
    const struct stage_labels *labels;
    const struct flow_queue *queue;
    size_t count;
    struct server *servers;   /* room for FLOW_THREADS */
    struct report_queue *row; /* weak */
    struct report *report;    /* for activities */
    int result;
};

static const char *label_name(const struct stage_label *label)
{
    return label->stage ? label->stage->name : "elsewhere";
}

static const char *lock_part(const struct contention *contention, uint16_t lock, char *name,
                             size_t size)
{
    snprintf(name, size, "lock:%s", lock_table_groups(contention->locks)->rows[lock]->name);
    return name;
}

static struct server *server_of(struct pool *pool, const struct flow_thread *thread)
{
    /* the steps of one thread come one after the other */
    if (pool->count > 0 && pool->servers[pool->count - 1].thread == thread)
        return &pool->servers[pool->count - 1];
    return NULL;
}

/* Who takes from the queue. */
static void find_server(void *context, const struct flow_thread *thread,
                        const struct flow_step *step)
{
    struct pool *pool = context;
    if (step->to != pool->queue->to || step->lock != LOCK_NO_GROUP)
        return;
    struct server *server = server_of(pool, thread);
    if (!server) {
        server = &pool->servers[pool->count++];
        *server = (struct server){.thread = thread};
    }
    server->ops += step->count;
    if (step->from != step->to)
        server->visits += step->count;
}

/* What they do. */
static void add_to_server(void *context, const struct flow_thread *thread,
                          const struct flow_step *step)
{
    struct pool *pool = context;
    struct server *server = NULL;
    for (size_t i = 0; i < pool->count && !server; i++)
        if (pool->servers[i].thread == thread)
            server = &pool->servers[i];
    if (!server || step->ns == 0 || pool->result < 0)
        return;
    struct stage_label label = stage_label_of(pool->labels, step->from, step->to);
    if (label.idle)
        return;
    char name[160];
    const char *part = step->lock == LOCK_NO_GROUP
                           ? label_name(&label)
                           : lock_part(pool->contention, step->lock, name, sizeof(name));
    server->busy_ns += step->ns;
    server->locks_ns += step->lock == LOCK_NO_GROUP ? 0 : step->ns;
    pool->result = report_add_part(&pool->row->parts, &pool->row->part_count, part, step->ns);
}

/* The part of the waiting that no work of the threads explains: the thread that took the op in the
 * end was free; or ops were always waiting, and yet no thread was busy all the time. */
static double idle_share(const struct flow_queue *queue, const struct report_queue *row,
                         double seconds)
{
    if (queue->wait_ns == 0 || row->servers == 0)
        return 0;
    double seen = (double)queue->idle_ns / (double)queue->wait_ns;
    double waiting = (double)queue->wait_ns / 1e9 / seconds / (double)row->servers;
    double lacking = (waiting < 1 ? waiting : 1) * (1 - row->busiest);
    return seen > lacking ? seen : lacking;
}

static void add_figures(struct pool *pool, double seconds)
{
    struct report_queue *row = pool->row;
    uint64_t busy_ns = 0, busiest_ns = 0, alone_ns = 0, taken = 0, visits = 0;
    for (size_t i = 0; i < pool->count; i++) {
        busy_ns += pool->servers[i].busy_ns;
        taken += pool->servers[i].ops;
        visits += pool->servers[i].visits;
        if (pool->servers[i].busy_ns > busiest_ns)
            busiest_ns = pool->servers[i].busy_ns;
        if (pool->servers[i].busy_ns - pool->servers[i].locks_ns > alone_ns)
            alone_ns = pool->servers[i].busy_ns - pool->servers[i].locks_ns;
    }
    row->ops = pool->queue->ops;
    row->wait_total_ns = pool->queue->wait_ns;
    row->servers = pool->count;
    row->rate = (double)row->ops / seconds;
    row->busy = pool->count ? (double)busy_ns / 1e9 / seconds / (double)pool->count : 0;
    row->busiest = (double)busiest_ns / 1e9 / seconds;
    row->busiest_alone = (double)alone_ns / 1e9 / seconds;
    row->late_ns = pool->queue->idle_ns;
    row->service_ns = taken ? (double)busy_ns / (double)taken : 0;
    row->batch = visits ? (double)taken / (double)visits : 0;
    row->batches = row->batches || row->batch > BATCHES;
    row->idle_share = idle_share(pool->queue, row, seconds);
    double ceiling = row->shared ? row->busy : row->busiest;
    row->ceiling_ops_per_s = ceiling > 0 ? pool->report->load.rate / ceiling : 0;
    report_sort_parts(row->parts, row->part_count);
}

static int fill_queue(struct pool *pool, double seconds)
{
    const struct path_stage *stage =
        stage_between(pool->labels, pool->queue->from, pool->queue->to);
    if (!stage || pool->queue->ops == 0 || 2 * pool->queue->own > pool->queue->ops)
        return 0;
    for (size_t i = 0; i < pool->report->queue_count; i++)
        if (strcmp(pool->report->queues[i].stage, stage->name) == 0)
            return 0;
    int rc = report_add_queue(pool->report, stage->name, &pool->row);
    if (rc < 0)
        return rc;
    pool->row->batches = stage->batches;
    pool->row->shared = stage->shared;
    pool->count = 0;
    flows_steps(&pool->contention->flows, find_server, pool);
    flows_steps(&pool->contention->flows, add_to_server, pool);
    if (pool->result == 0)
        add_figures(pool, seconds);
    return pool->result;
}

static struct report_activity *activity_of(struct pool *pool, const char *stage)
{
    struct report *report = pool->report;
    struct report_activity *row = NULL;
    for (size_t i = 0; i < report->activity_count; i++)
        if (strcmp(report->activities[i].stage, stage) == 0)
            return &report->activities[i];
    pool->result = report_add_activity(report, stage, &row);
    return pool->result == 0 ? row : NULL;
}

static void add_activity(void *context, const struct flow_thread *thread,
                         const struct flow_step *step)
{
    struct pool *pool = context;
    (void)thread;
    struct stage_label label = stage_label_of(pool->labels, step->from, step->to);
    if (label.idle || pool->result < 0 || step->ns == 0)
        return;
    struct report_activity *row = activity_of(pool, label_name(&label));
    if (!row)
        return;
    row->ns += step->ns;
    if (step->lock == LOCK_NO_GROUP)
        return;
    char name[160];
    row->locks_ns += step->ns;
    pool->result =
        report_add_part(&row->parts, &row->part_count,
                        lock_part(pool->contention, step->lock, name, sizeof(name)), step->ns);
}

/* In an order that does not depend on which threads were seen first. */
static int by_time(const void *a, const void *b)
{
    const struct report_activity *left = a, *right = b;
    if (left->ns != right->ns)
        return left->ns < right->ns ? 1 : -1;
    return strcmp(left->stage, right->stage);
}

int contention_fill_queues(const struct contention *contention, const struct stage_labels *labels,
                           struct report *report)
{
    double seconds = (double)contention_window_ns(contention) / 1e9;
    if (seconds <= 0 || !report->load.known)
        return 0;
    struct pool pool = {.contention = contention, .labels = labels, .report = report};
    pool.servers = calloc(FLOW_THREADS, sizeof(*pool.servers));
    if (!pool.servers)
        return err_no_memory();
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < contention->flows.queue_count; i++) {
        pool.queue = &contention->flows.queues[i];
        rc = fill_queue(&pool, seconds);
    }
    if (rc == 0) {
        flows_steps(&contention->flows, add_activity, &pool);
        rc = pool.result;
    }
    if (report->activity_count > 0)
        qsort(report->activities, report->activity_count, sizeof(*report->activities), by_time);
    for (size_t i = 0; i < report->activity_count; i++)
        report_sort_parts(report->activities[i].parts, report->activities[i].part_count);
    free(pool.servers);
    return rc;
}
