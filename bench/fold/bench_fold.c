/* SPDX-License-Identifier: MIT */
/*
 * optrail-bench-fold [EVENTS [ROUNDS]]: what the whole analysis costs, as a ratio to a babeltrace2
 * sink that reads the same fields of the same trace and drops them. A process of its own for each
 * run, in turns; the ratios are the medians of the rounds'. By the clock, since reading and folding
 * overlap, and by processor time, which is what they take together. Goal: at most 1.25 by the
 * clock.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis.h"
#include "bare_sink.h"
#include "clock_ns.h"
#include "err.h"
#include "event_relay.h"
#include "reader.h"
#include "synthetic_load.h"
#include "write_trace.h"

#define DEFAULT_EVENTS 10000000
#define DEFAULT_ROUNDS 5
#define MAX_ROUNDS     101

/* What a run gives back through shared memory. */
struct outcome {
    int64_t events;
    double seconds;    /* by the clock */
    double processor;  /* time, of all threads */
    long anonymous_kb; /* memory that is its own: not the trace, which is mapped */
};

static int64_t analyse(const char *directory)
{
    const struct analysis_options options = {0};
    struct analysis *analysis = NULL;
    struct report *report = NULL;
    struct read_counts counts = {0};
    struct event_relay *relay = NULL;
    int64_t result = analysis_new(&options, &analysis);

    if (result == 0)
        result = event_relay_new(analysis_consumer(analysis), &relay);
    if (result == 0) {
        result = reader_run_traces(&directory, 1, event_relay_consumer(relay), NULL, &counts);
        int folded = event_relay_end(relay);
        result = folded < 0 ? folded : result;
    }
    event_relay_free(relay);
    if (result == 0)
        result = analysis_report(analysis, &counts, NULL, &report);
    /* a wrong answer fast is no answer: nearly every event must have found its op */
    if (result == 0 && (report->counts.unmatched_events > counts.events / 100000 ||
                        report->op_count != 1 || !*report->ops[0].path))
        result = err_set(1, "the analysis did not understand the load");
    report_free(report);
    analysis_free(analysis);
    return result < 0 ? result : (int64_t)counts.events;
}

static long anonymous_kb(void)
{
    FILE *status = fopen("/proc/self/status", "re");
    char line[256];
    long kb = 0;

    while (status && fgets(line, sizeof(line), status))
        if (sscanf(line, "RssAnon: %ld", &kb) == 1)
            break;
    if (status)
        fclose(status);
    return kb;
}

static double clock_seconds(void)
{
    return (double)monotonic_ns() / 1e9;
}

static double processor_seconds(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* Runs one of the two in a process of its own. */
static int measure(int64_t (*job)(const char *directory), const char *directory,
                   struct outcome *shared, struct outcome *outcome)
{
    int status;
    pid_t child = fork();

    if (child < 0)
        return err_set(1, "no process can be started");
    if (child == 0) {
        double begin = clock_seconds(), before = processor_seconds();
        shared->events = job(directory);
        shared->seconds = clock_seconds() - begin;
        shared->processor = processor_seconds() - before;
        shared->anonymous_kb = anonymous_kb();
        if (shared->events < 0)
            fprintf(stderr, "optrail-bench-fold: %s\n", err_message());
        _exit(shared->events < 0);
    }
    if (waitpid(child, &status, 0) < 0 || status != 0)
        return err_set(1, "a run failed");
    *outcome = *shared;
    return 0;
}

static int by_value(const void *one, const void *other)
{
    double a, b;

    memcpy(&a, one, sizeof(a));
    memcpy(&b, other, sizeof(b));
    return (a > b) - (a < b);
}

/* The median, least and largest of the rounds. */
static void summarise(const char *what, double *ratios, int rounds)
{
    qsort(ratios, (size_t)rounds, sizeof(*ratios), by_value);
    printf("%s: the analysis takes %.3f times what a bare sink does (median; %.3f to %.3f)\n", what,
           ratios[rounds / 2], ratios[0], ratios[rounds - 1]);
}

static int compare(const char *directory, int rounds)
{
    struct outcome *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    double clock[MAX_ROUNDS], processor[MAX_ROUNDS];
    struct outcome bare = {0}, whole = {0};

    if (shared == MAP_FAILED)
        return err_no_memory();
    printf("ns an event  %20s %31s\n", "by the clock", "of processor time");
    printf("%8s %10s %10s %8s %12s %10s %8s\n", "round", "bare", "whole", "ratio", "bare", "whole",
           "ratio");
    for (int i = 0; i < rounds; i++) {
        int result = measure(bare_sink_run, directory, shared, &bare);
        if (result == 0)
            result = measure(analyse, directory, shared, &whole);
        if (result < 0)
            return result;
        if (bare.events != whole.events)
            return err_set(1, "they saw %" PRId64 " and %" PRId64 " events", bare.events,
                           whole.events);
        double events = (double)bare.events / 1e9;
        clock[i] = whole.seconds / bare.seconds;
        processor[i] = whole.processor / bare.processor;
        printf("%8d %10.1f %10.1f %8.3f %12.1f %10.1f %8.3f\n", i + 1, bare.seconds / events,
               whole.seconds / events, clock[i], bare.processor / events, whole.processor / events,
               processor[i]);
        fflush(stdout);
    }
    summarise("by the clock", clock, rounds);
    summarise("processor time", processor, rounds);
    printf("%" PRId64 " events, memory of its own %.1f MiB\n", whole.events,
           (double)whole.anonymous_kb / 1024);
    return 0;
}

static int run(uint64_t events, int rounds)
{
    char directory[] = "/tmp/optrail-bench-XXXXXX", trace[64], command[96];
    struct synthetic_load *load = synthetic_load_new(events);
    int result;

    if (!load || !mkdtemp(directory)) {
        synthetic_load_free(load);
        return err_set(1, "no room for the trace");
    }
    snprintf(trace, sizeof(trace), "%s/trace", directory);
    result = write_trace(synthetic_load_feed(load), trace);
    if (result == 0)
        result = compare(trace, rounds);
    synthetic_load_free(load);
    snprintf(command, sizeof(command), "rm -rf '%s'", directory);
    if (system(command) != 0)
        fprintf(stderr, "optrail-bench-fold: %s is left behind\n", directory);
    return result;
}

int main(int argc, char **argv)
{
    long long events = argc > 1 ? atoll(argv[1]) : DEFAULT_EVENTS;
    int rounds = argc > 2 ? atoi(argv[2]) : DEFAULT_ROUNDS;

    if (argc > 3 || events < 1000 || rounds < 1 || rounds > MAX_ROUNDS) {
        fprintf(stderr,
                "usage: optrail-bench-fold [EVENTS [ROUNDS]]: at least 1000 events, 1 to "
                "%d rounds\n",
                MAX_ROUNDS);
        return 2;
    }
    if (run((uint64_t)events, rounds) < 0) {
        fprintf(stderr, "optrail-bench-fold: %s\n", err_message());
        return 1;
    }
    return 0;
}
