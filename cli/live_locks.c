/* SPDX-License-Identifier: MIT */
#include "live_locks.h"

#include <babeltrace2/babeltrace.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock_feed.h"
#include "clock_ns.h"
#include "cpu_use.h"
#include "err.h"
#include "event_source.h"
#include "lock_capture.h"
#include "lock_feed.h"
#include "target_options.h"

static bool have_ended(void *context)
{
    return lock_capture_targets_ended(context);
}

struct session {
    struct lock_capture *capture; /* owned */
    struct live_group *group;     /* owned; NULL: no daemons */
    struct analysis *analysis;    /* owned; NULL where there is a group */
    struct cpu_use *cpu;          /* owned; the same */
    struct clock_feed clock;
    struct merged_feed feed;
    struct lock_feed waits;
    uint64_t begin_ns; /* when the capture was there */
    char name[64];     /* of a single process that is no daemon */
};

static int open_capture(struct session *session, const struct live_locks_options *options)
{
    size_t daemons = options->group ? options->group->count : 0;
    struct lock_target *targets = calloc(daemons + options->pid_count + 1, sizeof(*targets));
    if (!targets)
        return err_no_memory();
    for (size_t i = 0; i < daemons; i++)
        targets[i].pid = options->group->targets[i].pid;
    for (size_t i = 0; i < options->pid_count; i++)
        targets[daemons + i].pid = options->pids[i];
    const struct lock_capture_options capturing = {.targets = targets,
                                                   .target_count = daemons + options->pid_count,
                                                   .one_in = options->one_in,
                                                   .held = true};
    int result = lock_capture_open(&capturing, &session->capture);
    free(targets);
    return result;
}

/* What the one process is called; where there are several, how many there are. */
static void name_processes(struct session *session, const struct live_locks_options *options)
{
    struct target target = {.pid = options->pid_count ? options->pids[0] : 0};
    snprintf(session->name, sizeof(session->name), "%zu processes", options->pid_count);
    if (options->pid_count != 1)
        return;
    target_command_name(&target);
    snprintf(session->name, sizeof(session->name), "%s", target.kind);
}

static int open_session(struct session *session, const struct live_locks_options *options)
{
    const struct analysis_options analysing = {0};
    struct event_feed *inner = &session->clock.feed;
    int result = options->group ? live_group_open(options->group, &session->group)
                                : analysis_new(&analysing, &session->analysis);
    if (result == 0)
        result = open_capture(session, options);
    /* what the probes tell is read from here on. The capture comes last: of a lock that the daemon
     * tells of itself it adds the stacks only */
    if (result == 0)
        result = session->group ? live_group_begin(session->group)
                                : cpu_use_begin(options->pids, options->pid_count, &session->cpu);
    if (result == 0)
        result = lock_capture_begin(session->capture);
    if (result < 0)
        return result;
    session->begin_ns = monotonic_ns();
    name_processes(session, options);
    clock_feed_init(&session->clock, options->seconds, options->stop, have_ended, session->capture);
    if (session->group)
        inner = live_group_feed(session->group);
    result = merged_feed_init(&session->feed, inner);
    if (result == 0)
        lock_feed_join(&session->waits, &session->feed, session->capture);
    return result;
}

/* Waits that were told so late that later events had left; probes' events are counted so, too. */
static int add_moved(uint64_t moved, struct report *report)
{
    struct report_count *probes = report_find_other(report, "moved_events");
    if (!probes)
        return moved ? report_add_other(report, "moved_events", moved) : 0;
    probes->value += moved;
    return 0;
}

/* That waits were captured for a part of the time. */
static int add_slices(const struct lock_capture_counts *counts, struct report *report)
{
    report->source.locks_seconds = (double)counts->observed_ns / 1e9;
    return report_add_note(
        report,
        "Waits for locks were captured for a part of the time: those that began in %.2f s of %.2f "
        "s, in %" PRIu64 " slice%s. Each stands for %" PRIu32 ", in all figures. %" PRIu64
        " had not ended when their slice did.",
        report->source.locks_seconds, report->source.seconds, counts->slices,
        counts->slices == 1 ? "" : "s", counts->one_in, counts->cut);
}

/* What the capture knows of itself. */
static int add_counts(struct lock_capture *capture, struct report *report)
{
    const struct lock_capture_counts counts = lock_capture_counts(capture);
    const struct {
        const char *name;
        uint64_t value;
    } others[] = {{"lock_waits_lost", counts.lost},
                  {"lock_threads_not_seen", counts.threads_full},
                  {"lock_owners_unknown", counts.owner_unknown},
                  {"lock_owners_gone", counts.owner_gone},
                  {"lock_stacks_put_off", counts.stacks_late},
                  {"lock_words_unreadable", counts.faults_word},
                  {"lock_stacks_unreadable", counts.faults_stack},
                  {"lock_addresses_reused", counts.address_reused},
                  {"lock_waits_cut", counts.cut}};
    int result = 0;
    for (size_t i = 0; result == 0 && i < sizeof(others) / sizeof(*others); i++)
        if (others[i].value > 0)
            result = report_add_other(report, others[i].name, others[i].value);
    if (result == 0 && counts.sampled_ns > 0)
        result = report_add_note(report,
                                 "There were more waits than are handed on one by one: for %.1f s "
                                 "they were sampled, and each that was taken stands for several.",
                                 (double)counts.sampled_ns / 1e9);
    if (result == 0 && counts.slices > 0)
        result = add_slices(&counts, report);
    report->load.locks_known = true;
    return result;
}

/* The time that was looked at is that between attach and detach, whenever waits were seen; what
 * comes after the end of the processes is not looked at. */
static int report_processes(struct session *session, const struct live_locks_options *options,
                            struct read_counts *counts, struct report **report)
{
    struct report_cpu cpu;
    uint64_t ended_ns = lock_capture_end_ns(session->capture);
    cpu_use_read(session->cpu, &cpu);
    analysis_take_cpu(session->analysis, &cpu);
    counts->begin_ns = session->begin_ns;
    counts->end_ns = ended_ns > session->begin_ns ? ended_ns : monotonic_ns();
    counts->pid = options->pid_count == 1 ? (uint32_t)options->pids[0] : 0;
    int result = analysis_report(session->analysis, counts, NULL, report);
    if (result == 0)
        result = report_set_string(&(*report)->source.daemon, session->name);
    if (result == 0 && ended_ns > 0)
        result = report_add_note(*report,
                                 "%s ended while %s watched: this is what there was until then.",
                                 options->pid_count == 1 ? "The process" : "The processes",
                                 options->pid_count == 1 ? "it was" : "they were");
    return result;
}

static int watch(struct session *session, const struct live_locks_options *options,
                 struct report **report)
{
    const struct bt_component_class_source *source = event_source_class_create();
    struct read_counts counts = {0};
    if (!source)
        return -ENOMEM; /* the message is set */
    const struct event_consumer *consumer =
        session->group ? live_group_consumer(session->group) : analysis_consumer(session->analysis);
    int result = reader_run_source(source, &session->feed.feed, consumer, NULL, &counts);
    bt_component_class_source_put_ref(source);
    if (result == 0)
        result = session->group ? live_group_report(session->group, &counts, report)
                                : report_processes(session, options, &counts, report);
    if (result == 0)
        result = add_moved(merged_feed_moved(&session->feed), *report);
    return result == 0 ? add_counts(session->capture, *report) : result;
}

int live_locks_run(const struct live_locks_options *options, struct report **report)
{
    struct session session = {0};
    *report = NULL;
    int result = open_session(&session, options);
    if (result == 0)
        result = watch(&session, options, report);
    if (result < 0) {
        report_free(*report);
        *report = NULL;
    }
    merged_feed_free(&session.feed);
    lock_feed_free(&session.waits);
    lock_capture_close(session.capture);
    live_group_close(session.group);
    cpu_use_free(session.cpu);
    analysis_free(session.analysis);
    return result;
}
