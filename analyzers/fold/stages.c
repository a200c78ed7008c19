/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "fold.h"
#include "profile_rows.h"
#include "stage_intervals.h"
#include "stage_rows.h"

/* Ops by type, and the stages of each. */

/* So many types a profile may bring: more are no daemon's. */
#define MOST_TYPES 256

struct stages_fold {
    size_t count;
    struct stage_sums **sums;          /* owned: one a (path, type), in order of appearance */
    struct stage_intervals *intervals; /* owned; made when first asked for */
};

static int create(const struct fold_options *options, void **state)
{
    (void)options;
    *state = calloc(1, sizeof(struct stages_fold));
    return *state ? 0 : err_no_memory();
}

static void destroy(void *state)
{
    struct stages_fold *fold = state;
    for (size_t i = 0; i < fold->count; i++)
        stage_sums_free(fold->sums[i]);
    free(fold->sums);
    stage_intervals_free(fold->intervals);
    free(fold);
}

static struct stage_sums *sums_of(struct stages_fold *fold, const char *type,
                                  const struct path *path)
{
    for (size_t i = 0; i < fold->count; i++)
        if (fold->sums[i]->path == path && strcmp(fold->sums[i]->type, type) == 0)
            return fold->sums[i];
    struct stage_sums **sums = realloc(fold->sums, (fold->count + 1) * sizeof(*sums));
    if (!sums) {
        err_no_memory();
        return NULL;
    }
    fold->sums = sums;
    sums[fold->count] = stage_sums_new(type, path);
    return sums[fold->count] ? sums[fold->count++] : NULL;
}

static int add_trail(void *state, const struct trail *trail, const struct op_division *division)
{
    if (!division)
        return 0;
    struct stage_sums *sums = sums_of(state, division->type, division->path);
    return sums ? stage_sums_add(sums, trail, &division->parts) : -ENOMEM;
}

/* Whether ops of this row of the kernel's table have finished. */
static bool has_ops(const struct fold_sums *sums, uint32_t row)
{
    return sums->cells[sums->set->tables.types[row].base + FOLD_NOT_MIN] > 0;
}

static int add_sums(void *state, const struct fold_sums *from, bool first)
{
    struct stages_fold *fold = state;
    for (size_t i = 0; first && i < fold->count; i++)
        stage_sums_clear(fold->sums[i]);
    for (uint32_t i = 0; i < from->set->tables.settings.type_count; i++) {
        const struct fold_type_name *name = &from->set->names[i];
        if (name->again || !has_ops(from, i))
            continue;
        struct stage_sums *sums = sums_of(fold, name->name, name->path);
        if (!sums)
            return -ENOMEM;
        int rc = stage_sums_add_cells(sums, from->cells, from->set->tables.types[i].base);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int by_total(const void *a, const void *b)
{
    const struct stage_sums *const *left = a;
    const struct stage_sums *const *right = b;
    uint64_t l = (*left)->latency.sum;
    uint64_t r = (*right)->latency.sum;
    if (l != r)
        return l < r ? 1 : -1;
    int types = strcmp((*left)->type, (*right)->type);
    return types ? types : strcmp((*left)->path_name, (*right)->path_name);
}

static int fill(void *state, struct report *report)
{
    struct stages_fold *fold = state;
    int rc = 0;
    if (fold->count > 0) /* qsort does not take NULL */
        qsort(fold->sums, fold->count, sizeof(*fold->sums), by_total);
    for (size_t i = 0; rc == 0 && i < fold->count; i++) {
        report->counts.ops += fold->sums[i]->latency.count;
        rc = stage_sums_fill(fold->sums[i], report);
    }
    return rc;
}

static int interval(void *state, struct report *report)
{
    struct stages_fold *fold = state;
    if (!fold->intervals && !(fold->intervals = stage_intervals_new()))
        return -ENOMEM;
    return stage_intervals_fill(fold->intervals, fold->sums, fold->count, report);
}

static void save(void *state, const struct saved_paths *paths, struct profile_writer *writer)
{
    const struct stages_fold *fold = state;
    for (size_t i = 0; i < fold->count; i++)
        if (fold->sums[i]->latency.count > 0)
            stage_sums_save(fold->sums[i], saved_path_number(paths, fold->sums[i]->path), writer);
}

static int load(void *state, const struct saved_paths *paths, struct profile_reader *reader)
{
    struct stages_fold *fold = state;
    int rc = 0;
    while (rc == 0 && profile_take_row(reader, "op")) {
        const char *type = profile_word(reader);
        const struct path *path = saved_path_load(paths, reader);
        if ((rc = profile_reader_result(reader)) < 0)
            break;
        if (fold->count == MOST_TYPES)
            return profile_wrong(reader, "more than %d types of ops", MOST_TYPES);
        struct stage_sums *sums = sums_of(fold, type, path);
        rc = sums ? stage_sums_load(sums, reader) : -ENOMEM;
    }
    return rc < 0 ? rc : profile_reader_result(reader);
}

const struct fold_class fold_stages = {.name = "stages",
                                       .create = create,
                                       .trail = add_trail,
                                       .fill = fill,
                                       .interval = interval,
                                       .sums = add_sums,
                                       .save = save,
                                       .load = load,
                                       .free = destroy};
