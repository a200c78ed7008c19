/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "coarse.h"
#include "err.h"
#include "fold.h"
#include "time_windows_saved.h"

/*
 * Stalls: times in which a process answered no op though several were open. A gap between two
 * answers is remembered when it is long; of the ops that end behind it one learns how many were
 * open in it, since when, and in which stage they were. What counts as long against the run's own
 * pace is known at the end.
 */
#define SHORTEST_NS   10000000ull /* 10 ms */
#define KEPT          256         /* the longest ones */
#define MAX_STAGES    128
#define MAX_PROCESSES 64 /* the rest is not looked at */
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
    const struct path *path; /* weak */
    int stage;               /* -1: none, unattributed */
    uint64_t ns;
};

struct process {
    uint32_t pid;
    uint64_t first_ns; /* the first op's start */
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

struct stalls_fold {
    size_t count;
    struct process *processes[MAX_PROCESSES]; /* owned */
    struct process *last;                     /* weak: the one that was asked for last, or NULL */
};

struct clip {
    struct process *process;
    const struct path *path;
    uint64_t begin_ns, end_ns;
};

static int create(const struct fold_options *options, void **state)
{
    (void)options;
    *state = calloc(1, sizeof(struct stalls_fold));
    return *state ? 0 : err_no_memory();
}

static void destroy(void *state)
{
    struct stalls_fold *fold = state;
    for (size_t i = 0; i < fold->count; i++)
        free(fold->processes[i]);
    free(fold);
}

/* Negative errno with the message: no memory. *process is NULL when there are too many. */
static int find_process(struct stalls_fold *fold, uint32_t pid, struct process **process)
{
    *process = fold->last;
    if (*process && (*process)->pid == pid)
        return 0;
    *process = NULL;
    for (size_t i = 0; i < fold->count && !*process; i++)
        if (fold->processes[i]->pid == pid)
            *process = fold->processes[i];
    if (!*process && fold->count < MAX_PROCESSES) {
        *process = calloc(1, sizeof(**process));
        if (!*process)
            return err_no_memory();
        (*process)->pid = pid;
        (*process)->first_ns = (*process)->open_since_ns = UINT64_MAX;
        fold->processes[fold->count++] = *process;
    }
    fold->last = *process ? *process : fold->last;
    return 0;
}

static int add_event(void *state, const struct optrail_event *event)
{
    struct stalls_fold *fold = state;
    /* the process is made by its first op */
    if (fold->last && fold->last->pid == event->pid) {
        if (event->time_ns > fold->last->last_event_ns)
            fold->last->last_event_ns = event->time_ns;
        return 0;
    }
    for (size_t i = 0; i < fold->count; i++) {
        if (fold->processes[i]->pid != event->pid)
            continue;
        fold->last = fold->processes[i];
        if (event->time_ns > fold->last->last_event_ns)
            fold->last->last_event_ns = event->time_ns;
    }
    return 0;
}

static void add_stage(struct process *process, const struct path *path, int stage, uint64_t ns)
{
    size_t i = 0;
    while (i < process->stage_count &&
           (process->stages[i].path != path || process->stages[i].stage != stage))
        i++;
    if (i == MAX_STAGES)
        return;
    if (i == process->stage_count)
        process->stages[process->stage_count++] = (struct stage_time){path, stage, 0};
    process->stages[i].ns += ns;
}

static void add_span(void *context, int stage, uint64_t begin_ns, uint64_t end_ns)
{
    const struct clip *clip = context;
    uint64_t begin = begin_ns > clip->begin_ns ? begin_ns : clip->begin_ns;
    uint64_t end = end_ns < clip->end_ns ? end_ns : clip->end_ns;
    if (begin < end)
        add_stage(clip->process, clip->path, stage, end - begin);
}

/* The op was open in the gaps between its start and its end. */
static void was_open(struct process *process, const struct trail *trail,
                     const struct op_division *division, uint64_t end_ns)
{
    for (size_t i = 0; i < process->gap_count && trail->start_ns < process->last_gap_end_ns; i++) {
        struct gap *gap = &process->gaps[i];
        if (trail->start_ns >= gap->end_ns || end_ns < gap->end_ns)
            continue;
        uint64_t since = trail->start_ns > gap->begin_ns ? trail->start_ns : gap->begin_ns;
        if (since < gap->since_ns)
            gap->since_ns = since;
        gap->open++;
        if (!division || !division->plan)
            continue;
        struct clip clip = {process, division->path, gap->begin_ns, gap->end_ns};
        sweep_spans(division->plan, trail, add_span, &clip);
    }
}

static uint64_t length_of(const struct gap *gap)
{
    return gap->end_ns - gap->begin_ns;
}

/* Of too many the longest ones. */
static void keep_gap(struct process *process, const struct gap *gap)
{
    size_t at = 0;
    if (process->gap_count < KEPT) {
        process->gaps[process->gap_count++] = *gap;
        return;
    }
    for (size_t i = 1; i < KEPT; i++)
        if (length_of(&process->gaps[i]) < length_of(&process->gaps[at]))
            at = i;
    if (length_of(&process->gaps[at]) < length_of(gap))
        process->gaps[at] = *gap;
}

static void add_gap(struct process *process, uint64_t begin_ns, uint64_t end_ns)
{
    process->last_gap_end_ns = end_ns;
    keep_gap(process, &(struct gap){begin_ns, end_ns, end_ns, 0});
}

/* An answer that is told late, inside a gap: the longer part of that is left. */
static void split_gaps(struct process *process, uint64_t answer_ns)
{
    for (size_t i = 0; i < process->gap_count; i++) {
        struct gap *gap = &process->gaps[i];
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

static void count_open(struct process *process, const struct trail *trail)
{
    was_open(process, trail, NULL, UINT64_MAX);
    if (trail->end != TRAIL_OPEN)
        return;
    process->open_at_end++;
    if (trail->start_ns < process->open_since_ns)
        process->open_since_ns = trail->start_ns;
}

static void count_answer(struct process *process, const struct trail *trail,
                         const struct op_division *division)
{
    uint64_t last = process->last_answer_ns, answer = trail->finish_ns;
    if (process->count++ == 0)
        process->first_answer_ns = answer;
    process->buckets[coarse_bucket(answer - trail->start_ns)]++;
    if (last > 0 && answer > last && answer - last >= SHORTEST_NS)
        add_gap(process, last, answer);
    else if (answer < last)
        split_gaps(process, answer);
    was_open(process, trail, division, answer);
    if (answer > last)
        process->last_answer_ns = answer;
    if (answer > process->last_event_ns)
        process->last_event_ns = answer;
}

static int add_trail(void *state, const struct trail *trail, const struct op_division *division)
{
    struct process *process;
    int result = find_process(state, trail->pid, &process);
    if (result < 0 || !process)
        return result;
    if (trail->start_ns < process->first_ns)
        process->first_ns = trail->start_ns;
    if (trail->end == TRAIL_OPEN || trail->end == TRAIL_TIMEOUT)
        count_open(process, trail);
    else if (division)
        count_answer(process, trail, division);
    return 0;
}

static uint64_t median_of(const struct process *process)
{
    uint64_t below = 0;
    uint32_t bucket = 0;
    while (bucket < COARSE_BUCKETS && 2 * (below += process->buckets[bucket]) < process->count)
        bucket++;
    return coarse_low(bucket);
}

static int by_time(const void *a, const void *b)
{
    const struct report_stall_stage *left = a, *right = b;
    if (left->ns != right->ns)
        return (left->ns < right->ns) - (left->ns > right->ns);
    return strcmp(left->name, right->name);
}

/* Adds to the stage of that name, or makes it. */
static int fill_stage(const struct stage_time *time, struct report_stall *stall)
{
    const char *name = time->stage < 0 ? "unattributed" : time->path->stages[time->stage].name;
    for (size_t i = 0; i < stall->stage_count; i++) {
        if (strcmp(stall->stages[i].name, name) != 0)
            continue;
        stall->stages[i].ns += time->ns;
        return 0;
    }
    return report_add_stall_stage(stall, name, time->ns);
}

static void finish(struct report_stall *stall)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < stall->stage_count; i++)
        sum += stall->stages[i].ns;
    for (size_t i = 0; i < stall->stage_count; i++)
        stall->stages[i].share = sum > 0 ? (double)stall->stages[i].ns / (double)sum : 0;
    if (stall->stage_count > 0)
        qsort(stall->stages, stall->stage_count, sizeof(*stall->stages), by_time);
}

static void count_gap(const struct process *process, const struct gap *gap, uint64_t shortest,
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
    sum->longest_at_ns = gap->since_ns - process->first_ns;
    sum->open = gap->open;
}

/* The stalls of one process; their count is 0 when there is nothing to be told. */
static struct report_stall stalls_of(const struct process *process)
{
    struct report_stall sum = {0};
    if (process->count < FEWEST_OPEN)
        return sum;
    uint64_t pace = (process->last_answer_ns - process->first_answer_ns) / process->count;
    uint64_t shortest = MEDIANS * median_of(process);
    if (shortest < INTERVALS * pace)
        shortest = INTERVALS * pace;
    if (shortest < SHORTEST_NS)
        shortest = SHORTEST_NS;
    for (size_t i = 0; i < process->gap_count; i++)
        count_gap(process, &process->gaps[i], shortest, &sum);
    struct gap last = {process->last_answer_ns, process->last_event_ns, process->open_since_ns,
                       process->open_at_end};
    if (last.since_ns < last.begin_ns)
        last.since_ns = last.begin_ns;
    count_gap(process, &last, shortest, &sum);
    double run = (double)(process->last_event_ns - process->first_ns);
    if (sum.longest_ns < LONG_NS && (double)sum.total_ns < PART_OF_RUN * run)
        sum.count = 0;
    return sum;
}

static int fill(void *state, struct report *report)
{
    const struct stalls_fold *fold = state;
    struct report_stall *stall = NULL;
    int result = 0;
    for (size_t i = 0; result == 0 && i < fold->count; i++) {
        const struct process *process = fold->processes[i];
        struct report_stall one = stalls_of(process);
        if (one.count == 0)
            continue;
        if (!stall && (result = report_add_stall(report, &stall)) < 0)
            return result;
        stall->count += one.count;
        stall->total_ns += one.total_ns;
        /* of two that are as long the earlier one, whatever order the processes come in */
        if (one.longest_ns > stall->longest_ns ||
            (one.longest_ns == stall->longest_ns && one.longest_at_ns < stall->longest_at_ns)) {
            stall->longest_ns = one.longest_ns;
            stall->longest_at_ns = one.longest_at_ns;
            stall->open = one.open;
        }
        for (size_t j = 0; result == 0 && j < process->stage_count; j++)
            result = fill_stage(&process->stages[j], stall);
    }
    if (stall)
        finish(stall);
    return result;
}

static void save_process(const struct process *process, const struct saved_paths *paths,
                         struct profile_writer *writer)
{
    const uint64_t numbers[] = {process->pid,
                                process->first_ns,
                                process->first_answer_ns,
                                process->last_answer_ns,
                                process->last_event_ns,
                                process->open_at_end,
                                process->open_at_end ? process->open_since_ns : 0};
    profile_put_row(writer, "process");
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        profile_put_number(writer, numbers[i]);
    sparse_save(process->buckets, COARSE_BUCKETS, writer);
    for (size_t i = 0; i < process->gap_count; i++) {
        const struct gap *gap = &process->gaps[i];
        profile_put_row(writer, "gap");
        profile_put_number(writer, gap->begin_ns);
        profile_put_number(writer, gap->end_ns);
        profile_put_number(writer, gap->since_ns);
        profile_put_number(writer, gap->open);
    }
    for (size_t i = 0; i < process->stage_count; i++) {
        profile_put_row(writer, "meanwhile");
        profile_put_number(writer, saved_path_number(paths, process->stages[i].path));
        profile_put_number(writer, (uint64_t)process->stages[i].stage + 1);
        profile_put_number(writer, process->stages[i].ns);
    }
}

static void save(void *state, const struct saved_paths *paths, struct profile_writer *writer)
{
    const struct stalls_fold *fold = state;
    for (size_t i = 0; i < fold->count; i++)
        save_process(fold->processes[i], paths, writer);
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The figures of a "process" row are added to those that are there. */
static void load_figures(struct process *process, struct profile_reader *reader)
{
    bool first = process->count == 0;
    process->first_ns = smaller(process->first_ns, profile_number(reader, PROFILE_MAX_NUMBER));
    uint64_t answer = profile_number(reader, PROFILE_MAX_NUMBER);
    process->first_answer_ns = first ? answer : smaller(process->first_answer_ns, answer);
    process->last_answer_ns =
        larger(process->last_answer_ns, profile_number(reader, PROFILE_MAX_NUMBER));
    process->last_event_ns =
        larger(process->last_event_ns, profile_number(reader, PROFILE_MAX_NUMBER));
    uint64_t open = profile_number(reader, PROFILE_MAX_NUMBER);
    uint64_t since = profile_number(reader, PROFILE_MAX_NUMBER);
    process->open_at_end += open;
    if (open > 0)
        process->open_since_ns = smaller(process->open_since_ns, since);
    sparse_load(process->buckets, COARSE_BUCKETS, reader);
    process->count = 0;
    for (size_t i = 0; i < COARSE_BUCKETS; i++)
        process->count += process->buckets[i];
}

static int load_gaps(struct process *process, const struct saved_paths *paths,
                     struct profile_reader *reader)
{
    while (profile_take_row(reader, "gap")) {
        uint64_t begin = profile_number(reader, PROFILE_MAX_NUMBER);
        uint64_t end = profile_number(reader, PROFILE_MAX_NUMBER);
        uint64_t since = profile_number(reader, PROFILE_MAX_NUMBER);
        struct gap gap = {begin, end, since, profile_number(reader, PROFILE_MAX_NUMBER)};
        if (profile_reader_result(reader) == 0 &&
            (begin > since || since > end || begin < process->first_ns))
            return profile_wrong(reader, "a gap between answers that is none");
        keep_gap(process, &gap);
    }
    while (profile_take_row(reader, "meanwhile")) {
        const struct path *path = saved_path_load(paths, reader);
        int stage = (int)profile_number(reader, path ? path->stage_count : 0) - 1;
        uint64_t ns = profile_number(reader, PROFILE_MAX_NUMBER);
        if (path)
            add_stage(process, path, stage, ns);
    }
    return profile_reader_result(reader);
}

static int load(void *state, const struct saved_paths *paths, struct profile_reader *reader)
{
    struct process spare = {.first_ns = UINT64_MAX, .open_since_ns = UINT64_MAX}, *process;
    int result = 0;
    while (result == 0 && profile_take_row(reader, "process")) {
        result = find_process(state, (uint32_t)profile_number(reader, UINT32_MAX), &process);
        if (result < 0)
            return result;
        process = process ? process : &spare;
        load_figures(process, reader);
        result = load_gaps(process, paths, reader);
    }
    return result < 0 ? result : profile_reader_result(reader);
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
                                       .save = save,
                                       .load = load,
                                       .free = destroy};
