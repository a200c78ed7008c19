/* SPDX-License-Identifier: MIT */
/*
 * Traces a process with the loader alone, until SIGINT, and prints as JSON what came. For looking
 * at what the command does not show, in ways that it does not offer.
 *
 * usage: trace_once PID [--one-by-one] [--ring BYTES]
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "points.h"
#include "tracer.h"

static volatile sig_atomic_t stop;

static void on_interrupt(int number)
{
    (void)number;
    stop = 1;
}

static void print_points(const uint64_t *points)
{
    const char *comma = "";
    for (int i = 0; i < POINT_COUNT; i++)
        if (points[i]) {
            printf("%s\"%s\": %lu", comma, point_rows[i].name, points[i]);
            comma = ", ";
        }
}

static int run(struct tracer *tracer)
{
    static struct optrail_event events[1024];
    uint64_t points[POINT_COUNT] = {0}, last = 0, backwards = 0, lost = 0, foreign = 0;
    struct event_feed *feed = tracer_feed(tracer);
    int got;
    while ((got = feed->next(feed->context, events, 1024)) != 0) {
        if (got < 0 && got != -EAGAIN)
            return got;
        for (int i = 0; i < got; i++) {
            backwards += events[i].time_ns < last;
            last = events[i].time_ns;
            if (events[i].point < POINT_COUNT)
                points[events[i].point]++;
            else
                foreign++;
        }
        uint64_t begin, end;
        lost += feed->lost(feed->context, &begin, &end);
    }
    struct tracer_counts counts = tracer_counts(tracer);
    size_t site_count, attached = 0;
    const struct tracer_site *sites = tracer_sites(tracer, &site_count);
    uint64_t hits = 0;
    for (size_t i = 0; i < site_count; i++) {
        attached += sites[i].attached;
        hits += sites[i].events;
    }
    printf("{\"method\": \"%s\", \"sites\": %zu, \"hits\": %lu, \"events\": %lu, \"lost\": %lu, "
           "\"told_lost\": %lu, \"backwards\": %lu, \"foreign\": %lu, \"faults\": %lu, "
           "\"exited\": %s, \"points\": {",
           tracer_method(tracer), attached, hits, counts.events, counts.lost, lost, backwards,
           foreign, counts.faults, tracer_target_exited(tracer) ? "true" : "false");
    print_points(points);
    memset(points, 0, sizeof(points));
    for (size_t i = 0; i < site_count; i++)
        if (sites[i].lost)
            points[point_by_name(sites[i].name)] += sites[i].lost;
    printf("}, \"lost_points\": {");
    print_points(points);
    puts("}}");
    return 0;
}

int main(int argc, char **argv)
{
    struct tracer_options options = {.stop = &stop};
    struct target target;
    struct tracer *tracer;
    if (argc < 2)
        return 2;
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--one-by-one") == 0)
            options.one_by_one = true;
        else if (strcmp(argv[i], "--ring") == 0 && i + 1 < argc)
            options.ring_bytes = (uint32_t)strtoul(argv[++i], NULL, 10);
        else
            return 2;
    }
    struct sigaction action = {.sa_handler = on_interrupt};
    sigaction(SIGINT, &action, NULL);
    int error = target_inspect((pid_t)strtol(argv[1], NULL, 10), &target);
    if (!error)
        error = tracer_open(&target, NULL, &options, &tracer);
    if (error) {
        fprintf(stderr, "trace_once: %s\n", err_message());
        return 1;
    }
    fprintf(stderr, "ready\n");
    error = run(tracer);
    if (error)
        fprintf(stderr, "trace_once: %s\n", err_message());
    tracer_close(tracer);
    return error ? 1 : 0;
}
