/* SPDX-License-Identifier: MIT */
#include "fold_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "sweep.h"

/* How long an op may be open, as in the trail builder. */
#define TIMEOUT_NS (60ull * 1000 * 1000 * 1000)

_Static_assert((int)POINT_COUNT < (int)FOLD_NO_POINT, "a byte a point");
_Static_assert(FOLD_STAGES == PATH_MAX_STAGES, "a bit a stage");
_Static_assert((int)FOLD_OPEN == (int)TRAIL_OPEN && TRAIL_END_COUNT <= 16, "the same ends");

static int make_plan(const struct path *path, struct fold_plan *plan)
{
    static struct sweep_plan sweep;
    if (path->branch_count > FOLD_BRANCHES)
        return err_set(ENOTSUP, "%s: %zu branches are more than the %d that the kernel's fold has",
                       path->file, path->branch_count, FOLD_BRANCHES);
    sweep_plan_init(&sweep, path);
    memcpy(plan->opens, sweep.opens, sizeof(plan->opens));
    memcpy(plan->closes, sweep.closes, sizeof(plan->closes));
    for (size_t i = 0; i < path->stage_count; i++)
        plan->ends[path->stages[i].to] |= 1ull << i;
    plan->main_line = sweep.main_line;
    memcpy(plan->branch, sweep.branch, sizeof(plan->branch));
    plan->counting = sweep.counting;
    plan->beside = path->beside;
    plan->fork = sweep.fork;
    plan->join = sweep.join;
    plan->branch_count = (uint32_t)path->branch_count;
    plan->stage_count = (uint32_t)path->stage_count;
    return 0;
}

static int conditions(const struct path_type *type)
{
    return type->passes_count + !type->any_start_type + (type->bytes_in >= 0) +
           (type->bytes_out >= 0);
}

static void fill_type(const struct path_set *paths, size_t path, const struct path_type *from,
                      struct fold_type *type, struct fold_type_name *name)
{
    memcpy(type->passes, from->passes, sizeof(type->passes));
    type->start_type = from->start_type;
    type->any_start_type = from->any_start_type;
    type->bytes_in = from->bytes_in;
    type->bytes_out = from->bytes_out;
    type->plan = (uint32_t)path;
    type->stage_count = (uint32_t)paths->paths[path]->stage_count;
    name->name = from->name;
    name->path = paths->paths[path];
}

/* The types of all paths: the most conditions first, of equal ones in the order of the files. */
static void fill_types(const struct path_set *paths, struct fold_table_set *set)
{
    size_t row = 0;
    for (int wanted = POINT_COUNT + 3; wanted >= 0; wanted--)
        for (size_t i = 0; i < paths->count; i++)
            for (size_t j = 0; j < paths->paths[i]->type_count; j++)
                if (conditions(&paths->paths[i]->types[j]) == wanted) {
                    fill_type(paths, i, &paths->paths[i]->types[j], &set->tables.types[row],
                              &set->names[row]);
                    row++;
                }
    set->tables.types[row] = (struct fold_type){
        .any_start_type = 1, .bytes_in = -1, .bytes_out = -1, .plan = FOLD_NO_SLOT};
    set->names[row] = (struct fold_type_name){.name = "other"};
}

/* Each name of a path gets cells of its own. */
static void place_cells(struct fold_table_set *set)
{
    uint32_t next = FOLD_COUNTERS;
    for (uint32_t i = 0; i < set->tables.settings.type_count; i++) {
        struct fold_type_name *name = &set->names[i];
        for (uint32_t j = 0; j < i && !name->again; j++) {
            if (set->names[j].path != name->path || strcmp(set->names[j].name, name->name) != 0)
                continue;
            name->again = true;
            set->tables.types[i].base = set->tables.types[j].base;
        }
        if (name->again)
            continue;
        set->tables.types[i].base = next;
        next += fold_type_cells(set->tables.types[i].stage_count);
    }
    for (uint32_t i = 0; i < set->tables.plan_count; i++) {
        if (!set->tables.plans[i].counting || set->tables.settings.peer_cells)
            continue;
        set->tables.settings.peer_cells = next;
        next += FOLD_PEERS * FOLD_PEER_CELLS;
    }
    set->tables.cell_count = next;
}

int fold_tables_new(const struct path_set *paths, struct fold_table_set **result)
{
    size_t types = 1; /* "other" */
    for (size_t i = 0; i < paths->count; i++)
        types += paths->paths[i]->type_count;
    struct fold_table_set *set = calloc(1, sizeof(*set));
    if (!set)
        return err_no_memory();
    set->tables.settings = (struct fold_settings){.slot_count = FOLD_SLOTS,
                                                  .type_count = (uint32_t)types,
                                                  .timeout_ns = TIMEOUT_NS,
                                                  .ripe_ns = FOLD_RIPE_NS};
    set->tables.plan_count = paths->count ? (uint32_t)paths->count : 1;
    set->tables.plans = calloc(set->tables.plan_count, sizeof(*set->tables.plans));
    set->tables.types = calloc(types, sizeof(*set->tables.types));
    set->names = calloc(types, sizeof(*set->names));
    int rc = set->tables.plans && set->tables.types && set->names ? 0 : err_no_memory();
    for (size_t i = 0; rc == 0 && i < paths->count; i++)
        rc = make_plan(paths->paths[i], &set->tables.plans[i]);
    if (rc < 0) {
        fold_tables_free(set);
        return rc;
    }
    fill_types(paths, set);
    place_cells(set);
    *result = set;
    return 0;
}

void fold_tables_free(struct fold_table_set *set)
{
    if (!set)
        return;
    free(set->tables.plans);
    free(set->tables.types);
    free(set->names);
    free(set);
}

struct trail_counts fold_sums_counts(const struct fold_sums *sums, uint64_t events)
{
    const uint64_t *cells = sums->cells;
    struct trail_counts counts = {
        .notes = cells[FOLD_NOTES],
        .unmatched = cells[FOLD_UNMATCHED],
        .of_which_before_start = cells[FOLD_BEFORE_START],
        .of_which_after_finish = cells[FOLD_AFTER_FINISH],
        .begun_before = cells[FOLD_BEGUN_BEFORE],
        .stamps_refused = cells[FOLD_STAMPS_REFUSED],
    };
    counts.joined = events - counts.notes - counts.unmatched;
    for (int end = 0; end < TRAIL_END_COUNT; end++)
        counts.ended[end] = cells[FOLD_ENDED + end];
    return counts;
}

void fold_exemplar_trail(const struct fold_op *op, struct trail *trail, struct trail_mark *marks)
{
    *trail = (struct trail){.key = op->key,
                            .client = op->client,
                            .tid = op->tid,
                            .type = op->type,
                            .bytes_in = op->bytes_in,
                            .bytes_out = op->bytes_out,
                            .start_ns = op->start_ns,
                            .finish_ns = op->finish_ns,
                            .pid = op->pid,
                            .end = TRAIL_FINISHED,
                            .truncated = op->count > FOLD_MARKS,
                            .marks = marks};
    memcpy(trail->seen, op->seen, sizeof(trail->seen));
    for (uint32_t i = 0; i < op->count && i < FOLD_MARKS; i++) {
        const struct fold_mark *mark = &op->marks[i];
        if (mark->point >= POINT_COUNT)
            continue;
        marks[trail->mark_count++] = (struct trail_mark){.time_ns = mark->time_ns,
                                                         .tid = mark->tid,
                                                         .point = mark->point,
                                                         .branch = mark->branch};
    }
}
