/* SPDX-License-Identifier: MIT */
#include "load_worker.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "daemon_log.h"
#include "workload.h"

/* An op in flight. */
struct pending {
    struct pending *next_free;
    struct load_worker *worker;
    uint64_t object;  /* index */
    uint64_t version; /* write: the one written; read: the one that must be there at least */
    uint64_t began_ns;
    bool write;
};

static uint32_t bucket_of(uint64_t ns)
{
    if (ns < LATENCY_SUB)
        return (uint32_t)ns;
    uint32_t shift = 63 - (uint32_t)__builtin_clzll(ns / LATENCY_SUB);
    uint32_t bucket = shift * LATENCY_SUB + (uint32_t)(ns >> shift);
    return bucket < LATENCY_BUCKETS ? bucket : LATENCY_BUCKETS - 1;
}

static uint64_t bucket_middle(uint32_t bucket)
{
    if (bucket < LATENCY_SUB)
        return bucket;
    uint32_t shift = bucket / LATENCY_SUB - 1;
    uint64_t low = (uint64_t)(bucket - shift * LATENCY_SUB) << shift;
    return low + (1ull << shift) / 2;
}

void load_counts_add(struct load_counts *to, const struct load_counts *from)
{
    to->started += from->started;
    to->finished += from->finished;
    to->reads += from->reads;
    to->writes += from->writes;
    to->failed += from->failed;
    to->lost += from->lost;
    to->wrong += from->wrong;
    to->bytes += from->bytes;
    to->sum_ns += from->sum_ns;
    to->sum_squares += from->sum_squares;
    if (from->last_ns)
        to->last_ns = from->last_ns;
    if (from->min_ns && (!to->min_ns || from->min_ns < to->min_ns))
        to->min_ns = from->min_ns;
    if (from->max_ns > to->max_ns)
        to->max_ns = from->max_ns;
    for (int i = 0; i < ERRNO_LIMIT; i++)
        to->errors[i] += from->errors[i];
    for (int i = 0; i < LATENCY_BUCKETS; i++)
        to->latency[i] += from->latency[i];
}

uint64_t load_counts_quantile(const struct load_counts *counts, double part)
{
    uint64_t rank = (uint64_t)(part * (double)counts->finished + 0.5), seen = 0;
    for (uint32_t i = 0; i < LATENCY_BUCKETS && counts->finished; i++) {
        seen += counts->latency[i];
        if (seen >= rank && counts->latency[i])
            return bucket_middle(i);
    }
    return counts->max_ns;
}

/* Whether what came back is right, and what it tells of the object. Under the worker's lock. */
static bool is_right(const struct load_options *options, const struct pending *op,
                     struct object_row *row, int error, const void *data, uint32_t length)
{
    uint64_t number = options->first_object + op->object;
    if (error == ENOENT && op->version == 0)
        return true; /* nothing was promised */
    if (error || length != options->object_size)
        return false;
    uint64_t version = workload_version(data, length, number);
    if (version == 0 || (op->version && (version < op->version || version > row->submitted)))
        return false;
    if (op->version)
        row->acknowledged = version; /* what was seen once must stay */
    return true;
}

static void count(struct load_counts *counts, const struct pending *op, uint64_t now_ns)
{
    uint64_t ns = now_ns - op->began_ns;
    counts->finished++;
    counts->last_ns = ns;
    counts->sum_ns += ns;
    counts->sum_squares += (double)ns * 1e-9 * ((double)ns * 1e-9);
    if (!counts->min_ns || ns < counts->min_ns)
        counts->min_ns = ns;
    if (ns > counts->max_ns)
        counts->max_ns = ns;
    counts->latency[bucket_of(ns)]++;
}

/* Runs in the client's reader thread. */
static void done(void *context, int error, const void *data, uint32_t length)
{
    struct pending *op = context;
    struct load_worker *worker = op->worker;
    const struct load_options *options = worker->shared->options;
    struct load_counts *counts = worker->counts;
    uint64_t now = clock_now_ns();
    pthread_mutex_lock(&worker->lock);
    struct object_row *row = &worker->shared->record->rows[op->object];
    bool lost = error == ECONNRESET || error == ENOTCONN;
    bool wrong =
        !op->write && !lost && options->verify && !is_right(options, op, row, error, data, length);
    if (wrong)
        log_limited("object %" PRIu64 " is not what was acknowledged (version %" PRIu64 "): %s",
                    options->first_object + op->object, op->version,
                    error ? strerror(error) : "other data");
    if (!lost)
        count(counts, op, now);
    if (lost) {
        counts->lost++;
        atomic_store(&worker->shared->stop, true);
    } else if (wrong) {
        counts->wrong++;
    } else if (error && !(error == ENOENT && options->verify && !op->write)) {
        counts->failed++;
        counts->errors[error > 0 && error < ERRNO_LIMIT ? error : 0]++;
    } else {
        counts->bytes += op->write ? options->object_size : length;
        if (op->write) {
            counts->writes++;
            if (op->version > row->acknowledged)
                row->acknowledged = op->version;
        } else {
            counts->reads++;
        }
    }
    row->busy = false;
    op->next_free = worker->free_pending;
    worker->free_pending = op;
    pthread_cond_signal(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
}

/* Begins an op; waits for room and, when verifying, for the object's last op. */
static void begin(struct load_worker *worker, struct planned_op planned, void *bytes)
{
    const struct load_options *options = worker->shared->options;
    struct object_row *row = &worker->shared->record->rows[planned.object];
    pthread_mutex_lock(&worker->lock);
    while (!worker->free_pending || (options->verify && row->busy))
        pthread_cond_wait(&worker->changed, &worker->lock);
    struct pending *op = worker->free_pending;
    worker->free_pending = op->next_free;
    op->object = planned.object;
    op->write = planned.write;
    op->version = planned.write ? ++row->submitted : row->acknowledged;
    row->busy = true;
    worker->counts->started++;
    pthread_mutex_unlock(&worker->lock);

    uint64_t number = options->first_object + planned.object;
    uint32_t length = (uint32_t)options->object_size;
    if (planned.write)
        workload_fill(bytes, length, number, op->version);
    op->began_ns = clock_now_ns();
    int error = planned.write ? client_write(worker->client, number, 0, bytes, length, done, op)
                              : client_read(worker->client, number, 0, length, done, op);
    if (error)
        done(op, error, NULL, 0);
}

static bool goes_on(const struct load_shared *shared)
{
    return !atomic_load(&shared->stop) &&
           (!shared->deadline_ns || clock_now_ns() < shared->deadline_ns);
}

/* The op number `number` of the worker's phase; false at the end. */
static bool plan(struct load_worker *worker, uint64_t number, struct planned_op *op)
{
    const struct load_options *options = worker->shared->options;
    if (worker->phase == PHASE_LOAD) {
        uint64_t share =
            options->ops / options->threads + (worker->number < options->ops % options->threads);
        if (options->ops && number >= share)
            return false;
        *op = workload_op(options, worker->number, number);
        worker->digest = workload_digest(worker->digest, *op);
        return true;
    }
    if (number >= workload_objects(options, worker->number))
        return false;
    *op = (struct planned_op){.write = worker->phase == PHASE_PREFILL,
                              .object = workload_object(options, worker->number, number)};
    return true;
}

static void *run(void *argument)
{
    struct load_worker *worker = argument;
    struct load_shared *shared = worker->shared;
    void *bytes = malloc(shared->options->object_size);
    struct planned_op op;
    if (!bytes)
        log_error("no memory for the data to write");
    for (uint64_t number = 0; bytes && goes_on(shared) && plan(worker, number, &op); number++) {
        /* nothing is known of objects that were never written */
        if (worker->phase == PHASE_CHECK && !shared->record->rows[op.object].acknowledged)
            continue;
        begin(worker, op, bytes);
    }
    int error = client_flush(worker->client);
    if (error && error != ENOTCONN)
        log_error("what is in the cache cannot be written back: %s", strerror(error));
    if (error) {
        pthread_mutex_lock(&worker->lock);
        worker->counts->lost++;
        pthread_mutex_unlock(&worker->lock);
    }
    free(bytes);
    pthread_mutex_lock(&shared->lock);
    shared->running--;
    pthread_cond_broadcast(&shared->changed);
    pthread_mutex_unlock(&shared->lock);
    return NULL;
}

int load_worker_init(struct load_worker *worker, struct load_shared *shared, unsigned number)
{
    const struct load_options *options = shared->options;
    *worker = (struct load_worker){.shared = shared, .number = number};
    worker->depth = (unsigned)(options->depth / options->threads +
                               (number < options->depth % options->threads));
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->changed, NULL);
    worker->counts = calloc(1, sizeof(*worker->counts));
    worker->pending = calloc(worker->depth, sizeof(*worker->pending));
    if (!worker->counts || !worker->pending)
        return log_error("no memory for %u ops in flight", worker->depth);
    for (unsigned i = 0; i < worker->depth; i++) {
        worker->pending[i].worker = worker;
        worker->pending[i].next_free = worker->free_pending;
        worker->free_pending = &worker->pending[i];
    }
    struct client_options client = {.host = options->host,
                                    .port = (uint16_t)options->port,
                                    .client = options->client + number,
                                    .depth = worker->depth,
                                    .cache_block = (uint32_t)options->object_size,
                                    .cache_bytes = options->cache};
    if (options->share)
        client.depth = (unsigned)options->depth;
    if (options->share && shared->client) {
        worker->client = shared->client;
        return 0;
    }
    worker->owns_client = client_connect(&client, &worker->client) == 0;
    shared->client = worker->client;
    return worker->owns_client ? 0 : -1;
}

void load_worker_destroy(struct load_worker *worker)
{
    if (worker->owns_client)
        client_close(worker->client);
    free(worker->pending);
    free(worker->counts);
    pthread_cond_destroy(&worker->changed);
    pthread_mutex_destroy(&worker->lock);
}

int load_worker_start(struct load_worker *worker, enum load_phase phase)
{
    worker->phase = phase;
    worker->digest = 0;
    memset(worker->counts, 0, sizeof(*worker->counts));
    pthread_mutex_lock(&worker->shared->lock);
    worker->shared->running++;
    pthread_mutex_unlock(&worker->shared->lock);
    if (pthread_create(&worker->thread, NULL, run, worker) == 0)
        return 0;
    pthread_mutex_lock(&worker->shared->lock);
    worker->shared->running--;
    pthread_mutex_unlock(&worker->shared->lock);
    return log_error("no thread for a connection's load");
}

void load_worker_finish(struct load_worker *worker)
{
    pthread_join(worker->thread, NULL);
}
