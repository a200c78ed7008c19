/* SPDX-License-Identifier: MIT */
#include "overhead.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock_ns.h"
#include "err.h"
#include "load_command.h"
#include "op_counter.h"
#include "thread_times.h"
#include "traced_slice.h"

/* After attaching or detaching, before a slice begins: the tracer empties its ring every 100 ms, so
 * it is in step when it has done so once. */
#define SETTLE_NS 150000000ull
/* How long the first op may be in coming. */
#define PATIENCE_NS 20000000000ull
#define POLL_NS     20000000ull

struct bench {
    const struct overhead_options *options;
    struct op_counter *counter;
    struct load_command *load;
    struct thread_binding *binding;
};

/* The state of all counters at one time. */
struct reading {
    struct op_count count;
    uint64_t daemon_ns, tracer_ns;
};

static bool stopped(const struct bench *bench)
{
    return bench->options->stop && *bench->options->stop;
}

static void sleep_until(uint64_t time_ns)
{
    struct timespec time = {.tv_sec = (time_t)(time_ns / 1000000000u),
                            .tv_nsec = (long)(time_ns % 1000000000u)};

    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

static int take_reading(const struct bench *bench, pid_t tracer, struct reading *reading)
{
    int error = op_counter_read(bench->counter, &reading->count);

    reading->tracer_ns = 0;
    if (!error)
        error = thread_times_read(bench->options->target.pid, &reading->daemon_ns);
    if (!error && tracer > 0)
        error = thread_times_read(tracer, &reading->tracer_ns);
    return error;
}

/* `tracer` 0: none. */
static int measure_slice(const struct bench *bench, pid_t tracer, struct overhead_slice *slice)
{
    struct reading begin, end;
    uint64_t now = monotonic_ns();

    sleep_until(now + SETTLE_NS);
    int error = take_reading(bench, tracer, &begin);
    if (error)
        return error;
    sleep_until(begin.count.time_ns + (uint64_t)(bench->options->slice_seconds * 1e9));
    error = take_reading(bench, tracer, &end);
    if (error)
        return error;
    slice->seconds = (double)(end.count.time_ns - begin.count.time_ns) / 1e9;
    slice->ops = (double)(end.count.ops - begin.count.ops);
    slice->latency_ns = -1;
    if (begin.count.has_latency && end.count.has_latency)
        slice->latency_ns = (end.count.latency_ns - begin.count.latency_ns) / slice->ops;
    slice->daemon_ns = (double)(end.daemon_ns - begin.daemon_ns) / slice->ops;
    slice->tracer_ns = (double)(end.tracer_ns - begin.tracer_ns) / slice->ops;
    return 0;
}

static int measure_traced(const struct bench *bench, struct overhead_slice *slice,
                          struct overhead_result *result)
{
    struct traced_slice tracer;
    struct traced_counts counts;

    if (bench->options->control)
        return measure_slice(bench, 0, slice);
    int error =
        traced_slice_begin(&tracer, bench->options->target.pid, bench->options->attach_options);
    if (error)
        return error;
    error = measure_slice(bench, tracer.pid, slice);
    int ended = traced_slice_end(&tracer, &counts);
    result->events += counts.events;
    result->traced_ops += counts.ops;
    result->lost_events += counts.lost_events;
    result->attach_ns += tracer.attached_ns;
    return error ? error : ended;
}

/* The first op that the load brings. */
static int await_load(const struct bench *bench)
{
    struct op_count first, now;
    uint64_t deadline = monotonic_ns() + PATIENCE_NS;
    int error = op_counter_read(bench->counter, &first);

    for (now = first; !error && now.ops == first.ops;
         error = op_counter_read(bench->counter, &now)) {
        if (stopped(bench))
            return err_set(EINTR, "interrupted before the first op");
        if (bench->load && load_command_ended(bench->load))
            return err_set(ENOENT, "the load ended at once: `%s`", bench->options->load[0]);
        if (monotonic_ns() > deadline)
            return err_set(ETIMEDOUT,
                           "pid %d serves no ops: put load on it, or name a command "
                           "that does behind --",
                           bench->options->target.pid);
        sleep_until(monotonic_ns() + POLL_NS);
    }
    return error;
}

static int measure_pairs(const struct bench *bench, struct overhead_result *result)
{
    for (size_t i = 0; i < bench->options->pairs; i++) {
        struct overhead_pair pair;
        int error =
            i % 2 ? measure_traced(bench, &pair.on, result) : measure_slice(bench, 0, &pair.off);
        if (!error)
            error = i % 2 ? measure_slice(bench, 0, &pair.off)
                          : measure_traced(bench, &pair.on, result);
        if (stopped(bench)) /* whatever went wrong: what is whole is reported */
            result->cut = "interrupted";
        else if (bench->load && load_command_ended(bench->load))
            result->cut = "the load ended";
        if (result->cut)
            return 0;
        if (error)
            return error;
        if (pair.on.ops > 0 && pair.off.ops > 0)
            result->pairs[result->count++] = pair;
        else
            result->idle++;
    }
    return 0;
}

int overhead_measure(const struct overhead_options *options, struct overhead_result *result)
{
    struct bench bench = {.options = options};
    pid_t pid = options->target.pid;

    *result = (struct overhead_result){.pairs = calloc(options->pairs, sizeof(*result->pairs))};
    int error = result->pairs ? 0 : err_no_memory();
    if (!error)
        error = op_counter_open(&options->target, &bench.counter);
    if (!error && options->cpu >= 0)
        error = thread_binding_make(pid, options->cpu, &bench.binding);
    if (!error && options->load)
        error = load_command_start(options->load, &bench.load);
    if (!error)
        error = await_load(&bench);
    if (!error)
        error = measure_pairs(&bench, result);
    if (!error && result->count == 0)
        error = err_set(ENODATA, "not one pair of slices could be measured%s%s",
                        result->cut ? ": " : "", result->cut ? result->cut : "");
    load_command_stop(bench.load);
    thread_binding_undo(bench.binding);
    op_counter_close(bench.counter);
    if (error) {
        free(result->pairs);
        result->pairs = NULL;
    }
    return error;
}
