/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analysis.h"
#include "clock_feed.h"
#include "cpu_use.h"
#include "err.h"
#include "plural.h"
#include "event_observer.h"
#include "flight_recorder.h"
#include "in_parallel.h"
#include "interrupt.h"
#include "live_facts.h"
#include "live_source.h"
#include "lock_capture.h"
#include "lock_feed.h"
#include "record.h"
#include "record_signals.h"
#include "record_summary.h"
#include "sample_feed.h"
#include "slow_watch.h"
#include "trace_directory.h"
#include "trace_writer.h"
#include "tracer.h"

/* One daemon that is recorded. */
struct recording {
    const struct record_options *options;
    struct target target;
    char name[96]; /* "osd.0" */
    char directory[PATH_MAX];
    struct probe_map *map; /* NULL: its own probes */
    bool exact;            /* the map is that of its very version */
    bool unprobed; /* no storage daemon: it has no probes, and its captures are all there is */
    struct tracer *tracer; /* NULL where it is unprobed */
    struct clock_feed clock;
    struct lock_capture *locks; /* NULL: not wanted; so the samples */
    struct sample_capture *samples;
    struct merged_feed merged; /* of the tracer's events and what the captures tell */
    struct lock_feed lock_feed;
    struct sample_feed sample_feed;
    struct cpu_use *cpu;    /* owned */
    struct report_cpu used; /* by the end of the trace */
    struct live_facts facts, ending;
    struct analysis *analysis; /* NULL: no report is wanted */
    struct read_counts counts;
    struct slow_watch slow;
    uint64_t slow_seen;
    unsigned asked_seen;
    struct flight_recorder_counts snapshots;
    pthread_t thread;
    int result;
    char message[512];
};

/* What passes on its way to the trace: for the report, and for the ops that are too slow. */
static int see_event(void *context, const struct optrail_event *event)
{
    struct recording *recording = context;
    struct read_counts *counts = &recording->counts;
    int result = 0;

    if (counts->events++ == 0) {
        counts->begin_ns = event->time_ns;
        counts->pid = event->pid;
    }
    counts->end_ns = event->time_ns;
    if (recording->analysis) {
        const struct event_consumer *consumer = analysis_consumer(recording->analysis);
        result = consumer->event(consumer->context, event);
    }
    if (result == 0 && recording->slow.builder)
        result = slow_watch_event(&recording->slow, event);
    return result;
}

static int see_loss(void *context, uint64_t count, uint64_t begin_ns, uint64_t end_ns)
{
    struct recording *recording = context;
    const struct event_consumer *consumer =
        recording->analysis ? analysis_consumer(recording->analysis) : NULL;

    recording->counts.lost += count;
    return consumer ? consumer->lost(consumer->context, count, begin_ns, end_ns) : 0;
}

/* Of a process without probes, and without the tracer that tells of it otherwise. */
static int describe_process(const struct recording *recording, struct report *report)
{
    report->source.pid = recording->target.pid;
    int result = report_set_string(&report->source.kind, "bpf");
    if (result == 0)
        result = report_set_string(&report->source.daemon, recording->target.kind);
    if (result == 0)
        result = report_add_note(report, "It is no storage daemon that optrail knows: no op was "
                                         "looked for.");
    return result;
}

static int describe(const struct recording *recording, struct report *report)
{
    if (recording->unprobed)
        return describe_process(recording, report);
    struct tracer_counts counts = tracer_counts(recording->tracer);
    counts.late += merged_feed_moved(&recording->merged);
    return live_source_describe_with(report, &recording->target, recording->tracer, &counts);
}

/* Whether a process without probes has ended, or become another program. */
static bool process_ended(void *context)
{
    const struct recording *recording = context;
    return (!recording->locks || lock_capture_targets_ended(recording->locks)) &&
           (!recording->samples || sample_capture_ended(recording->samples));
}

static bool has_ended(struct recording *recording)
{
    return recording->unprobed ? process_ended(recording) : tracer_target_exited(recording->tracer);
}

static struct event_feed *inner_feed(struct recording *recording)
{
    return recording->unprobed ? &recording->clock.feed : tracer_feed(recording->tracer);
}

static void stop(struct recording *recording)
{
    if (recording->unprobed)
        recording->clock.stopped = 1;
    else
        tracer_stop(recording->tracer);
}

/* What the tracer has counted by now, as facts. */
static const struct event_fact *ending_facts(void *context)
{
    struct recording *recording = context;
    struct report *report = NULL;
    int result = report_new(&report);

    live_facts_free(&recording->ending);
    if (result == 0)
        result = describe(recording, report);
    if (result == 0)
        cpu_use_read(recording->cpu, &recording->used);
    if (result == 0)
        report->cpu = recording->used;
    if (result == 0)
        result = live_facts_end(&recording->ending, report);
    report_free(report);
    return result == 0 ? recording->ending.facts : NULL;
}

static const char *snapshot_wanted(void *context)
{
    struct recording *recording = context;
    unsigned asked = record_signals_count();

    if (asked != recording->asked_seen) {
        recording->asked_seen = asked;
        return "signal";
    }
    if (recording->slow.slow != recording->slow_seen) {
        recording->slow_seen = recording->slow.slow;
        return "slow op";
    }
    return NULL;
}

static void snapshot_written(void *context, const char *directory, const char *reason,
                             uint64_t events)
{
    (void)context;
    fprintf(stderr, "optrail: %s: %" PRIu64 " event%s (%s)\n", directory, events, plural(events),
            reason);
}

static int record_snapshots(struct recording *recording, struct event_feed *feed,
                            const struct event_observer *observer,
                            const struct trace_ending *ending)
{
    const struct record_options *options = recording->options;
    const struct flight_recorder_options flight = {
        .directory = recording->directory,
        .seconds = options->snapshot,
        .bytes = (size_t)options->memory_mib << 20,
        .limit = (unsigned)options->snapshots,
        .at_end = options->slower_than <= 0,
        .observer = observer,
        .ending = ending,
        .context = recording,
        .wanted = snapshot_wanted,
        .written = snapshot_written,
    };

    return flight_recorder_run(feed, &flight, &recording->snapshots);
}

/* What captures tell comes among the tracer's events. */
static int merge_captures(struct recording *recording)
{
    struct merged_feed *merged = &recording->merged;
    int result = merged_feed_init(merged, inner_feed(recording));
    if (result == 0 && recording->locks)
        lock_feed_join(&recording->lock_feed, merged, recording->locks);
    if (result == 0 && recording->samples)
        result = sample_feed_join(&recording->sample_feed, merged, recording->samples,
                                  recording->options->samples);
    return result;
}

/* Until the tracer's events end. */
static void *record(void *context)
{
    struct recording *recording = context;
    const struct event_observer observer = {
        .context = recording, .event = see_event, .lost = see_loss};
    const struct trace_ending ending = {.context = recording, .facts = ending_facts};
    struct event_feed feed = *inner_feed(recording);
    struct observed_feed observed;

    if (recording->locks || recording->samples) {
        recording->result = merge_captures(recording);
        feed = recording->merged.feed;
    }
    feed.facts = recording->facts.facts;
    if (recording->result < 0) {
        /* the message is set */
    } else if (recording->options->snapshot > 0) {
        recording->result = record_snapshots(recording, &feed, &observer, &ending);
    } else {
        observed_feed_init(&observed, &feed, &observer);
        recording->result = trace_write(&observed.feed, recording->directory, &ending);
    }
    if (recording->result < 0)
        snprintf(recording->message, sizeof(recording->message), "%s", err_message());
    /* a full disk must not keep the daemon probed until the time is up */
    stop(recording);
    return NULL;
}

static int open_locks(struct recording *recording)
{
    const struct lock_target target = {.pid = recording->target.pid};
    const struct lock_capture_options options = {
        .targets = &target, .target_count = 1, .held = true};

    return lock_capture_open(&options, &recording->locks);
}

static int open_samples(struct recording *recording)
{
    const uint32_t kinds = recording->options->samples;
    const struct sample_capture_options options = {
        .pids = &recording->target.pid,
        .pid_count = 1,
        .rate = recording->options->sample_rate,
        .on_cpu = kinds >> SAMPLE_ON_CPU & 1,
        .off_cpu = kinds & (1u << SAMPLE_OFF_CPU | 1u << SAMPLE_RUNNABLE),
        .wakers = kinds >> SAMPLE_OFF_CPU & 1,
        .held = true};

    return sample_capture_open(&options, &recording->samples);
}

/* Its name among those that are recorded: with its process, if others are called the same, as OSDs
 * of several clusters on one host are. Each has a directory of that name. */
static void name_recording(struct recording *recording, const struct target *targets, size_t count)
{
    const struct target *own = &recording->target;
    char other[sizeof(recording->name)];
    bool shared = false;

    target_short_name(own, recording->name, sizeof(recording->name));
    for (size_t i = 0; i < count; i++) {
        target_short_name(&targets[i], other, sizeof(other));
        shared = shared || (targets[i].pid != own->pid && strcmp(other, recording->name) == 0);
    }
    if (shared) {
        size_t length = strnlen(recording->name, sizeof(recording->name) - 12);
        snprintf(recording->name + length, sizeof(recording->name) - length, ".%d", own->pid);
    }
    for (char *other_sign = recording->name; (other_sign = strpbrk(other_sign, " /")) != NULL;)
        *other_sign = '.';
}

/* Everything but attaching. */
static int prepare(struct recording *recording, const struct tracer_options *tracing,
                   const char *id)
{
    const struct record_options *options = recording->options;
    char path_file[PATH_MAX];
    struct target staged = recording->target;

    /* at basic detail the stages are of the same few points, whatever the store */
    if (tracing->detail == DETAIL_BASIC)
        snprintf(staged.store, sizeof(staged.store), "basic");
    const struct analysis_options analysing = {
        .path = options->path ? options->path
                              : target_path_file(&staged, path_file, sizeof(path_file))};
    int result = recording->unprobed
                     ? 0
                     : live_source_map(&recording->target, &recording->map, &recording->exact);

    snprintf(recording->directory, sizeof(recording->directory), "%s/%s", options->trace,
             recording->name);
    recording->asked_seen = record_signals_count();
    recording->counts.tracer = "bpf";
    if (result == 0 && (options->report || options->output.json))
        result = analysis_new(&analysing, &recording->analysis);
    if (result == 0 && options->slower_than > 0)
        result = slow_watch_init(&recording->slow, options->slower_than);
    if (result == 0)
        result = live_facts_begin(&recording->facts, &recording->target,
                                  recording->map ? recording->map->version : NULL,
                                  probe_detail_names[tracing->detail], id);
    /* a trace's own directory is made by babeltrace2 */
    if (result == 0 && options->snapshot > 0)
        result = trace_directory_add(recording->directory);
    if (result == 0 && !recording->unprobed)
        result = tracer_open(&recording->target, recording->map, tracing, &recording->tracer);
    if (result == 0 && options->locks)
        result = open_locks(recording);
    if (result == 0 && options->samples)
        result = open_samples(recording);
    return result;
}

/* Of all daemons when all are prepared: what their probes tell is read from here on, and there is
 * room in the kernel for a part of a second only. */
static int begin(void *context, size_t index)
{
    struct recording *recording = (struct recording *)context + index;
    int result = recording->unprobed ? 0 : tracer_begin(recording->tracer);

    /* the captures come last: of a lock that the daemon tells of itself they add the stacks only */
    if (result == 0 && recording->locks)
        result = lock_capture_begin(recording->locks);
    if (result == 0 && recording->samples)
        result = sample_capture_begin(recording->samples);
    if (result == 0)
        result = cpu_use_begin(&recording->target.pid, 1, &recording->cpu);
    if (result == 0 && recording->unprobed)
        clock_feed_init(&recording->clock, recording->options->seconds, interrupt_install(),
                        process_ended, recording);
    return result;
}

static void release(struct recording *recording)
{
    cpu_use_free(recording->cpu);
    merged_feed_free(&recording->merged);
    lock_feed_free(&recording->lock_feed);
    sample_feed_free(&recording->sample_feed);
    lock_capture_close(recording->locks);
    sample_capture_close(recording->samples);
    tracer_close(recording->tracer);
    probe_map_free(recording->map);
    analysis_free(recording->analysis);
    slow_watch_free(&recording->slow);
    live_facts_free(&recording->facts);
    live_facts_free(&recording->ending);
}

/* One line on standard error. */
static void summarise(struct recording *recording)
{
    bool temporary = recording->options->temporary;
    if (has_ended(recording))
        fprintf(stderr, "optrail: %s has ended: %s\n", recording->name,
                temporary ? "what is shown is the time until then"
                          : "the trace has what there was");
    if (recording->options->snapshot > 0 && recording->snapshots.snapshots == 0)
        fprintf(stderr, "optrail: %s: %" PRIu64 " event%s seen; no snapshot was asked for\n",
                recording->name, recording->counts.events, plural(recording->counts.events));
    else if (recording->options->snapshot <= 0)
        fprintf(stderr, "optrail: %s: %" PRIu64 " event%s recorded, %" PRIu64 " lost\n",
                temporary ? recording->name : recording->directory, recording->counts.events,
                plural(recording->counts.events), recording->counts.lost);
    if (recording->locks)
        record_summary_locks(recording->name, recording->locks);
    if (recording->samples)
        record_summary_samples(recording->name, recording->samples, &recording->sample_feed);
    if (recording->snapshots.refused > 0)
        fprintf(
            stderr, "optrail: %s: %" PRIu64 " more snapshot%s asked for: --snapshots allows %u\n",
            recording->name, recording->snapshots.refused,
            recording->snapshots.refused == 1 ? " was" : "s were", recording->snapshots.snapshots);
    if (recording->snapshots.shortened > 0)
        fprintf(stderr,
                "optrail: %s: %" PRIu64 " snapshots are shorter than %g s: --snapshot-memory\n",
                recording->name, recording->snapshots.shortened, recording->options->snapshot);
}

static int report_on(struct recording *recording)
{
    struct report *report = NULL;
    int result;

    if (!recording->analysis)
        return 0;
    analysis_take_cpu(recording->analysis, &recording->used);
    result = analysis_report(recording->analysis, &recording->counts,
                             recording->result < 0 ? recording->message : NULL, &report);
    if (result == 0)
        result = describe(recording, report);
    if (result == 0)
        result = report_output_write(&recording->options->output, report);
    report_free(report);
    return result;
}

static int run_all(struct recording *recordings, size_t count)
{
    size_t started = 0;
    int result = 0;

    for (; result == 0 && started < count; started += result == 0) {
        int error = pthread_create(&recordings[started].thread, NULL, record, &recordings[started]);
        if (error)
            result = err_set(error, "cannot start a thread: %s", strerror(error));
    }
    if (result < 0)
        for (size_t i = 0; i < started; i++)
            stop(&recordings[i]);
    for (size_t i = 0; i < started; i++)
        pthread_join(recordings[i].thread, NULL);
    return result;
}

static int record_targets(const struct record_options *options, const struct target *targets,
                          size_t count, enum probe_detail detail)
{
    const struct tracer_options tracing = {.detail = detail,
                                           .allow_slow = options->allow_slow,
                                           .held = true,
                                           .seconds = options->seconds,
                                           .stop = interrupt_install()};
    struct recording *recordings = calloc(count, sizeof(*recordings));
    struct timespec now;
    char id[48];
    int result =
        recordings ? trace_directory_make(options->trace, options->force) : err_no_memory();

    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(id, sizeof(id), "%" PRIx64 "-%d",
             (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec, getpid());
    record_signals_install();
    for (size_t i = 0; result == 0 && i < count; i++) {
        recordings[i].options = options;
        recordings[i].target = targets[i];
        recordings[i].unprobed = !targets[i].kind[0];
        if (recordings[i].unprobed)
            target_command_name(&recordings[i].target);
        name_recording(&recordings[i], targets, count);
        result = prepare(&recordings[i], &tracing, id);
    }
    if (result == 0)
        result = in_parallel(count, begin, recordings);
    for (size_t i = 0; result == 0 && i < count; i++)
        if (!recordings[i].unprobed)
            live_source_announce(&recordings[i].target, recordings[i].tracer, recordings[i].exact,
                                 recordings[i].map);
    if (result == 0)
        result = run_all(recordings, count);
    for (size_t i = 0; recordings && result == 0 && i < count; i++) {
        summarise(&recordings[i]);
        result = report_on(&recordings[i]);
    }
    for (size_t i = 0; recordings && i < count; i++) {
        if (result == 0 && recordings[i].result < 0)
            result = err_set(-recordings[i].result, "%s", recordings[i].message);
        release(&recordings[i]);
    }
    free(recordings);
    return result;
}

int record_bpf(const struct record_options *options)
{
    struct target *targets = NULL;
    size_t count = 0;
    struct tracer *none;
    int result, detail = options->detail ? probe_detail_by_name(options->detail) : DETAIL_STANDARD;

    if (detail < 0)
        return err_prefix(detail, "--detail");
    if (!tracer_supported())
        return tracer_open(NULL, NULL, NULL, &none); /* it says what is missing */
    /* waits and samples are seen of any process */
    result = options->locks || options->samples
                 ? target_options_choose_any(&options->targets, &targets, &count)
                 : target_options_choose(&options->targets, &targets, &count);
    if (result < 0)
        return result;
    if (count > 1 && (options->report || options->output.json))
        result = err_set(ENOTSUP, "--report and --json are for one daemon: report on %s afterwards",
                         options->trace);
    if (result == 0)
        result = record_targets(options, targets, count, (enum probe_detail)detail);
    free(targets);
    /* wrong use was ruled out: from here on it is the system's */
    return result == -EINVAL ? -EBADMSG : result;
}
