/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "fold.h"
#include "op_arguments.h"
#include "points.h"
#include "tail_report.h"

/*
 * What makes slow ops slow, and what they have in common. Which ops are the slow ones is known only
 * at the end; so everything is counted by latency, and the topmost buckets are added up then.
 */

/* Threads of one op that are looked at. */
#define MAX_THREADS 16
/* Ops of further types are not looked at. */
#define MAX_TYPES 32

struct tails_fold {
    struct op_arguments *arguments;
    struct tail_values *values;
    uint32_t type_count;
    struct tail_sums *sums[MAX_TYPES]; /* owned: one a type, in order of appearance */
};

static void destroy(void *state)
{
    struct tails_fold *fold = state;
    for (uint32_t i = 0; i < fold->type_count; i++)
        tail_sums_free(fold->sums[i]);
    op_arguments_free(fold->arguments);
    tail_values_free(fold->values);
    free(fold);
}

static int create(const struct fold_options *options, void **state)
{
    struct tails_fold *fold = calloc(1, sizeof(*fold));
    if (!fold)
        return err_no_memory();
    fold->arguments = op_arguments_new(options->trails);
    fold->values = tail_values_new();
    if (!fold->arguments || !fold->values) {
        destroy(fold);
        return -ENOMEM;
    }
    *state = fold;
    return 0;
}

static int add_event(void *state, const struct optrail_event *event)
{
    struct tails_fold *fold = state;
    op_arguments_event(fold->arguments, event);
    return 0;
}

static int add_threads(struct tails_fold *fold, uint32_t type, const struct trail *trail,
                       uint64_t latency_ns)
{
    uint32_t seen[MAX_THREADS];
    size_t count = 0;
    for (size_t i = 0; i < trail->mark_count && count < MAX_THREADS; i++) {
        const struct trail_mark *mark = &trail->marks[i];
        size_t known = 0;
        while (known < count && seen[known] != mark->tid)
            known++;
        if (known < count || mark->time_ns > trail->finish_ns)
            continue;
        seen[count++] = mark->tid;
        int result = tail_values_add(fold->values, type, trail->pid, TAIL_THREAD, mark->tid,
                                     mark->point, latency_ns);
        if (result < 0)
            return result;
    }
    return 0;
}

/* The number of the type, which is made if it is new: MAX_TYPES when there are too many. Negative
 * errno with the message: no memory. */
static int number_of(struct tails_fold *fold, const char *type, const struct path *path)
{
    uint32_t i = 0;
    while (i < fold->type_count &&
           (fold->sums[i]->path != path || strcmp(fold->sums[i]->type, type) != 0))
        i++;
    if (i < fold->type_count || i == MAX_TYPES)
        return (int)i;
    if (!(fold->sums[i] = tail_sums_new(type, path)))
        return -ENOMEM;
    fold->type_count++;
    return (int)i;
}

/* The peer whose answer came last, where several were asked. */
static int add_peer(struct tails_fold *fold, uint32_t type, const struct trail *trail,
                    const struct sweep_plan *plan, uint64_t latency_ns)
{
    uint16_t last = 0, joins = 0;
    if (!plan || !plan->counting)
        return 0;
    for (size_t i = 0; i < trail->mark_count; i++) {
        const struct trail_mark *mark = &trail->marks[i];
        if (mark->point != plan->join || mark->time_ns > trail->finish_ns)
            continue;
        last = mark->branch;
        joins++;
    }
    return joins > 1
               ? tail_values_add(fold->values, type, trail->pid, TAIL_PEER, last, 0, latency_ns)
               : 0;
}

static int add_values(struct tails_fold *fold, uint32_t type, const struct trail *trail,
                      const struct sweep_plan *plan)
{
    uint64_t latency = trail->finish_ns - trail->start_ns, value;
    uint64_t bytes = trail->bytes_in + trail->bytes_out;
    int result = 0;
    for (int kind = 0; result == 0 && kind < TAIL_ARGUMENTS; kind++)
        if (op_arguments_of(fold->arguments, trail, (enum tail_kind)kind, &value))
            result = tail_values_add(fold->values, type, trail->pid, (enum tail_kind)kind, value, 0,
                                     latency);
    if (result == 0 && trail->client > 0)
        result = tail_values_add(fold->values, type, 0, TAIL_CLIENT, trail->client, 0, latency);
    if (result == 0 && bytes > 0)
        result = tail_values_add(fold->values, type, 0, TAIL_SIZE, 1ull << highest_bit(bytes), 0,
                                 latency);
    if (result == 0)
        result = add_threads(fold, type, trail, latency);
    return result == 0 ? add_peer(fold, type, trail, plan, latency) : result;
}

static int add_trail(void *state, const struct trail *trail, const struct op_division *division)
{
    struct tails_fold *fold = state;
    if (!division)
        return 0;
    int type = number_of(fold, division->type, division->path);
    if (type < 0 || type == MAX_TYPES)
        return type < 0 ? type : 0;
    int result = tail_sums_add(fold->sums[type], trail, &division->parts);
    return result == 0 ? add_values(fold, (uint32_t)type, trail, division->plan) : result;
}

static int by_time(const void *a, const void *b)
{
    const struct report_tail *left = a, *right = b;
    double l = left->mean_ns * (double)left->ops, r = right->mean_ns * (double)right->ops;
    return l != r ? (l < r) - (l > r) : strcmp(left->type, right->type);
}

static int by_type(const void *a, const void *b)
{
    const struct report_population *left = a, *right = b;
    return strcmp(left->type, right->type);
}

static int fill(void *state, struct report *report)
{
    struct tails_fold *fold = state;
    int result = 0;
    for (uint32_t i = 0; result == 0 && i < fold->type_count; i++) {
        result = tail_report(fold->sums[i], i, fold->values, report);
        if (result == 0)
            result = population_report(fold->sums[i], report);
    }
    if (report->tail_count > 0)
        qsort(report->tails, report->tail_count, sizeof(*report->tails), by_time);
    if (report->population_count > 0)
        qsort(report->populations, report->population_count, sizeof(*report->populations), by_type);
    return result;
}

/* Of an interval nothing is said: the sums are those of the whole run. */
static int interval(void *state, struct report *report)
{
    (void)state;
    (void)report;
    return 0;
}

static void save_row(const struct tail_row *row, struct profile_writer *writer)
{
    uint64_t buckets[COARSE_BUCKETS];
    for (size_t i = 0; i < COARSE_BUCKETS; i++)
        buckets[i] = row->buckets[i];
    profile_put_row(writer, "value");
    profile_put_word(writer, tail_kind_names[row->kind]);
    profile_put_word(writer, point_rows[row->point].name);
    profile_put_number(writer, row->pid);
    profile_put_number(writer, row->value >> 32);
    profile_put_number(writer, row->value & UINT32_MAX);
    sparse_save(buckets, COARSE_BUCKETS, writer);
}

static void save(void *state, const struct saved_paths *paths, struct profile_writer *writer)
{
    const struct tails_fold *fold = state;
    size_t count;
    uint64_t not_kept;
    struct tail_row *const *rows = tail_values_rows(fold->values, &count, &not_kept);
    for (uint32_t type = 0; type < fold->type_count; type++) {
        profile_put_row(writer, "type");
        profile_put_word(writer, fold->sums[type]->type);
        profile_put_number(writer, saved_path_number(paths, fold->sums[type]->path));
        tail_sums_save(fold->sums[type], writer);
        for (size_t i = 0; i < count; i++)
            if (rows[i]->type == type)
                save_row(rows[i], writer);
    }
    profile_put_row(writer, "values_not_kept");
    profile_put_number(writer, not_kept);
}

static int kind_named(const char *name)
{
    int kind = 0;
    while (kind < TAIL_KIND_COUNT && strcmp(tail_kind_names[kind], name) != 0)
        kind++;
    return kind;
}

static int load_row(struct tails_fold *fold, uint32_t type, struct profile_reader *reader)
{
    uint64_t buckets[COARSE_BUCKETS] = {0};
    struct tail_row row = {.type = type};
    int kind = kind_named(profile_word(reader)), point = point_by_name(profile_word(reader));
    row.pid = (uint32_t)profile_number(reader, UINT32_MAX);
    row.value = profile_number(reader, UINT32_MAX) << 32;
    row.value |= profile_number(reader, UINT32_MAX);
    sparse_load(buckets, COARSE_BUCKETS, reader);
    if (profile_reader_result(reader) < 0)
        return profile_reader_result(reader);
    if (kind == TAIL_KIND_COUNT || point < 0)
        return profile_wrong(reader, "a kind of value or a point that this optrail does not know");
    row.kind = (uint16_t)kind;
    row.point = (uint16_t)point;
    for (size_t i = 0; i < COARSE_BUCKETS; i++) {
        row.buckets[i] = (uint32_t)buckets[i];
        row.count += row.buckets[i];
    }
    return tail_values_merge(fold->values, &row);
}

static int load(void *state, const struct saved_paths *paths, struct profile_reader *reader)
{
    struct tails_fold *fold = state;
    int result = 0;
    while (result == 0 && profile_take_row(reader, "type")) {
        const char *word = profile_word(reader);
        const struct path *path = saved_path_load(paths, reader);
        if (profile_reader_result(reader) < 0)
            break;
        const char *name = op_type_named(path, word);
        int type = name ? number_of(fold, name, path) : MAX_TYPES;
        if (type == MAX_TYPES)
            return profile_wrong(reader, "a type of ops that its path does not have");
        if (type < 0)
            return type;
        result = tail_sums_load(fold->sums[type], reader);
        while (result == 0 && profile_take_row(reader, "value"))
            result = load_row(fold, (uint32_t)type, reader);
    }
    if (result == 0 && profile_take_row(reader, "values_not_kept"))
        tail_values_lost(fold->values, profile_number(reader, PROFILE_MAX_NUMBER));
    return result < 0 ? result : profile_reader_result(reader);
}

const struct fold_class fold_tails = {.name = "tails",
                                      .create = create,
                                      .event = add_event,
                                      .trail = add_trail,
                                      .fill = fill,
                                      .interval = interval,
                                      .save = save,
                                      .load = load,
                                      .free = destroy};
