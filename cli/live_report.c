/* SPDX-License-Identifier: MIT */
/* The reports of live_group.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "live_group_private.h"
#include "live_source.h"
#include "plural.h"
#include "target_options.h"

static uint64_t other_count(const struct report *report, const char *name)
{
    const struct report_count *count = report_find_other(report, name);
    return count ? count->value : 0;
}

static uint64_t incomplete_count(const struct report *report, const char *name)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < report->counts.incomplete_count; i++)
        if (!name || strcmp(report->counts.incomplete[i].name, name) == 0)
            sum += report->counts.incomplete[i].value;
    return sum;
}

/* What a slice of the time means for the figures. */
static int note_slices(struct live_group *group, struct report *report)
{
    struct tracer_group_slices slices = tracer_group_slices(group->tracers);

    if (group->options.tracing.duty <= 0 || slices.wall_ns == 0)
        return 0;
    uint64_t cut = incomplete_count(report, "cut"), outside = other_count(report, "at_pauses");
    return report_add_note(
        report,
        "Traced for a part of the time: ops that began in %.2f s of %.2f s, in %" PRIu64
        " slice%s; probes were in for %.1f %% of the time. %" PRIu64 " op%s cut at the end of a "
        "slice, and %" PRIu64 " event%s of ops that began outside of one: that is no loss.",
        (double)slices.traced_ns / 1e9, (double)slices.wall_ns / 1e9, slices.count,
        plural(slices.count), 100 * (double)slices.probed_ns / (double)slices.wall_ns, cut,
        cut == 1 ? " was" : "s were", outside, outside == 1 ? " is" : "s are");
}

static int note_restarts(const struct tracer_member *member, struct report *report)
{
    char name[96];

    if (member->restarts == 0)
        return 0;
    target_short_name(&member->target, name, sizeof(name));
    return report_add_note(report, "%s was restarted %" PRIu64 " time%s while it was traced.", name,
                           member->restarts, member->restarts == 1 ? "" : "s");
}

int live_group_describe(struct live_group *group, size_t index, struct report *report)
{
    const struct tracer_member *member = tracer_group_member(group->tracers, index);
    struct tracer_counts counts = tracer_group_counts(group->tracers, index);
    int error = live_source_describe_with(report, &member->target,
                                          tracer_group_tracer(group->tracers, index), &counts);

    if (!error)
        error = note_restarts(member, report);
    return error ? error : note_slices(group, report);
}

static int set_source_row(struct report_source *row, const struct tracer_member *member,
                          const struct report *report)
{
    const struct target *target = &member->target;

    row->pid = target->pid;
    row->restarts = member->restarts;
    row->events = report->counts.events;
    row->ops = report->counts.ops;
    row->incomplete = incomplete_count(report, NULL);
    row->lost_events = report->counts.lost_events;
    if (report->op_count)
        row->latency = report->ops[0].latency;
    int error = report_set_string(&row->daemon, target->kind);
    if (!error)
        error = report_set_string(&row->id, target->id);
    if (!error)
        error = report_set_string(&row->version, target->version);
    if (!error)
        error = report_set_string(&row->store, target->store);
    return error || !report->op_count ? error : report_set_string(&row->type, report->ops[0].type);
}

/* Sums of the further counters, but for the first `own` ones, which the report has itself. */
static int add_others(struct report *report, const struct report *one, size_t own)
{
    for (size_t i = 0; i < one->counts.other_count; i++) {
        const struct report_count *count = &one->counts.others[i];
        struct report_count *sum = report_find_other(report, count->name);
        if (sum && sum < report->counts.others + own)
            continue;
        int error = sum ? 0 : report_add_other(report, count->name, count->value);
        if (error)
            return error;
        if (sum)
            sum->value += count->value;
    }
    return 0;
}

/* What daemons have in common is said of all of them. */
static int common(char **field, const char *value, bool first)
{
    if (!first && strcmp(*field, value) == 0)
        return 0;
    return report_set_string(field, first ? value : "");
}

static int describe_all(struct live_group *group, struct report *const *ones, struct report *report)
{
    int error = report_set_string(&report->source.kind, "bpf");
    size_t own = report->counts.other_count;
    report->source.pid = 0;
    for (size_t i = 0; !error && i < group->count; i++) {
        const struct tracer_member *member = tracer_group_member(group->tracers, i);
        struct report_source *row;
        error = report_add_source(report, &row);
        if (!error)
            error = set_source_row(row, member, ones[i]);
        if (!error)
            error = add_others(report, ones[i], own);
        if (!error)
            error = common(&report->source.daemon, member->target.kind, i == 0);
        if (!error)
            error = common(&report->source.version, member->target.version, i == 0);
        if (!error)
            error = common(&report->source.store, member->target.store, i == 0);
        if (!error)
            error = note_restarts(member, report);
        for (size_t j = 0; !error && j < ones[i]->note_count; j++) {
            char name[96];
            target_short_name(&member->target, name, sizeof(name));
            if (strncmp(ones[i]->notes[j], "Not probed", 10) == 0 ||
                strncmp(ones[i]->notes[j], "The daemon ended", 16) == 0)
                error = report_add_note(report, "%s: %s", name, ones[i]->notes[j]);
        }
    }
    return error ? error : note_slices(group, report);
}

/* Where there is no analysis of all, a report that holds the sums of the counters and no tables. */
static int sum_up(struct live_group *group, struct report *const *ones, struct report **result)
{
    struct report *report;
    int error = report_new(&report);
    if (error)
        return error;
    for (size_t i = 0; !error && i < group->count; i++) {
        report->counts.events += ones[i]->counts.events;
        report->counts.ops += ones[i]->counts.ops;
        report->counts.lost_events += ones[i]->counts.lost_events;
        report->counts.unmatched_events += ones[i]->counts.unmatched_events;
        if (ones[i]->source.seconds > report->source.seconds)
            report->source.seconds = ones[i]->source.seconds;
        if (ones[i]->source.traced_seconds > report->source.traced_seconds)
            report->source.traced_seconds = ones[i]->source.traced_seconds;
    }
    if (!error)
        error = report_add_note(report, "The daemons' paths differ: their tables are not merged, "
                                        "but shown one by one.");
    if (error)
        report_free(report);
    else
        *result = report;
    return error;
}

/* The reports of all daemons one by one; whatever is in `ones` is the caller's to free. */
static int report_each(struct live_group *group, const struct read_counts *counts,
                       struct report **ones)
{
    int error = 0;
    for (size_t i = 0; !error && i < group->count; i++) {
        struct live_one *one = &group->each[i];
        one->counts.tracer = counts->tracer;
        tracer_group_span(group->tracers, i, &one->counts.begin_ns, &one->counts.end_ns);
        error = analysis_report(one->analysis, &one->counts, NULL, &ones[i]);
        if (!error)
            error = live_group_describe(group, i, ones[i]);
    }
    return error;
}

static int report_several(struct live_group *group, const struct read_counts *counts,
                          struct report **result)
{
    struct report *report = NULL;
    struct report **ones = calloc(group->count, sizeof(struct report *));
    int error = ones ? report_each(group, counts, ones) : err_no_memory();
    if (!error)
        error = group->all ? analysis_report(group->all, counts, NULL, &report)
                           : sum_up(group, ones, &report);
    if (!error)
        error = describe_all(group, ones, report);
    for (size_t i = 0; ones && i < group->count; i++) {
        if (!error && (group->options.each || !group->all))
            error = report_add_each(report, ones[i]);
        else
            report_free(ones[i]);
    }
    free(ones);
    if (error)
        report_free(report);
    else
        *result = report;
    return error;
}

int live_group_snapshot(struct live_group *group, enum analysis_span span, double seconds,
                        struct report **report)
{
    if (!group->all)
        return err_set(ENOTSUP, "the daemons' paths differ: there is no screen of them all");
    struct read_counts none = {0};
    int error = group->fold ? live_group_take_sums(group, &none) : 0;
    if (!error)
        error = analysis_snapshot(group->all, span, seconds, report);
    if (!error && group->fold)
        (*report)->counts.lost_events = none.lost;
    for (size_t i = 0; !error && group->fold && span == ANALYSIS_INTERVAL && i < group->count; i++)
        tracer_fold_forget_slowest(tracer_group_tracer(group->tracers, i));
    if (error)
        return error;
    if (!group->each)
        return live_group_describe(group, 0, *report);
    error = report_set_string(&(*report)->source.kind, "bpf");
    if (!error)
        error = report_set_string(&(*report)->source.daemon,
                                  tracer_group_member(group->tracers, 0)->target.kind);
    return error;
}

/* How long it was traced: not from the first event to the last, which says nothing of the time in
 * which nothing happened. */
static void set_span(struct live_group *group, struct read_counts *counts)
{
    counts->begin_ns = UINT64_MAX;
    counts->end_ns = 0;
    for (size_t i = 0; i < group->count; i++) {
        uint64_t begin_ns, end_ns;
        tracer_group_span(group->tracers, i, &begin_ns, &end_ns);
        if (begin_ns < counts->begin_ns)
            counts->begin_ns = begin_ns;
        if (end_ns > counts->end_ns)
            counts->end_ns = end_ns;
    }
}

int live_group_report(struct live_group *group, const struct read_counts *counts,
                      struct report **report)
{
    struct read_counts whole = *counts;
    if (group->fold) {
        whole = (struct read_counts){0};
        int error = live_group_take_sums(group, &whole);
        if (error)
            return error;
    }
    set_span(group, &whole);
    live_group_take_cpus(group);
    group->read = whole;
    if (group->each)
        return report_several(group, &whole, report);
    int error = analysis_report(group->all, &whole, NULL, report);
    return error ? error : live_group_describe(group, 0, *report);
}
