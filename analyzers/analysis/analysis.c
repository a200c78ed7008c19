/* SPDX-License-Identifier: MIT */
#include "analysis_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis_ceph.h"
#include "analysis_frames.h"
#include "err.h"

/* Events between two calls of `progress`, less one; a power of two. */
#define PROGRESS_MASK 0xffffu

static int take_event(void *context, const struct optrail_event *event)
{
    struct analysis *analysis = context;

    if ((++analysis->events & PROGRESS_MASK) == 0 && analysis->progress)
        analysis->progress(analysis->progress_context, analysis->events);
    for (size_t i = 0; i < analysis->event_fold_count; i++) {
        const struct fold *fold = &analysis->event_folds[i];
        int result = fold->class->event(fold->state, event);
        if (result < 0)
            return result;
    }
    return trail_builder_event(analysis->builder, event);
}

static int take_lost(void *context, uint64_t count, uint64_t begin_ns, uint64_t end_ns)
{
    struct analysis *analysis = context;

    analysis->lost += count;
    return trail_builder_lost(analysis->builder, begin_ns, end_ns);
}

static int take_trail(void *context, const struct trail *trail)
{
    struct analysis *analysis = context;

    if (trail->end == TRAIL_FINISHED && trail->finish_ns - trail->start_ns > analysis->slowest_ns)
        analysis->slowest_ns = trail->finish_ns - trail->start_ns;
    const struct op_division *division = NULL;
    if (trail->end == TRAIL_FINISHED && !(division = op_divider_divide(analysis->divider, trail)))
        return -ENOMEM;
    for (size_t i = 0; i < analysis->fold_count; i++) {
        const struct fold *fold = &analysis->folds[i];
        int result = fold->class->trail ? fold->class->trail(fold->state, trail, division) : 0;
        if (result < 0)
            return result;
    }
    return 0;
}

static int read_paths(struct analysis *analysis, const char *path)
{
    int result = path_set_open(path, &analysis->paths);

    /* the file is wrong, not the way in which the command is used */
    return result == -EINVAL ? -EBADMSG : result;
}

static int make_folds(struct analysis *analysis)
{
    const struct fold_options options = {
        .paths = &analysis->paths, .trails = analysis->builder, .windows = analysis->windows};

    for (const struct fold_class *const *class = fold_classes; *class; class ++) {
        struct fold fold = {.class = *class};
        int result;
        if (analysis->fold_count == MAX_FOLDS)
            return err_set(E2BIG, "more than %d folds: raise MAX_FOLDS", MAX_FOLDS);
        result = fold.class->create(&options, &fold.state);
        if (result < 0)
            return result;
        analysis->folds[analysis->fold_count++] = fold;
        if (fold.class->event)
            analysis->event_folds[analysis->event_fold_count++] = fold;
    }
    return 0;
}

int analysis_new(const struct analysis_options *options, struct analysis **analysis)
{
    struct analysis *made = calloc(1, sizeof(*made));
    int result;

    if (!made)
        return err_no_memory();
    made->consumer =
        (struct event_consumer){.context = made, .event = take_event, .lost = take_lost};
    made->progress = options->progress;
    made->windows = options->windows;
    made->progress_context = options->progress_context;
    made->divider = op_divider_new(&made->paths);
    result = made->divider ? 0 : -ENOMEM;
    if (result < 0 || (result = read_paths(made, options->path)) < 0 ||
        (result = trail_builder_new(options->limits, take_trail, made, &made->builder)) < 0 ||
        (result = make_folds(made)) < 0) {
        analysis_free(made);
        return result;
    }
    *analysis = made;
    return 0;
}

void analysis_free(struct analysis *analysis)
{
    if (!analysis)
        return;
    for (size_t i = 0; i < analysis->fold_count; i++)
        if (analysis->folds[i].class->free)
            analysis->folds[i].class->free(analysis->folds[i].state);
    if (analysis->builder)
        trail_builder_free(analysis->builder);
    op_divider_free(analysis->divider);
    path_set_free(&analysis->paths);
    free(analysis);
}

const struct event_consumer *analysis_consumer(struct analysis *analysis)
{
    return &analysis->consumer;
}

uint64_t analysis_slowest_ns(struct analysis *analysis)
{
    uint64_t slowest_ns = analysis->slowest_ns;

    analysis->slowest_ns = 0;
    return slowest_ns;
}

const struct path_set *analysis_paths(const struct analysis *analysis)
{
    return &analysis->paths;
}

static int fill_source(struct report *report, const struct read_counts *counts)
{
    report->source.pid = (int)counts->pid;
    report->source.begin_ns = counts->begin_ns;
    report->source.end_ns = counts->end_ns;
    uint64_t length_ns = counts->end_ns - counts->begin_ns;
    report->source.seconds =
        (double)(length_ns > counts->jumped_ns ? length_ns - counts->jumped_ns : 0) / 1e9;
    report->source.clock_jumps = counts->jumps;
    return report_set_string(&report->source.kind, counts->tracer);
}

/* What the recording tells of itself, as `optrail attach` says it of a running daemon. */
static int fill_told(struct report *report, const struct read_told *told)
{
    int result = 0;

    if (!told->recorded)
        return 0;
    result = report_set_string(&report->source.daemon, told->daemon);
    if (result == 0)
        result = report_set_string(&report->source.id, told->id);
    if (result == 0)
        result = report_set_string(&report->source.version, told->version);
    if (result == 0 && *told->store)
        result = report_set_string(&report->source.store, told->store);
    for (size_t i = 0; result == 0 && i < told->count_count; i++)
        result = report_add_other(report, told->counts[i].name, told->counts[i].value);
    for (size_t i = 0; result == 0 && i < told->note_count; i++)
        result = report_add_note(report, "%s", told->notes[i]);
    if (result == 0 && told->unfinished > 0)
        result = report_add_note(report,
                                 "%zu of the recordings did not come to an end (killed, or a full "
                                 "disk): what came behind the last event is not known.",
                                 told->unfinished);
    return result;
}

/* What its recorder saw of the CPUs. */
static struct report_cpu told_cpu(const struct read_cpu *told)
{
    if (!told->told || told->several)
        return (struct report_cpu){0};
    return (struct report_cpu){
        .known = true,
        .seconds = (double)told->seconds_ns / 1e9,
        .cpus = told->cpus,
        .busy = told->busy_millionths < 1000000 ? (double)told->busy_millionths / 1e6 : 1,
        .run_ns = told->run_ns,
        .wait_ns = told->wait_ns,
        .threads = told->threads,
        .ended = told->ended,
    };
}

static int fill_counts(struct report *report, const struct read_counts *read,
                       const struct trail_counts *trails)
{
    const struct {
        const char *name;
        uint64_t value;
    } others[] = {
        {"lost_packets", read->lost_packets},
        {"late_events", read->late},
        {"unknown_events", read->unknown},
        {"malformed_events", read->malformed},
        {"foreign_events", read->foreign},
        {"unmatched_before_start", trails->of_which_before_start},
        {"unmatched_after_finish", trails->of_which_after_finish},
        {"damaged_streams", read->damaged},
        {"at_pauses", trails->at_pauses},
        {"begun_before", trails->begun_before},
    };
    int result = 0;

    report->counts.events = read->events;
    report->counts.lost_events = read->lost;
    report->counts.unmatched_events = trails->unmatched;
    report->source.traced_seconds = trails->traced_ns && !read->jumps
                                        ? (double)trails->traced_ns / 1e9
                                        : report->source.seconds;
    for (int end = 0; result == 0 && end < TRAIL_END_COUNT; end++)
        if (end != TRAIL_FINISHED)
            result = report_add_incomplete(report, trail_end_names[end], trails->ended[end]);
    for (size_t i = 0; result == 0 && i < sizeof(others) / sizeof(others[0]); i++)
        result = report_add_other(report, others[i].name, others[i].value);
    if (result == 0 && trails->stamps_refused > 0)
        result = report_add_other(report, "refused_stamps", trails->stamps_refused);
    if (result == 0 && read->jumps > 0)
        result = report_add_other(report, "clock_jumps", read->jumps);
    if (result == 0)
        result = analysis_ceph_counts(report, &read->ceph);
    if (result == 0)
        result = analysis_frames_counts(report, &read->frames);
    return result;
}

/* The daemon and its store, as the path of the ops that took the most time has them. */
static int fill_daemon(const struct analysis *analysis, struct report *report)
{
    for (size_t i = 0; i < report->op_count; i++) {
        for (size_t j = 0; j < analysis->paths.count; j++) {
            const struct path *path = analysis->paths.paths[j];
            if (strcmp(path->name, report->ops[i].path) != 0)
                continue;
            int result = report_set_string(&report->source.daemon, path->daemon);
            return result < 0 ? result : report_set_string(&report->source.store, path->store);
        }
    }
    return 0;
}

static int fill_notes(struct report *report, const struct read_counts *counts, const char *damage)
{
    int result = 0;

    if (damage)
        result = report_add_note(
            report, "%s: ops that were under way there, or begin later, may lack stages", damage);

    if (result == 0 && counts->late > 0)
        result =
            report_add_note(report,
                            "a clock goes back behind %" PRIu64 ".%09" PRIu64
                            " s: the times of the ops at that moment are not to be trusted",
                            counts->late_after_ns / 1000000000, counts->late_after_ns % 1000000000);
    if (result == 0 && counts->jumps > 0)
        result = report_add_note(
            report,
            "the clock of the trace jumps behind %" PRIu64 ".%09" PRIu64
            " s, by %.1f days in all: it is damaged. What it jumped over is not in the length, no "
            "rates are made of it, and the times of the ops at that moment are not to be trusted",
            counts->jump_after_ns / 1000000000, counts->jump_after_ns % 1000000000,
            (double)counts->jumped_ns / 86400e9);
    for (size_t i = 0; result == 0 && i < report->op_count; i++)
        if (!*report->ops[i].path)
            result = report_add_note(report,
                                     "of the ops of type '%s' (%" PRIu64 ") no path knows the "
                                     "stages: `optrail paths` lists the paths, --path FILE reads "
                                     "another one",
                                     report->ops[i].type, report->ops[i].count);
    return result;
}

static int fill_folds(struct analysis *analysis, enum analysis_span span, struct report *report)
{
    int result = 0;

    for (size_t i = 0; result == 0 && i < analysis->fold_count; i++) {
        const struct fold *fold = &analysis->folds[i];
        bool interval = span == ANALYSIS_INTERVAL && fold->class->interval;
        int (*fill)(void *, struct report *) = interval ? fold->class->interval : fold->class->fill;
        if (fill)
            result = fill(fold->state, report);
    }
    return result;
}

/* What the kernel's fold could not do: its cells, and how the report names them. */
static const struct {
    enum fold_counter cell;
    const char *name;
} kernel_losses[] = {
    {FOLD_TRUNCATED, "truncated_ops"},          {FOLD_PEERS_CROWDED, "peers_without_room"},
    {FOLD_SLOT_LESS, "starts_without_room"},    {FOLD_NAME_LESS, "keys_without_room"},
    {FOLD_THREAD_LESS, "threads_without_room"}, {FOLD_NOT_SHOWN, "exemplars_without_room"},
};

static int fill_kernel_losses(const struct analysis *analysis, struct report *report)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < sizeof(kernel_losses) / sizeof(kernel_losses[0]); i++)
        if (analysis->losses[kernel_losses[i].cell] > 0)
            result = report_add_other(report, kernel_losses[i].name,
                                      analysis->losses[kernel_losses[i].cell]);
    return result;
}

struct trail_counts analysis_trail_counts(const struct analysis *analysis)
{
    struct trail_counts counts =
        analysis->folded_elsewhere ? analysis->counts : *trail_builder_counts(analysis->builder);
    trail_counts_add(&counts, &analysis->loaded);
    return counts;
}

static int make_report(struct analysis *analysis, enum analysis_span span,
                       const struct read_counts *counts, const char *damage, struct report **report)
{
    struct trail_counts trails = analysis_trail_counts(analysis);
    struct report *made = NULL;
    int result = report_new(&made);

    if (result == 0)
        result = fill_source(made, counts);
    if (result == 0)
        result = fill_counts(made, counts, &trails);
    if (result == 0)
        result = fill_kernel_losses(analysis, made);
    if (result == 0) /* the verdict looks at it */
        made->cpu = analysis->cpu.known ? analysis->cpu : told_cpu(&counts->told.cpu);
    if (result == 0)
        result = fill_folds(analysis, span, made);
    if (result == 0)
        result = fill_daemon(analysis, made);
    if (result == 0)
        result = fill_told(made, &counts->told);
    if (result == 0)
        result = fill_notes(made, counts, damage);
    if (result == 0)
        result = analysis_ceph_notes(made, &counts->ceph);
    if (result == 0)
        result = analysis_frames_notes(made, &counts->frames);
    if (result < 0) {
        report_free(made);
        return result;
    }
    *report = made;
    return 0;
}

int analysis_take_sums(struct analysis *analysis, const struct fold_sums *sums, uint64_t events,
                       bool first)
{
    int result = 0;
    if (first) {
        analysis->counts = (struct trail_counts){0};
        memset(analysis->losses, 0, sizeof(analysis->losses));
        analysis->events = 0;
    }
    struct trail_counts counts = fold_sums_counts(sums, events);
    trail_counts_add(&analysis->counts, &counts);
    for (int i = 0; i < FOLD_ENDED; i++)
        analysis->losses[i] += sums->cells[i];
    analysis->events += events;
    analysis->folded_elsewhere = true;
    for (size_t i = 0; result == 0 && i < analysis->fold_count; i++)
        if (analysis->folds[i].class->sums)
            result = analysis->folds[i].class->sums(analysis->folds[i].state, sums, first);
    return result;
}

int analysis_take_exemplar(struct analysis *analysis, const struct trail *trail)
{
    const struct op_division *division = op_divider_divide(analysis->divider, trail);
    int result = division ? 0 : -ENOMEM;
    for (size_t i = 0; result == 0 && i < analysis->fold_count; i++)
        if (analysis->folds[i].class->exemplar)
            result = analysis->folds[i].class->exemplar(analysis->folds[i].state, trail, division);
    return result;
}

void analysis_take_cpu(struct analysis *analysis, const struct report_cpu *cpu)
{
    analysis->cpu = *cpu;
}

int analysis_report(struct analysis *analysis, const struct read_counts *counts, const char *damage,
                    struct report **report)
{
    int result = analysis->ended ? 0 : trail_builder_end(analysis->builder);

    analysis->ended = true;
    return result < 0 ? result : make_report(analysis, ANALYSIS_WHOLE, counts, damage, report);
}

int analysis_snapshot(struct analysis *analysis, enum analysis_span span, double seconds,
                      struct report **report)
{
    const struct read_counts counts = {
        .events = analysis->events, .lost = analysis->lost, .tracer = ""};
    int result = make_report(analysis, span, &counts, NULL, report);

    if (result < 0)
        return result;
    (*report)->source.seconds = seconds;
    /* with pauses an interval counts as traced for the part that the whole was traced for */
    if (span == ANALYSIS_WHOLE) {
        double traced = (double)trail_builder_counts(analysis->builder)->traced_ns / 1e9;
        analysis->traced_part = traced > 0 && traced < seconds ? traced / seconds : 1;
    }
    (*report)->source.traced_seconds =
        seconds * (analysis->traced_part > 0 ? analysis->traced_part : 1);
    return 0;
}
