/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "analysis.h"
#include "err.h"
#include "plural.h"
#include "interrupt.h"
#include "lttng_recorder.h"
#include "record.h"
#include "record_signals.h"
#include "slow_watch.h"
#include "trace_directory.h"

/* How often it is looked whether the time is up; a signal ends the wait at once. */
#define LOOK_MS 100
/* A session daemon that was just started gets so long to be found by the daemons: those that have
 * seen another one end look for a new one every five seconds. */
#define REGISTER_SECONDS 7
/* For the metadata. */
#define ROOM_BYTES (1u << 20)

struct lttng_run {
    const struct record_options *options;
    struct lttng_recorder *recorder;
    char directory[PATH_MAX]; /* absolute; "" with --url */
    unsigned asked_seen;
    unsigned snapshots;
    uint64_t refused;
};

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int announce(struct lttng_run *run)
{
    double limit = now() + (lttng_recorder_own_daemon(run->recorder) ? REGISTER_SECONDS : 0);
    struct lttng_buffers buffers = lttng_recorder_buffers(run->recorder);
    int daemons;

    while ((daemons = lttng_recorder_daemons(run->recorder)) == 0 && now() < limit)
        poll(NULL, 0, LOOK_MS / 4);
    if (daemons < 0)
        return daemons;
    fprintf(stderr,
            "optrail: LTTng session with %d daemon%s, %" PRIu64 " sub-buffers of %" PRIu64
            " KiB a CPU%s\n",
            daemons,
            daemons == 1  ? ""
            : daemons > 1 ? "s"
                          : "s (those that start later are recorded as well)",
            buffers.count, buffers.bytes >> 10,
            lttng_recorder_own_daemon(run->recorder) ? ", by a session daemon of its own" : "");
    if (geteuid() != 0)
        fputs("optrail: only daemons of this user, or with the group `tracing` all of them, are "
              "recorded\n",
              stderr);
    return 0;
}

/* LTTng loses the metadata when the disk is full, and with them everything: stop while what is in
 * the buffers still finds room. */
static int check_room(const struct lttng_run *run)
{
    uint64_t needed = lttng_recorder_buffer_bytes(run->recorder) + ROOM_BYTES;
    struct statvfs status;

    if (run->options->url || statvfs(run->directory, &status) < 0 ||
        (uint64_t)status.f_bavail * status.f_frsize >= needed)
        return 0;
    return err_set(ENOSPC,
                   "%s: less than %" PRIu64 " MiB are free on that disk, and so much may be in the "
                   "buffers: what was recorded until now is kept (a lower --rate makes smaller "
                   "ones)",
                   run->options->trace, needed >> 20);
}

static int take_slow(void *context, const struct optrail_event *event)
{
    return slow_watch_event(context, event);
}

/* Whether an op below the directory was slower than the limit. Damage is no reason to drop it. */
static bool has_slow(const struct record_options *options, const char *directory)
{
    struct slow_watch watch;
    const struct event_consumer consumer = {.context = &watch, .event = take_slow};
    struct read_counts counts;
    bool found = true;

    if (slow_watch_init(&watch, options->slower_than) == 0 &&
        reader_run_traces(&directory, 1, &consumer, NULL, &counts) == 0)
        found = watch.slow > 0;
    slow_watch_free(&watch);
    return found;
}

/* `only_slow`: it is kept only if a slow op is in it. */
static int snapshot(struct lttng_run *run, const char *reason, bool only_slow)
{
    char directory[PATH_MAX + 32];
    int result;

    if ((result = check_room(run)) < 0)
        return result;
    if (run->snapshots >= run->options->snapshots) {
        run->refused += !only_slow;
        return 0;
    }
    snprintf(directory, sizeof(directory), "%s/snapshot-%u", run->directory, run->snapshots + 1);
    result = trace_directory_add(directory);
    if (result == 0)
        result = lttng_recorder_snapshot(run->recorder, directory);
    if (result < 0)
        return result;
    if (only_slow && !has_slow(run->options, directory)) {
        trace_directory_remove(directory);
        return 0;
    }
    run->snapshots++;
    fprintf(stderr, "optrail: %s (%s)\n", directory, reason);
    return 0;
}

/* Until the time is up or Ctrl-C. */
static int wait_and_watch(struct lttng_run *run, const volatile int *stop)
{
    const struct record_options *options = run->options;
    double end = options->seconds > 0 ? now() + options->seconds : 0;
    double look = now() + options->snapshot, alive = now() + 1;
    int result = 0;

    while (result == 0 && !*stop && (end == 0 || now() < end)) {
        unsigned asked = record_signals_count();
        poll(NULL, 0, LOOK_MS);
        result = check_room(run);
        if (result == 0 && options->snapshot > 0 && asked != run->asked_seen) {
            run->asked_seen = asked;
            result = snapshot(run, "signal", false);
        }
        if (result == 0 && options->slower_than > 0 && now() >= look) {
            look = now() + options->snapshot;
            result = snapshot(run, "slow op", true);
        }
        if (result == 0 && now() >= alive) {
            alive = now() + 1;
            if (!lttng_recorder_alive(run->recorder))
                result = err_set(ECONNABORTED, "the LTTng session is gone: somebody destroyed it, "
                                               "or its session daemon ended; what was written "
                                               "until then is kept");
        }
    }
    if (result == 0 && options->snapshot > 0)
        result =
            snapshot(run, options->slower_than > 0 ? "slow op" : "end", options->slower_than > 0);
    return result;
}

static int report_on(const struct lttng_run *run)
{
    const struct record_options *options = run->options;
    const struct analysis_options analysing = {.path = options->path};
    const char *directory = run->directory;
    struct analysis *analysis = NULL;
    struct report *report = NULL;
    struct read_counts counts;
    int result;

    if (!options->report && !options->output.json)
        return 0;
    result = analysis_new(&analysing, &analysis);
    if (result == 0)
        result = reader_run_traces(&directory, 1, analysis_consumer(analysis), NULL, &counts);
    if (result == 0)
        result = analysis_report(analysis, &counts, NULL, &report);
    if (result == 0)
        result = report_output_write(&options->output, report);
    report_free(report);
    analysis_free(analysis);
    return result;
}

static void summarise(const struct lttng_run *run, uint64_t discarded)
{
    const char *place = run->options->url ? run->options->url : run->options->trace;

    if (run->refused > 0)
        fprintf(stderr, "optrail: %" PRIu64 " more snapshot%s asked for: --snapshots allows %u\n",
                run->refused, run->refused == 1 ? " was" : "s were", run->snapshots);
    if (discarded > 0)
        fprintf(stderr,
                "optrail: %s: %" PRIu64 " event%s found no room in the buffers: a higher --rate "
                "makes larger ones\n",
                place, discarded, plural(discarded));
    else if (run->options->snapshot <= 0)
        fprintf(stderr, "optrail: %s: recorded, 0 events lost\n", place);
}

/* Where the trace goes. */
static int make_place(struct lttng_run *run)
{
    const struct record_options *options = run->options;
    int result;

    if (options->url)
        return 0;
    result = trace_directory_make(options->trace, options->force);
    /* the daemon that writes it has another working directory */
    if (result == 0 && !realpath(options->trace, run->directory))
        result = err_set(errno, "%s: %s", options->trace, strerror(errno));
    return result;
}

int record_lttng(const struct record_options *options)
{
    struct lttng_run run = {.options = options};
    const volatile int *stop = interrupt_install();
    char name[64], message[512];
    uint64_t discarded = 0;
    int result, stopped;

    if (options->url && (options->snapshot > 0 || options->report || options->output.json))
        return err_set(EINVAL, "--url goes with neither --snapshot nor --report nor --json");
    record_signals_install();
    snprintf(name, sizeof(name), "optrail-%d", getpid());
    result = make_place(&run);
    if (result < 0)
        return result == -EINVAL ? -EBADMSG : result;
    const struct lttng_recorder_options recording = {
        .session = options->session ? options->session : name,
        .directory = options->url ? NULL : run.directory,
        .url = options->url,
        .snapshot = options->snapshot,
        .rate = (uint64_t)options->rate,
        .ceph = options->ceph,
    };
    result = lttng_recorder_open(&recording, &run.recorder);
    if (result < 0)
        return result;
    result = check_room(&run);
    if (result == 0)
        result = announce(&run);
    if (result == 0)
        result = wait_and_watch(&run, stop);
    snprintf(message, sizeof(message), "%s", err_message());
    stopped = result == -ECONNABORTED ? 0 : lttng_recorder_stop(run.recorder, &discarded);
    if (result < 0)
        err_set(-result, "%s", message);
    else if ((result = stopped) == 0) {
        summarise(&run, discarded);
        result = report_on(&run);
    }
    lttng_recorder_close(run.recorder);
    return result == -EINVAL ? -EBADMSG : result;
}
