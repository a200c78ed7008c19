/* SPDX-License-Identifier: MIT */
/*
 * optrail-bench-fold [EVENTS [ROUNDS]]: what the whole analysis costs, as a ratio to a babeltrace2
 * sink that reads the same fields of the same trace and drops them. Processor time of a process of
 * its own for each run, in turns; the ratio is the median of the rounds' ratios. Goal: at most
 * 1.25.
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
#include "err.h"
#include "reader.h"
#include "synthetic_load.h"
#include "write_trace.h"

#define DEFAULT_EVENTS 10000000
#define DEFAULT_ROUNDS 5
#define MAX_ROUNDS     101

/* What a run gives back through shared memory. */
struct outcome {
    int64_t events;
    double seconds;    /* processor time */
    long anonymous_kb; /* memory that is its own: not the trace, which is mapped */
};

static int64_t analyse(const char *directory)
{
    const struct analysis_options options = {0};
    struct analysis *analysis = NULL;
    struct report *report = NULL;
    struct read_counts counts = {0};
    int64_t result = analysis_new(&options, &analysis);

    if (result == 0)
        result = reader_run_traces(&directory, 1, analysis_consumer(analysis), NULL, &counts);
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
        double before = processor_seconds();
        shared->events = job(directory);
        shared->seconds = processor_seconds() - before;
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

static int compare(const char *directory, int rounds)
{
    struct outcome *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    double ratios[MAX_ROUNDS];
    struct outcome bare = {0}, whole = {0};

    if (shared == MAP_FAILED)
        return err_no_memory();
    printf("%8s %14s %14s %8s\n", "round", "bare ns/event", "whole ns/event", "ratio");
    for (int i = 0; i < rounds; i++) {
        int result = measure(bare_sink_run, directory, shared, &bare);
        if (result == 0)
            result = measure(analyse, directory, shared, &whole);
        if (result < 0)
            return result;
        if (bare.events != whole.events)
            return err_set(1, "they saw %" PRId64 " and %" PRId64 " events", bare.events,
                           whole.events);
        ratios[i] = whole.seconds / bare.seconds;
        printf("%8d %14.1f %14.1f %8.3f\n", i + 1, bare.seconds * 1e9 / (double)bare.events,
               whole.seconds * 1e9 / (double)whole.events, ratios[i]);
        fflush(stdout);
    }
    qsort(ratios, (size_t)rounds, sizeof(*ratios), by_value);
    printf("%" PRId64 " events: the analysis costs %.3f times a bare sink (median; %.3f to %.3f), "
           "memory of its own %.1f MiB\n",
           whole.events, ratios[rounds / 2], ratios[0], ratios[rounds - 1],
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
