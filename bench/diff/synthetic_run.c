/* SPDX-License-Identifier: MIT */
#include "synthetic_run.h"

#include <math.h>
#include <stdlib.h>

#include "err.h"

#define EVENTS_AN_OP 16

const char *const run_kind_names[RUN_KINDS] = {"independent", "queue", "moods"};

struct generator {
    const struct run_plan *plan;
    uint64_t random;
    double spare;                 /* of the last pair of normal values; NaN: none */
    struct optrail_event *events; /* owned */
    size_t count;
};

static double uniform(struct generator *generator) /* Vigna's xorshift64* */
{
    generator->random ^= generator->random >> 12;
    generator->random ^= generator->random << 25;
    generator->random ^= generator->random >> 27;
    return ((double)(generator->random * 0x2545f4914f6cdd1dull >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(struct generator *generator) /* Box and Muller */
{
    if (!isnan(generator->spare)) {
        double spare = generator->spare;
        generator->spare = NAN;
        return spare;
    }
    double radius = sqrt(-2 * log(uniform(generator))), angle = 2 * M_PI * uniform(generator);
    generator->spare = radius * sin(angle);
    return radius * cos(angle);
}

/* Log-normal: skewed, as times are. ns. */
static double lasts(struct generator *generator, double median_us, double spread)
{
    return 1000 * median_us * exp(spread * normal(generator)) * generator->plan->mood;
}

static void emit(struct generator *generator, enum point point, double at, uint32_t tid,
                 uint64_t key, uint64_t arg0, uint64_t arg1)
{
    generator->events[generator->count++] = (struct optrail_event){.time_ns = (uint64_t)at,
                                                                   .key = key,
                                                                   .arg0 = arg0,
                                                                   .arg1 = arg1,
                                                                   .pid = 7,
                                                                   .tid = tid,
                                                                   .point = (uint16_t)point};
}

static int by_time(const void *a, const void *b)
{
    const struct optrail_event *left = a, *right = b;
    if (left->time_ns != right->time_ns)
        return left->time_ns < right->time_ns ? -1 : 1;
    if (left->key != right->key)
        return left->key < right->key ? -1 : 1;
    return 0;
}

/* When the worker has prepared the op that came at `at`. */
static double prepare(struct generator *generator, double at, double *worker, uint64_t key)
{
    bool queues = generator->plan->kind != RUN_INDEPENDENT;
    double begin = queues ? fmax(at, *worker) : at + lasts(generator, 300, 0.8);
    double end = begin + lasts(generator, 0.62e6 / generator->plan->rate, 0.5);
    emit(generator, POINT_opqueue_dequeue, begin, 2, key, 3, 0);
    emit(generator, POINT_osd_prepared, end, 2, key, 0, 0);
    *worker = end;
    return end;
}

static void add_op(struct generator *generator, double at, double *worker, double mood,
                   uint64_t number)
{
    bool write = uniform(generator) < 2.0 / 3;
    uint64_t key = 0x1000 + number * 64;
    emit(generator, POINT_op_start, at, 1, key, write ? 2 : 1, 4001);
    at += lasts(generator, 30, 0.4);
    emit(generator, POINT_messenger_recv_end, at, 1, key, 4096, 0);
    at += 1;
    emit(generator, POINT_opqueue_enqueue, at, 1, key, 3, 0);
    at = prepare(generator, at, worker, key);
    if (write) {
        at += 1;
        emit(generator, POINT_filestore_sequence, at, 2, key, 1000 + number, KEY_SEQUENCE);
        emit(generator, POINT_journal_submit, at + 1, 2, 1000 + number, 4096, 0);
        at += 1 + lasts(generator, 100, 0.6);
        emit(generator, POINT_journal_write_begin, at, 3, 1000 + number, 0, 0);
        at += lasts(generator, 500, 0.6) * exp(mood) * generator->plan->journal;
        emit(generator, POINT_journal_write_end, at, 3, 1000 + number, 0, 0);
    } else {
        at += 1;
        emit(generator, POINT_filestore_read_begin, at, 2, key, 0, 0);
        at += lasts(generator, 400, 0.9);
        emit(generator, POINT_filestore_read_end, at, 2, key, 0, 0);
    }
    at += 1;
    emit(generator, POINT_reply_enqueue, at, 3, key, 0, 0);
    at += lasts(generator, 40, 0.3);
    emit(generator, POINT_op_finish, at, 4, key, write ? 4096 : 0, write ? 0 : 4096);
    emit(generator, POINT_op_end, at + 1, 4, key, 0, 0);
}

static void add_ops(struct generator *generator, size_t most)
{
    const struct run_plan *plan = generator->plan;
    double at = 1e9, worker = 0, mood = 0, memory = 0.1e9;
    for (size_t i = 0; i < most; i++) {
        double gap = -log(uniform(generator)) * 1e9 / plan->rate;
        double kept = exp(-gap / memory);
        at += gap;
        if (at > 1e9 + plan->seconds * 1e9)
            break;
        if (plan->kind == RUN_MOODS)
            mood = kept * mood + sqrt(1 - kept * kept) * 0.15 * normal(generator);
        add_op(generator, at, &worker, mood, i);
    }
}

int synthetic_run(const struct run_plan *plan, struct analysis *analysis, struct report **report)
{
    struct generator generator = {.plan = plan, .random = plan->seed * 0x9e3779b97f4a7c15ull | 1};
    size_t most = (size_t)(2 * plan->seconds * plan->rate) + 100;
    generator.spare = NAN;
    generator.events = calloc(most * EVENTS_AN_OP, sizeof(*generator.events));
    if (!generator.events)
        return err_no_memory();
    for (int i = 0; i < 20; i++)
        uniform(&generator);
    add_ops(&generator, most);
    qsort(generator.events, generator.count, sizeof(*generator.events), by_time);
    const struct event_consumer *consumer = analysis_consumer(analysis);
    struct read_counts counts = {.tracer = "bpf", .pid = 7, .events = generator.count};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < generator.count; i++)
        rc = consumer->event(consumer->context, &generator.events[i]);
    if (generator.count > 0) {
        counts.begin_ns = generator.events[0].time_ns;
        counts.end_ns = generator.events[generator.count - 1].time_ns;
    }
    free(generator.events);
    return rc < 0 ? rc : analysis_report(analysis, &counts, NULL, report);
}
