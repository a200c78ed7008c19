/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "coarse.h"
#include "err.h"
#include "fold.h"
#include "sweep.h"

/*
 * Stalls: times in which no op was answered though several were open. A gap between two answers is
 * remembered when it is long; of the ops that end behind it one learns how many were open in it,
 * since when, and in which stage they were. What counts as long against the run's own pace is known
 * at the end.
 */
#define SHORTEST_NS 10000000ull /* 10 ms */
#define KEPT        256         /* the longest ones */
#define MAX_STAGES  128
/* A stall lasts so many times the median latency, and so many times the mean time between answers.
 */
#define MEDIANS     10
#define INTERVALS   20
#define FEWEST_OPEN 2
/* They are told when they make up such a part of the run, or one is as long as this. */
#define PART_OF_RUN 0.01
#define LONG_NS     100000000ull

struct gap {
    uint64_t begin_ns, end_ns; /* two answers */
    uint64_t since_ns;         /* from when on an op was open in it */
    uint64_t open;             /* ops that were at its end */
};

struct stage_time {
    const char *name; /* weak: the path's */
    uint64_t ns;
};

struct stalls_fold {
    const struct path_set *paths; /* weak */
    struct sweep_plan plan;       /* of the path that was looked at last */
    uint64_t first_ns;            /* the first op's start */
    uint64_t first_answer_ns, last_answer_ns, last_event_ns;
    uint64_t count;
    uint64_t buckets[COARSE_BUCKETS];
    uint64_t last_gap_end_ns;
    size_t gap_count;
    struct gap gaps[KEPT];
    size_t stage_count;
    struct stage_time stages[MAX_STAGES];
    uint64_t open_at_end, open_since_ns; /* ops that the data end before; the first one's start */
};

struct clip {
    struct stalls_fold *fold;
    const struct path *path;
    uint64_t begin_ns, end_ns;
};

static int create(const struct fold_options *options, void **state)
{
    struct stalls_fold *fold = calloc(1, sizeof(*fold));
    if (!fold)
        return err_no_memory();
    fold->paths = options->paths;
    fold->first_ns = fold->open_since_ns = UINT64_MAX;
    *state = fold;
    return 0;
}

static int add_event(void *state, const struct optrail_event *event)
{
    struct stalls_fold *fold = state;
    if (event->time_ns > fold->last_event_ns)
        fold->last_event_ns = event->time_ns;
    return 0;
}

static void add_stage(struct stalls_fold *fold, const char *name, uint64_t ns)
{
    size_t i = 0;
    while (i < fold->stage_count && strcmp(fold->stages[i].name, name) != 0)
        i++;
    if (i == MAX_STAGES)
        return;
    if (i == fold->stage_count)
        fold->stages[fold->stage_count++] = (struct stage_time){.name = name};
    fold->stages[i].ns += ns;
}

static void add_span(void *context, int stage, uint64_t begin_ns, uint64_t end_ns)
{
    const struct clip *clip = context;
    uint64_t begin = begin_ns > clip->begin_ns ? begin_ns : clip->begin_ns;
    uint64_t end = end_ns < clip->end_ns ? end_ns : clip->end_ns;
    if (begin < end)
        add_stage(clip->fold, stage < 0 ? "unattributed" : clip->path->stages[stage].name,
                  end - begin);
}

/* Where the op was in the gap. */
static void divide(struct stalls_fold *fold, const struct trail *trail, const struct gap *gap)
{
    struct path_match match;
    struct path_op op = {trail->seen, trail->type, trail->bytes_in, trail->bytes_out};
    if (!path_set_match(fold->paths, &op, &match))
        return;
    if (fold->plan.path != match.path)
        sweep_plan_init(&fold->plan, match.path);
    struct clip clip = {fold, match.path, gap->begin_ns, gap->end_ns};
    sweep_spans(&fold->plan, trail, add_span, &clip);
}

/* The op was open in the gaps between its start and its end. */
static void was_open(struct stalls_fold *fold, const struct trail *trail, uint64_t end_ns)
{
    for (size_t i = 0; i < fold->gap_count && trail->start_ns < fold->last_gap_end_ns; i++) {
        struct gap *gap = &fold->gaps[i];
        if (trail->start_ns >= gap->end_ns || end_ns < gap->end_ns)
            continue;
        uint64_t since = trail->start_ns > gap->begin_ns ? trail->start_ns : gap->begin_ns;
        if (since < gap->since_ns)
            gap->since_ns = since;
        gap->open++;
        if (trail->end == TRAIL_FINISHED)
            divide(fold, trail, gap);
    }
}

static void add_gap(struct stalls_fold *fold, uint64_t begin_ns, uint64_t end_ns)
{
    struct gap gap = {begin_ns, end_ns, end_ns, 0};
    size_t at = 0;
    fold->last_gap_end_ns = end_ns;
    if (fold->gap_count < KEPT) {
        fold->gaps[fold->gap_count++] = gap;
        return;
    }
    for (size_t i = 1; i < KEPT; i++)
        if (fold->gaps[i].end_ns - fold->gaps[i].begin_ns <
            fold->gaps[at].end_ns - fold->gaps[at].begin_ns)
            at = i;
    if (fold->gaps[at].end_ns - fold->gaps[at].begin_ns < end_ns - begin_ns)
        fold->gaps[at] = gap;
}

/* An answer that is told late, inside a gap: the longer part of that is left. */
static void split_gaps(struct stalls_fold *fold, uint64_t answer_ns)
{
    for (size_t i = 0; i < fold->gap_count; i++) {
        struct gap *gap = &fold->gaps[i];
        if (answer_ns <= gap->begin_ns || answer_ns >= gap->end_ns)
            continue;
        if (answer_ns - gap->begin_ns > gap->end_ns - answer_ns)
            gap->end_ns = answer_ns;
        else
            gap->begin_ns = answer_ns;
        if (gap->since_ns < gap->begin_ns)
            gap->since_ns = gap->begin_ns;
    }
}

static int add_trail(void *state, const struct trail *trail)
{
    struct stalls_fold *fold = state;
    if (trail->start_ns < fold->first_ns)
        fold->first_ns = trail->start_ns;
    if (trail->end == TRAIL_OPEN || trail->end == TRAIL_TIMEOUT) {
        was_open(fold, trail, UINT64_MAX);
        fold->open_at_end += trail->end == TRAIL_OPEN;
        if (trail->end == TRAIL_OPEN && trail->start_ns < fold->open_since_ns)
            fold->open_since_ns = trail->start_ns;
    }
    if (trail->end != TRAIL_FINISHED)
        return 0;
    uint64_t last = fold->last_answer_ns, answer = trail->finish_ns;
    if (fold->count++ == 0)
        fold->first_answer_ns = answer;
    fold->buckets[coarse_bucket(answer - trail->start_ns)]++;
    if (last > 0 && answer > last && answer - last >= SHORTEST_NS)
        add_gap(fold, last, answer);
    else if (answer < last)
        split_gaps(fold, answer);
    was_open(fold, trail, answer);
    if (answer > last)
        fold->last_answer_ns = answer;
    return 0;
}

static uint64_t median_of(const struct stalls_fold *fold)
{
    uint64_t below = 0;
    uint32_t bucket = 0;
    while (bucket < COARSE_BUCKETS && 2 * (below += fold->buckets[bucket]) < fold->count)
        bucket++;
    return coarse_low(bucket);
}

static int by_time(const void *a, const void *b)
{
    const struct report_stall_stage *left = a, *right = b;
    return (left->ns < right->ns) - (left->ns > right->ns);
}

static int fill_stages(const struct stalls_fold *fold, struct report_stall *stall)
{
    uint64_t sum = 0;
    int result = 0;
    for (size_t i = 0; result == 0 && i < fold->stage_count; i++) {
        result = report_add_stall_stage(stall, fold->stages[i].name, fold->stages[i].ns);
        sum += fold->stages[i].ns;
    }
    for (size_t i = 0; result == 0 && i < stall->stage_count; i++)
        stall->stages[i].share = sum > 0 ? (double)stall->stages[i].ns / (double)sum : 0;
    if (stall->stage_count > 0)
        qsort(stall->stages, stall->stage_count, sizeof(*stall->stages), by_time);
    return result;
}

static void count_gap(const struct stalls_fold *fold, const struct gap *gap, uint64_t shortest,
                      struct report_stall *sum)
{
    uint64_t ns = gap->end_ns > gap->since_ns ? gap->end_ns - gap->since_ns : 0;
    if (gap->open < FEWEST_OPEN || ns < shortest)
        return;
    sum->count++;
    sum->total_ns += ns;
    if (ns <= sum->longest_ns)
        return;
    sum->longest_ns = ns;
    sum->longest_at_ns = gap->since_ns - fold->first_ns;
    sum->open = gap->open;
}

static int fill(void *state, struct report *report)
{
    const struct stalls_fold *fold = state;
    struct report_stall sum = {0}, *stall;
    if (fold->count < FEWEST_OPEN)
        return 0;
    uint64_t interval = (fold->last_answer_ns - fold->first_answer_ns) / fold->count;
    uint64_t shortest = MEDIANS * median_of(fold);
    if (shortest < INTERVALS * interval)
        shortest = INTERVALS * interval;
    if (shortest < SHORTEST_NS)
        shortest = SHORTEST_NS;
    for (size_t i = 0; i < fold->gap_count; i++)
        count_gap(fold, &fold->gaps[i], shortest, &sum);
    struct gap last = {fold->last_answer_ns, fold->last_event_ns, fold->open_since_ns,
                       fold->open_at_end};
    if (last.since_ns < last.begin_ns)
        last.since_ns = last.begin_ns;
    count_gap(fold, &last, shortest, &sum);
    double run = (double)(fold->last_event_ns - fold->first_ns);
    if (sum.longest_ns < LONG_NS && (double)sum.total_ns < PART_OF_RUN * run)
        return 0;
    int result = report_add_stall(report, &stall);
    if (result < 0)
        return result;
    *stall = sum;
    return fill_stages(fold, stall);
}

/* Of an interval nothing is said: the gaps are those of the whole run. */
static int interval(void *state, struct report *report)
{
    (void)state;
    (void)report;
    return 0;
}

const struct fold_class fold_stalls = {.name = "stalls",
                                       .create = create,
                                       .event = add_event,
                                       .trail = add_trail,
                                       .fill = fill,
                                       .interval = interval,
                                       .free = free};
