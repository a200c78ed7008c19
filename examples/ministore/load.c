/* SPDX-License-Identifier: MIT */
/* ministore-load: puts load on a ministore daemon and prints what it got. */
#include <errno.h>
#include <optrail/probe.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "daemon_log.h"
#include "inject.h"
#include "load_options.h"
#include "load_report.h"
#include "load_worker.h"
#include "named_lock.h"
#include "standard_files.h"
#include "workload.h"

static struct load_shared shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void stop_at_signal(int number)
{
    (void)number;
    atomic_store(&shared.stop, true);
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = stop_at_signal, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static void add_up(const struct load_options *options, struct load_worker *workers,
                   struct load_counts *total)
{
    memset(total, 0, sizeof(*total));
    for (unsigned i = 0; i < options->threads; i++) {
        pthread_mutex_lock(&workers[i].lock);
        load_counts_add(total, workers[i].counts);
        pthread_mutex_unlock(&workers[i].lock);
    }
}

/* Waits for the workers, printing a line each second. */
static void watch(const struct load_options *options, struct load_worker *workers,
                  struct load_report *report, struct load_counts *total, uint64_t began_ns)
{
    uint64_t tick = began_ns;
    pthread_mutex_lock(&shared.lock);
    while (shared.running) {
        tick += NS_PER_SECOND;
        struct timespec until = clock_timespec(tick);
        int result = 0;
        while (shared.running && result != ETIMEDOUT)
            result = pthread_cond_timedwait(&shared.changed, &shared.lock, &until);
        if (result == ETIMEDOUT && report) {
            pthread_mutex_unlock(&shared.lock);
            add_up(options, workers, total);
            load_report_second(report, total);
            pthread_mutex_lock(&shared.lock);
        }
    }
    pthread_mutex_unlock(&shared.lock);
}

/* One phase on all connections. 0, or -1 when a thread was missing. */
static int run_phase(const struct load_options *options, struct load_worker *workers,
                     enum load_phase phase, struct load_report *report, struct load_counts *total,
                     double *seconds)
{
    uint64_t began = clock_now_ns();
    unsigned started = 0;
    shared.deadline_ns =
        phase == PHASE_LOAD && options->seconds ? began + options->seconds * NS_PER_SECOND : 0;
    while (started < options->threads && load_worker_start(&workers[started], phase) == 0)
        started++;
    if (started < options->threads)
        atomic_store(&shared.stop, true);
    watch(options, workers, report, total, began);
    for (unsigned i = 0; i < started; i++)
        load_worker_finish(&workers[i]);
    *seconds = (double)(clock_now_ns() - began) * 1e-9;
    add_up(options, workers, total);
    return started == options->threads ? 0 : -1;
}

static bool all_well(const struct load_counts *counts)
{
    return !counts->failed && !counts->lost && !counts->wrong;
}

static int run(const struct load_options *options, struct load_worker *workers,
               struct load_counts *total)
{
    struct load_report report;
    double seconds;
    bool check = options->mode == LOAD_CHECK;
    if (options->prefill && !check) {
        if (run_phase(options, workers, PHASE_PREFILL, NULL, total, &seconds) != 0)
            return -1;
        if (!all_well(total)) {
            log_error("the objects cannot be prefilled: %lu of %lu writes failed",
                      (unsigned long)(total->failed + total->lost), (unsigned long)total->started);
            return -1;
        }
    }
    load_report_begin(&report, options);
    int result =
        run_phase(options, workers, check ? PHASE_CHECK : PHASE_LOAD, &report, total, &seconds);
    load_report_totals(&report, total, seconds);
    uint64_t digest = 0;
    for (unsigned i = 0; i < options->threads; i++)
        digest ^= workers[i].digest;
    if (options->json && load_report_json(&report, total, seconds, digest, options->json) != 0)
        result = -1;
    return all_well(total) ? result : -1;
}

static int connect_and_run(const struct load_options *options)
{
    struct load_worker *workers = calloc(options->threads, sizeof(*workers));
    struct load_counts *total = calloc(1, sizeof(*total));
    int result = workers && total ? 0 : log_error("no memory");
    unsigned ready = 0;
    while (result == 0 && ready < options->threads)
        result = load_worker_init(&workers[ready], &shared, ready), ready++;
    if (result == 0)
        result = run(options, workers, total);
    /* the first one last: others may use its client */
    for (unsigned i = ready; i-- > 0;)
        load_worker_destroy(&workers[i]);
    free(workers);
    free(total);
    return result;
}

int main(int argc, char **argv)
{
    standard_files_open();
    struct load_options options;
    int parsed = load_options_parse(&options, argc, argv);
    if (parsed != 0)
        return parsed < 0 ? 2 : 0;
    inject_start_process();
    if (options.lock_stats)
        lock_measure_holds();
    optrail_probes_start();
    catch_signals();

    struct object_record record;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&shared.changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    shared.options = &options;
    shared.record = &record;
    int result = object_record_open(&record, options.record, options.mode == LOAD_CHECK,
                                    options.objects, options.object_size);
    if (result == 0) {
        result = connect_and_run(&options);
        if (options.record && object_record_save(&record, options.record) != 0)
            result = -1;
    }
    object_record_free(&record);
    return result == 0 ? 0 : 1;
}
