/* SPDX-License-Identifier: MIT */
#include "flame_traces.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "plural.h"
#include "flame_trace.h"
#include "interrupt.h"
#include "path.h"
#include "reader.h"
#include "recorded_path.h"
#include "sample_words.h"
#include "supervise.h"

/* One flame graph of traces, while it is made. */
struct traces {
    const struct flame_request *request;
    const struct flame_renderer *renderer;
    size_t timeline_ops;
    int (*deliver)(const struct flame_renderer *renderer, const struct flame_result *made,
                   int result, FILE *said);
    struct supervision *supervision;
    const volatile int *stop;
    struct path_set paths;
    struct flame_options options;
    struct flame_fold *fold, *told;
    struct flame_tree *tree, *told_tree;
    struct flame_timeline *timeline;
    struct flame_trace_counts counts; /* of all sides */
    char damage[1024];
};

static void show_progress(void *terminal, uint64_t events)
{
    fprintf(terminal, "\r%.1f million events ", (double)events / 1e6);
    fflush(terminal);
}

static int read_paths(struct traces *traces)
{
    const struct flame_request *request = traces->request;
    const char *path = request->path;
    char file[PATH_MAX];
    if (!path)
        path = recorded_path(request->inputs, request->input_count, traces->supervision, file,
                             sizeof(file));
    return path_set_open(path, &traces->paths);
}

/* Runs the consumer over the inputs. Damage is remembered, and no failure. */
static int run(struct traces *traces, char **inputs, int count,
               const struct event_consumer *consumer)
{
    struct event_consumer watched = *consumer;
    struct read_counts counts;
    watched.watch = &traces->supervision->watch;
    int result = reader_run_traces((const char *const *)inputs, (size_t)count, &watched,
                                   traces->stop, &counts);
    if (traces->supervision->terminal)
        fputs("\r                              \r", traces->supervision->terminal);
    if (result < 0 && (counts.damaged == 0 || counts.events == 0))
        return result;
    if (result < 0)
        snprintf(traces->damage, sizeof(traces->damage), "%s", err_message());
    if (counts.events == 0 && !*traces->stop && traces->request->just_recorded)
        return err_set(ENODATA, "no op and no sample was seen in this time: nothing to draw");
    if (counts.events == 0 && !*traces->stop)
        return err_set(ENODATA,
                       "%s: holds no events of optrail's (`optrail report` says more about it)",
                       inputs[0]);
    return 0;
}

static void add_counts(struct flame_trace_counts *to, const struct flame_trace_counts *from)
{
    to->ops += from->ops;
    to->ops_taken += from->ops_taken;
    to->unfinished += from->unfinished;
    to->captured += from->captured;
    to->told += from->told;
    to->no_op += from->no_op;
    to->op_unknown += from->op_unknown;
    to->no_stack += from->no_stack;
    to->unpaired += from->unpaired;
    to->samples.taken += from->samples.taken;
    to->samples.unusable += from->samples.unusable;
    to->samples.busy_ns += from->samples.busy_ns;
    to->samples.no_op += from->samples.no_op;
    flame_pools_merge(&to->samples.pools_no_op, &from->samples.pools_no_op);
    to->samples.op_unknown += from->samples.op_unknown;
    to->samples.no_stack += from->samples.no_stack;
    to->samples.idle_waits += from->samples.idle_waits;
    to->samples.idle_ns += from->samples.idle_ns;
    to->samples.cut += from->samples.cut;
    to->samples.unnamed += from->samples.unnamed;
}

/* Reads the traces of one side; twice if only the slowest ops are wanted. */
static int read_side(struct traces *traces, unsigned side, char **inputs, int count)
{
    struct flame_tail *tail = NULL;
    struct flame_trace *trace = NULL;
    struct flame_trace_options options = {
        .paths = &traces->paths,
        .fold = traces->fold,
        .told = traces->told,
        .side = side,
        .idle = traces->request->idle,
        .wakers = traces->request->wakers,
        .op = traces->options.op,
        .timeline = traces->timeline,
        .timeline_ops = traces->timeline_ops,
        .progress = traces->supervision->terminal ? show_progress : NULL,
        .progress_context = traces->supervision->terminal,
    };
    int result = 0;
    if (traces->request->tail > 0) {
        result = flame_tail_new(&traces->paths, traces->request->tail, &tail);
        if (result == 0)
            result = run(traces, inputs, count, flame_tail_consumer(tail));
        if (result == 0)
            result = flame_tail_end(tail);
        options.tail = tail;
    }
    if (result == 0)
        result = flame_trace_new(&options, &trace);
    if (result == 0)
        result = run(traces, inputs, count, flame_trace_consumer(trace));
    if (result == 0)
        result = flame_trace_end(trace);
    if (trace) {
        struct flame_trace_counts counts = flame_trace_counts(trace);
        add_counts(&traces->counts, &counts);
    }
    flame_trace_free(trace);
    flame_tail_free(tail);
    return result;
}

static int make_targets(struct traces *traces)
{
    unsigned sides = traces->request->compare ? 2 : 1;
    traces->options = traces->request->options;
    if (traces->renderer->timeline)
        return flame_timeline_new(&traces->timeline);
    if (!traces->options.kinds)
        traces->options.kinds = 1u << FLAME_stage;
    int result = flame_fold_new(&traces->options, sides, &traces->fold, &traces->tree);
    return result < 0 ? result
                      : flame_fold_new(&traces->options, sides, &traces->told, &traces->told_tree);
}

static int note_counts(const struct traces *traces, struct flame_tree *tree, bool told)
{
    const struct flame_trace_counts *counts = &traces->counts;
    bool locks = traces->options.kinds >> FLAME_lock & 1;
    int result = 0;
    if (traces->request->tail > 0)
        result = flame_tree_note(tree, "the slowest ops: %" PRIu64 " of %" PRIu64,
                                 counts->ops_taken, counts->ops);
    if (result == 0 && counts->unfinished > 0)
        result = flame_tree_note(tree, "%" PRIu64 " op%s did not come to the end and %s left out",
                                 counts->unfinished, plural(counts->unfinished),
                                 counts->unfinished == 1 ? "is" : "are");
    if (result == 0 && locks && told)
        result = flame_tree_note(tree, "no waits were captured (`optrail record --locks` does): "
                                       "these are what the daemon tells of its locks, without "
                                       "call stacks");
    if (result == 0 && locks && !told && counts->no_op + counts->op_unknown > 0)
        result = flame_tree_note(tree,
                                 "of the waits, %" PRIu64 " are of threads that worked for no op, "
                                 "%" PRIu64 " of ops that did not come to their end",
                                 counts->no_op, counts->op_unknown);
    if (result == 0 && locks && !told && counts->no_stack > 0)
        result = flame_tree_note(tree, "%" PRIu64 " wait%s no known stack", counts->no_stack,
                                 counts->no_stack == 1 ? " has" : "s have");
    if (result == 0 && locks && !told && counts->unpaired > 0)
        result = flame_tree_note(tree, "%" PRIu64 " event%s more of a wait that was not told",
                                 counts->unpaired, counts->unpaired == 1 ? " tells" : "s tell");
    if (result == 0 && *traces->damage)
        result = flame_tree_note(tree, "%s", traces->damage);
    return result;
}

static double no_op_share(const struct flame_sample_counts *counts)
{
    return counts->busy_ns ? (double)flame_pools_sum(&counts->pools_no_op) / (double)counts->busy_ns
                           : 0;
}

/* What is to be said of samples of threads. */
static int note_samples(const struct traces *traces, struct flame_tree *tree)
{
    const struct flame_sample_counts *counts = &traces->counts.samples;
    const struct flame_options *options = &traces->options;
    bool by_op = options->op || options->stage || traces->request->tail > 0;
    const struct {
        uint64_t value;
        const char *noun, *text;
    } rows[] = {
        {counts->unusable, "event", "with what no sample can hold: left out"},
        {counts->no_stack, "sample", "without a known stack"},
        {counts->cut, "sample", "with more frames than there is room for"},
        {counts->unnamed, "thread", "whose name found no room, shown by number"},
        {by_op ? counts->op_unknown : 0, "sample", "of ops that did not come to their end"},
    };
    char text[256];
    int result = 0;
    flame_pools_text(&counts->pools_no_op, text, sizeof(text));
    if (by_op && counts->no_op > 0)
        result = flame_tree_note(tree,
                                 "%" PRIu64 " sample%s of threads that worked for no op, or for "
                                 "many at once, %.1f %% of the time%s%s",
                                 counts->no_op, plural(counts->no_op), 100.0 * no_op_share(counts),
                                 *text ? "; of their time: " : "", text);
    for (size_t i = 0; result == 0 && i < sizeof(rows) / sizeof(*rows); i++)
        if (rows[i].value > 0)
            result = flame_tree_note(tree, "%" PRIu64 " %s%s %s", rows[i].value, rows[i].noun,
                                     plural(rows[i].value), rows[i].text);
    if (result == 0 && counts->idle_waits > 0)
        result = flame_tree_note(
            tree, "%s", sample_words_idle(counts->idle_waits, counts->idle_ns, text, sizeof(text)));
    return result;
}

static int finish_tree(struct traces *traces, struct flame_tree **tree)
{
    bool told = traces->options.kinds == 1u << FLAME_lock && traces->counts.captured == 0 &&
                traces->counts.told > 0;
    struct flame_fold *fold = told ? traces->told : traces->fold;
    *tree = told ? traces->told_tree : traces->tree;
    int result = flame_fold_finish(fold);
    struct flame_fold_counts counts = flame_fold_counts(fold);
    if (result == 0 && counts.taken == 0)
        return counts.filtered + traces->counts.samples.idle_waits > 0
                   ? sample_words_none_left(counts.filtered, traces->counts.samples.idle_waits)
               : *traces->damage
                   ? err_set(EBADMSG, "%s; there is no sample of this kind before", traces->damage)
               : traces->request->just_recorded
                   ? err_set(ENODATA, "no sample of this kind was taken in this time")
                   : err_set(ENODATA, "%s: holds no samples of this kind%s",
                             traces->request->inputs[0],
                             traces->options.kinds >> FLAME_lock & 1
                                 ? ""
                                 : " (`optrail record --samples` makes them)");
    for (unsigned side = 0; result == 0 && (*tree)->sides > 1 && side < 2; side++) {
        result = flame_tree_set(&(*tree)->side_names[side], side ? "after" : "before");
        if (result == 0 && (*tree)->sum[side].value == 0)
            result = err_set(ENODATA, "there are no samples %s: nothing to compare with",
                             (*tree)->side_names[side]);
    }
    if (result == 0)
        result = note_counts(traces, *tree, told);
    return result == 0 ? note_samples(traces, *tree) : result;
}

const char *flame_what(uint32_t kinds)
{
    if (kinds >> FLAME_stage & 1)
        return "time of ops by stage";
    if (kinds == 1u << FLAME_lock)
        return "waits for locks";
    if (kinds == 1u << FLAME_cpu)
        return "on a CPU";
    return kinds >> FLAME_cpu & 1 ? "wall clock" : "off the CPU";
}

static int finish(struct traces *traces)
{
    struct flame_result made = {.what = flame_what(traces->options.kinds),
                                .timeline = traces->timeline};
    int result = 0;
    if (traces->timeline && traces->timeline->slice_count == 0)
        result = traces->request->just_recorded
                     ? err_set(ENODATA, "no op came to its end in this time")
                     : err_set(ENODATA, "%s: no op came to its end", traces->request->inputs[0]);
    if (!traces->timeline)
        result = finish_tree(traces, &made.tree);
    if (result < 0)
        return result;
    FILE *said = fmemopen(traces->supervision->notes, sizeof(traces->supervision->notes), "w");
    if (!said)
        return err_no_memory();
    result = *traces->damage ? err_set(EBADMSG, "%s", traces->damage) : 0;
    result = traces->deliver(traces->renderer, &made, result, said);
    fclose(said);
    return result;
}

static int work(void *context, struct supervision *supervision)
{
    struct traces *traces = context;
    const struct flame_request *request = traces->request;
    int before = request->compare ? 1 : request->input_count;
    traces->supervision = supervision;
    traces->stop = interrupt_install();
    int result = read_paths(traces);
    if (result == 0)
        result = make_targets(traces);
    if (result == 0)
        result = read_side(traces, 0, request->inputs, before);
    if (result == 0 && request->compare)
        result = read_side(traces, 1, request->inputs + 1, request->input_count - 1);
    supervision->past_the_data = 1;
    if (result == 0)
        result = finish(traces);
    flame_fold_free(traces->fold);
    flame_fold_free(traces->told);
    flame_tree_free(traces->tree);
    flame_tree_free(traces->told_tree);
    flame_timeline_free(traces->timeline);
    path_set_free(&traces->paths);
    return result;
}

int flame_run_traces(const struct flame_request *request, const struct flame_renderer *renderer,
                     size_t timeline_ops,
                     int (*deliver)(const struct flame_renderer *renderer,
                                    const struct flame_result *made, int result, FILE *said))
{
    struct traces traces = {
        .request = request, .renderer = renderer, .timeline_ops = timeline_ops, .deliver = deliver};
    const struct supervisor_options options = {
        .data_name = request->just_recorded      ? "what was recorded"
                     : request->input_count == 1 ? request->inputs[0]
                                                 : "one of the traces"};
    int result = supervise(work, &traces, &options);
    /* wrong use was ruled out before: from here on it is the data */
    return result == -EINVAL ? -EBADMSG : result;
}
