/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "fold.h"
#include "profile_rows.h"

/*
 * The slowest ops, with what each spent its time on: of everything, and of the time since the last
 * look. Most ops are faster than the fastest that is kept, and cost one comparison.
 */
#define KEPT 8
/* Pieces of an op's time that are kept. */
#define MAX_SPANS 48

struct exemplar {
    const char *type;        /* weak: the path's */
    const struct path *path; /* weak; NULL when no path matched */
    uint64_t client, tid;
    uint64_t start_ns, latency_ns;
    uint64_t passed; /* stages, as in sweep_parts */
    uint64_t unattributed_ns;
    uint64_t stage_ns[PATH_MAX_STAGES];
    size_t span_count;
    struct exemplar_span {
        int stage; /* -1: none */
        uint64_t begin_ns, end_ns;
    } spans[MAX_SPANS];
};

/* The slowest ops of a span, the slowest first. */
struct slowest {
    size_t count;
    struct exemplar rows[KEPT];
};

struct exemplars_fold {
    struct slowest whole, interval;
};

static int create(const struct fold_options *options, void **state)
{
    (void)options;
    *state = calloc(1, sizeof(struct exemplars_fold));
    return *state ? 0 : err_no_memory();
}

/* Whether `a` comes before `b`: by latency, and of equal ones in an order that does not depend on
 * which one was seen first. */
static bool slower(const struct exemplar *a, const struct exemplar *b)
{
    if (a->latency_ns != b->latency_ns)
        return a->latency_ns > b->latency_ns;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns;
    return a->client != b->client ? a->client < b->client : a->tid < b->tid;
}

static bool belongs(const struct slowest *slowest, uint64_t latency_ns)
{
    return slowest->count < KEPT || latency_ns >= slowest->rows[KEPT - 1].latency_ns;
}

static void insert(struct slowest *slowest, const struct exemplar *exemplar)
{
    if (slowest->count == KEPT && !slower(exemplar, &slowest->rows[KEPT - 1]))
        return;
    size_t at = slowest->count < KEPT ? slowest->count++ : KEPT - 1;
    for (; at > 0 && slower(exemplar, &slowest->rows[at - 1]); at--)
        slowest->rows[at] = slowest->rows[at - 1];
    slowest->rows[at] = *exemplar;
}

static void add_span(void *context, int stage, uint64_t begin_ns, uint64_t end_ns)
{
    struct exemplar *exemplar = context;
    struct exemplar_span *last =
        exemplar->span_count > 0 ? &exemplar->spans[exemplar->span_count - 1] : NULL;
    if (end_ns <= begin_ns)
        return;
    if (last && last->stage == stage && last->end_ns == begin_ns)
        last->end_ns = end_ns;
    else if (exemplar->span_count < MAX_SPANS)
        exemplar->spans[exemplar->span_count++] = (struct exemplar_span){stage, begin_ns, end_ns};
}

static void divide(const struct trail *trail, const struct op_division *division,
                   struct exemplar *exemplar)
{
    const struct sweep_parts *parts = &division->parts;
    exemplar->type = division->type;
    exemplar->path = division->path;
    exemplar->passed = parts->passed;
    exemplar->unattributed_ns = parts->unattributed;
    for (uint64_t rest = parts->passed; rest; rest &= rest - 1)
        exemplar->stage_ns[__builtin_ctzll(rest)] = parts->on_path[__builtin_ctzll(rest)];
    if (division->plan)
        sweep_spans(division->plan, trail, add_span, exemplar);
}

static int add_trail(void *state, const struct trail *trail, const struct op_division *division)
{
    struct exemplars_fold *fold = state;
    uint64_t latency = trail->finish_ns - trail->start_ns;
    if (!division || (!belongs(&fold->whole, latency) && !belongs(&fold->interval, latency)))
        return 0;
    struct exemplar exemplar = {.client = trail->client,
                                .tid = trail->tid,
                                .start_ns = trail->start_ns,
                                .latency_ns = latency};
    divide(trail, division, &exemplar);
    insert(&fold->whole, &exemplar);
    insert(&fold->interval, &exemplar);
    return 0;
}

static int fill_one(struct report *report, const struct exemplar *exemplar)
{
    struct report_exemplar *row;
    int rc = report_add_exemplar(report, exemplar->type, &row);
    if (rc < 0)
        return rc;
    row->client = exemplar->client;
    row->tid = exemplar->tid;
    row->start_ns = exemplar->start_ns;
    row->latency_ns = exemplar->latency_ns;
    row->unattributed_ns = exemplar->unattributed_ns;
    for (uint64_t rest = exemplar->passed; rc == 0 && rest; rest &= rest - 1) {
        int i = __builtin_ctzll(rest);
        if (exemplar->stage_ns[i] > 0)
            rc = report_add_exemplar_stage(row, exemplar->path->stages[i].name,
                                           exemplar->stage_ns[i]);
    }
    for (size_t i = 0; rc == 0 && i < exemplar->span_count; i++) {
        const struct exemplar_span *span = &exemplar->spans[i];
        const char *stage =
            span->stage < 0 ? "unattributed" : exemplar->path->stages[span->stage].name;
        rc = report_add_exemplar_span(
            row, &(struct report_exemplar_span){.stage = (char *)stage,
                                                .begin_ns = span->begin_ns - exemplar->start_ns,
                                                .ns = span->end_ns - span->begin_ns});
    }
    return rc;
}

static int fill_slowest(const struct slowest *slowest, struct report *report)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < slowest->count; i++)
        rc = fill_one(report, &slowest->rows[i]);
    return rc;
}

static int fill(void *state, struct report *report)
{
    const struct exemplars_fold *fold = state;
    return fill_slowest(&fold->whole, report);
}

static int interval(void *state, struct report *report)
{
    struct exemplars_fold *fold = state;
    int rc = fill_slowest(&fold->interval, report);
    fold->interval.count = 0;
    return rc;
}

static void put_64(struct profile_writer *writer, uint64_t value)
{
    profile_put_number(writer, value >> 32);
    profile_put_number(writer, value & UINT32_MAX);
}

static uint64_t take_64(struct profile_reader *reader)
{
    uint64_t high = profile_number(reader, UINT32_MAX);
    return high << 32 | profile_number(reader, UINT32_MAX);
}

/* Stages count from 1 here, 0 is none; times from the op's start. */
static void save_spans(const struct exemplar *row, struct profile_writer *writer)
{
    profile_put_row(writer, "spans");
    profile_put_number(writer, row->span_count);
    for (size_t i = 0; i < row->span_count; i++) {
        profile_put_number(writer, (uint64_t)row->spans[i].stage + 1);
        profile_put_number(writer, row->spans[i].begin_ns - row->start_ns);
        profile_put_number(writer, row->spans[i].end_ns - row->spans[i].begin_ns);
    }
}

static void load_spans(struct exemplar *row, struct profile_reader *reader)
{
    row->span_count = profile_number(reader, MAX_SPANS);
    for (size_t i = 0; i < row->span_count; i++) {
        struct exemplar_span *span = &row->spans[i];
        span->stage = (int)profile_number(reader, row->path ? row->path->stage_count : 0) - 1;
        span->begin_ns = row->start_ns + profile_number(reader, PROFILE_MAX_NUMBER);
        span->end_ns = span->begin_ns + profile_number(reader, PROFILE_MAX_NUMBER);
    }
}

static void save(void *state, const struct saved_paths *paths, struct profile_writer *writer)
{
    const struct exemplars_fold *fold = state;
    for (size_t i = 0; i < fold->whole.count; i++) {
        const struct exemplar *row = &fold->whole.rows[i];
        profile_put_row(writer, "slowest");
        profile_put_word(writer, row->type);
        profile_put_number(writer, saved_path_number(paths, row->path));
        put_64(writer, row->client);
        put_64(writer, row->tid);
        profile_put_number(writer, row->start_ns);
        profile_put_number(writer, row->latency_ns);
        profile_put_number(writer, row->unattributed_ns);
        profile_put_number(writer, (uint64_t)__builtin_popcountll(row->passed));
        for (uint64_t rest = row->passed; rest; rest &= rest - 1) {
            int stage = __builtin_ctzll(rest);
            profile_put_number(writer, (uint64_t)stage);
            profile_put_number(writer, row->stage_ns[stage]);
        }
        save_spans(row, writer);
    }
}

static int load(void *state, const struct saved_paths *paths, struct profile_reader *reader)
{
    struct exemplars_fold *fold = state;
    while (profile_take_row(reader, "slowest")) {
        const char *type = profile_word(reader);
        struct exemplar row = {.path = saved_path_load(paths, reader)};
        row.type = op_type_named(row.path, type);
        row.client = take_64(reader);
        row.tid = take_64(reader);
        row.start_ns = profile_number(reader, PROFILE_MAX_NUMBER);
        row.latency_ns = profile_number(reader, PROFILE_MAX_NUMBER);
        row.unattributed_ns = profile_number(reader, PROFILE_MAX_NUMBER);
        size_t stages = row.path ? row.path->stage_count : 0;
        uint64_t passed = profile_number(reader, stages);
        for (uint64_t i = 0; i < passed; i++) {
            uint64_t stage = profile_number(reader, stages - 1);
            row.passed |= 1ull << stage;
            row.stage_ns[stage] = profile_number(reader, PROFILE_MAX_NUMBER);
        }
        if (profile_take_row(reader, "spans"))
            load_spans(&row, reader);
        if (profile_reader_result(reader) == 0 && !row.type)
            return profile_wrong(reader, "a type of ops that its path does not have");
        if (profile_reader_result(reader) == 0)
            insert(&fold->whole, &row);
    }
    return profile_reader_result(reader);
}

const struct fold_class fold_exemplars = {.name = "exemplars",
                                          .create = create,
                                          .trail = add_trail,
                                          .exemplar = add_trail,
                                          .fill = fill,
                                          .interval = interval,
                                          .save = save,
                                          .load = load,
                                          .free = free};
