/* SPDX-License-Identifier: MIT */
/* usage: optrail-duty-ops PID PATH-FILE TYPE PART SECONDS FILE
 *
 * Traces the daemon at standard detail as `optrail attach` does, for PART of the time (1: all of
 * it), and writes each op of one type to FILE, so that it can be computed how sure the percentiles
 * are. A line of JSON with the columns' names and what the tracer says of the run, then rows of
 * 64-bit numbers: the slice in which the op began (from 1), start, latency, the stages; ns.
 *
 * At each turn of the duty cycle it prints a line, with what the daemon counts by then: the turn,
 * the time (s, CLOCK_MONOTONIC), ops, CPU of the daemon and of this process (s). */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "err.h"
#include "op_counter.h"
#include "path.h"
#include "sweep.h"
#include "thread_times.h"
#include "tracer_group.h"
#include "trail.h"

#define COLUMNS 3 /* before the stages */

struct run {
    const char *type;
    struct path_set paths;
    struct sweep_plan plan;
    uint64_t slice;
    uint64_t slowest_ns; /* since it was asked for */
    size_t columns;
    size_t count, room; /* numbers */
    uint64_t *numbers;
    uint64_t lost, cut;
    struct op_counter *counter;
    pid_t pid;
    int turn_error;
};

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
    stop = number;
}

static uint64_t *new_row(struct run *run)
{
    if (run->count + run->columns > run->room) {
        size_t room = run->room ? 2 * run->room : 1 << 16;
        uint64_t *numbers = realloc(run->numbers, room * sizeof(*numbers));
        if (!numbers)
            return NULL;
        run->numbers = numbers;
        run->room = room;
    }
    run->count += run->columns;
    return run->numbers + run->count - run->columns;
}

static int take_trail(void *context, const struct trail *trail)
{
    struct run *run = context;
    struct path_match match;
    struct path_op op = {trail->seen, trail->type, trail->bytes_in, trail->bytes_out};
    struct sweep_parts parts;

    run->cut += trail->end == TRAIL_CUT;
    if (trail->end != TRAIL_FINISHED)
        return 0;
    uint64_t latency = trail->finish_ns - trail->start_ns;
    if (latency > run->slowest_ns)
        run->slowest_ns = latency;
    if (!path_set_match(&run->paths, &op, &match) || strcmp(match.type->name, run->type) != 0)
        return 0;
    uint64_t *row = new_row(run);
    if (!row)
        return err_no_memory();
    sweep_trail(&run->plan, trail, &parts);
    row[0] = run->slice;
    row[1] = trail->start_ns;
    row[2] = latency;
    for (size_t i = COLUMNS; i < run->columns; i++)
        row[i] = parts.on_path[i - COLUMNS];
    return 0;
}

static uint64_t slowest_ns(void *context)
{
    struct run *run = context;
    uint64_t slowest = run->slowest_ns;
    run->slowest_ns = 0;
    return slowest;
}

static double seconds_of(const struct timeval *time)
{
    return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

/* CPU of this process, and of those that held its probes. */
static double cpu_seconds(void)
{
    struct rusage own, holders;
    getrusage(RUSAGE_SELF, &own);
    getrusage(RUSAGE_CHILDREN, &holders);
    return seconds_of(&own.ru_utime) + seconds_of(&own.ru_stime) + seconds_of(&holders.ru_utime) +
           seconds_of(&holders.ru_stime);
}

static void take_turn(void *context, enum tracer_turn turn)
{
    static const char *const names[] = {"goes_in", "is_in", "pauses", "is_out"};
    struct run *run = context;
    struct op_count count;
    uint64_t daemon_ns;

    if (turn == TRACER_IS_IN || turn == TRACER_PAUSES) /* to ask the daemon takes time of it */
        return;
    int error = op_counter_read(run->counter, &count);
    if (!error)
        error = thread_times_read(run->pid, &daemon_ns);
    if (error) {
        run->turn_error = error;
        return;
    }
    printf("%s %.6f %llu %.6f %.6f\n", names[turn], (double)count.time_ns / 1e9,
           (unsigned long long)count.ops, (double)daemon_ns / 1e9, cpu_seconds());
    fflush(stdout);
}

static int follow(struct run *run, struct event_feed *feed, struct trail_builder *builder)
{
    static struct optrail_event events[1024];
    int got, error = 0;

    while (!error && !run->turn_error && (got = feed->next(feed->context, events, 1024)) != 0) {
        if (got < 0 && got != -EAGAIN)
            return got;
        for (int i = 0; !error && i < got; i++) {
            run->slice += events[i].point == POINT_tracer_resume;
            error = trail_builder_event(builder, &events[i]);
        }
        uint64_t begin, end, lost = feed->lost(feed->context, &begin, &end);
        if (lost)
            error = trail_builder_lost(builder, begin, end);
        run->lost += lost;
    }
    if (run->turn_error)
        return run->turn_error;
    return error ? error : trail_builder_end(builder);
}

static int write_rows(const struct run *run, const struct tracer_group_slices *slices,
                      const char *name)
{
    const struct path *path = run->plan.path;
    FILE *file = fopen(name, "we");
    if (!file)
        return err_set(errno, "%s: %s", name, strerror(errno));
    fprintf(file,
            "{\"slices\": %llu, \"traced\": %.6f, \"probed\": %.6f, \"wall\": %.6f, \"cpu\": %.6f, "
            "\"lost\": %llu, \"cut\": %llu, \"columns\": [\"slice\", \"start\", \"latency\"",
            (unsigned long long)slices->count, (double)slices->traced_ns / 1e9,
            (double)slices->probed_ns / 1e9, (double)slices->wall_ns / 1e9, cpu_seconds(),
            (unsigned long long)run->lost, (unsigned long long)run->cut);
    for (size_t i = 0; i < path->stage_count; i++)
        fprintf(file, ", \"%s\"", path->stages[i].name);
    fputs("]}\n", file);
    fwrite(run->numbers, sizeof(*run->numbers), run->count, file);
    bool failed = ferror(file) != 0;
    return (fclose(file) == EOF || failed) ? err_set(EIO, "%s: cannot be written", name) : 0;
}

static int trace(struct run *run, const struct target *target, double part, double seconds,
                 const char *file)
{
    struct tracer_group_options options = {
        .each = {.detail = DETAIL_STANDARD, .seconds = seconds, .stop = &stop},
        .duty = part < 1 ? part : 0,
        .slowest_ns = slowest_ns,
        .turns = take_turn,
        .context = run};
    struct tracer_group *group = NULL;
    struct trail_builder *builder = NULL;

    int error = trail_builder_new(NULL, take_trail, run, &builder);
    if (!error)
        error = op_counter_open(target, &run->counter);
    if (!error)
        error = tracer_group_open(target, 1, &options, &group);
    if (!error)
        error = follow(run, tracer_group_feed(group), builder);
    if (!error) {
        struct tracer_group_slices slices = tracer_group_slices(group);
        error = write_rows(run, &slices, file);
    }
    tracer_group_close(group);
    op_counter_close(run->counter);
    trail_builder_free(builder);
    return error;
}

int main(int argc, char **argv)
{
    if (argc != 7) {
        fprintf(stderr, "usage: optrail-duty-ops PID PATH-FILE TYPE PART SECONDS FILE\n");
        return 2;
    }
    struct run run = {.type = argv[3], .pid = (pid_t)strtol(argv[1], NULL, 10)};
    struct target target;
    struct path *path = NULL;
    signal(SIGINT, on_signal);
    int error = target_inspect(run.pid, &target);
    if (!error)
        error = path_read(argv[2], &path);
    if (!error) {
        sweep_plan_init(&run.plan, path);
        run.columns = COLUMNS + path->stage_count;
        error = path_set_add(&run.paths, path);
    }
    if (!error)
        error = trace(&run, &target, strtod(argv[4], NULL), strtod(argv[5], NULL), argv[6]);
    if (error)
        fprintf(stderr, "optrail-duty-ops: %s\n", err_message());
    path_set_free(&run.paths);
    free(run.numbers);
    return error ? 1 : 0;
}
