/* SPDX-License-Identifier: MIT */
#include "windows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "histogram.h"
#include "profile_rows.h"

#define FIRST_SHIFT 20 /* 1 ms */
#define MOST        PROFILE_MAX_NUMBER
#define MOST_TYPES  256

static uint32_t bucket_of(uint64_t ns)
{
    const uint32_t sub = 1u << WINDOW_BUCKET_BITS;
    if (ns < 2 * sub)
        return (uint32_t)ns;
    if (ns >> 44)
        return WINDOW_BUCKETS - 1;
    uint32_t shift = highest_bit(ns) - WINDOW_BUCKET_BITS;
    return shift * sub + (uint32_t)(ns >> shift);
}

uint64_t window_bucket_low(uint32_t bucket)
{
    const uint32_t sub = 1u << WINDOW_BUCKET_BITS;
    if (bucket < 2 * sub)
        return bucket;
    uint32_t shift = bucket / sub - 1;
    return (uint64_t)(bucket - shift * sub) << shift;
}

static size_t cells_a_window(const struct window_row *row)
{
    return row->stage_count + 2;
}

static struct window_cell *cell_of(const struct window_row *row, size_t window, size_t stage)
{
    return &row->cells[window * cells_a_window(row) + stage];
}

const struct window_cell *windows_cell(const struct window_row *row, size_t window, size_t stage)
{
    return cell_of(row, window, stage);
}

size_t windows_count(const struct windows *windows)
{
    return time_span_windows(&windows->span);
}

static int create(const struct fold_options *options, void **state)
{
    *state = NULL;
    if (options->windows && !(*state = calloc(1, sizeof(struct windows))))
        return err_no_memory();
    return 0;
}

static void clear(struct windows *windows)
{
    for (size_t i = 0; i < windows->row_count; i++) {
        struct window_row *row = &windows->rows[i];
        for (size_t j = 0; j < WINDOWS * cells_a_window(row); j++)
            free(row->cells[j].buckets);
        free(row->cells);
        free(row->type);
    }
    free(windows->rows);
}

static void destroy(void *state)
{
    if (state)
        clear(state);
    free(state);
}

/* Takes `from` over. */
static void join_cells(struct window_cell *to, struct window_cell *from)
{
    to->count += from->count;
    to->sum += from->sum;
    if (!to->buckets) {
        to->buckets = from->buckets;
    } else if (from->buckets) {
        for (size_t i = 0; i < WINDOW_BUCKETS; i++)
            to->buckets[i] += from->buckets[i];
        free(from->buckets);
    }
    *from = (struct window_cell){0};
}

static void join_windows(void *state, size_t to, size_t from)
{
    struct windows *windows = state;
    for (size_t i = 0; i < windows->row_count; i++)
        for (size_t s = 0; s < cells_a_window(&windows->rows[i]); s++)
            join_cells(cell_of(&windows->rows[i], to, s), cell_of(&windows->rows[i], from, s));
}

static void cover(struct windows *windows, uint64_t begin_ns, uint64_t end_ns, uint32_t shift)
{
    time_span_cover(&windows->span, WINDOWS, begin_ns, end_ns, shift, join_windows, windows);
}

static struct window_row *row_of(struct windows *windows, const char *type, const struct path *path)
{
    for (size_t i = 0; i < windows->row_count; i++)
        if (windows->rows[i].path == path && strcmp(windows->rows[i].type, type) == 0)
            return &windows->rows[i];
    struct window_row *rows = realloc(windows->rows, (windows->row_count + 1) * sizeof(*rows));
    if (!rows) {
        err_no_memory();
        return NULL;
    }
    windows->rows = rows;
    struct window_row *row = &rows[windows->row_count];
    *row = (struct window_row){.path = path, .stage_count = path ? path->stage_count : 0};
    row->type = strdup(type);
    row->cells = calloc(WINDOWS * cells_a_window(row), sizeof(*row->cells));
    if (!row->type || !row->cells) {
        free(row->type);
        free(row->cells);
        err_no_memory();
        return NULL;
    }
    windows->row_count++;
    return row;
}

static uint32_t *buckets_of(struct window_cell *cell)
{
    if (!cell->buckets && !(cell->buckets = calloc(WINDOW_BUCKETS, sizeof(*cell->buckets))))
        err_no_memory();
    return cell->buckets;
}

static int add_value(struct window_cell *cell, uint64_t ns)
{
    uint32_t *buckets = buckets_of(cell);
    if (!buckets)
        return -ENOMEM;
    buckets[bucket_of(ns)]++;
    cell->count++;
    cell->sum += ns;
    return 0;
}

static int add_trail(void *state, const struct trail *trail, const struct op_division *division)
{
    struct windows *windows = state;
    if (!windows || !division)
        return 0;
    const struct sweep_parts *parts = &division->parts;
    struct window_row *row = row_of(windows, division->type, division->path);
    if (!row)
        return -ENOMEM;
    cover(windows, trail->finish_ns, trail->finish_ns, FIRST_SHIFT);
    size_t window = time_span_window(&windows->span, trail->finish_ns);
    int rc =
        add_value(cell_of(row, window, row->stage_count + 1), trail->finish_ns - trail->start_ns);
    struct window_cell *unattributed = cell_of(row, window, row->stage_count);
    unattributed->count++;
    unattributed->sum += parts->unattributed;
    for (uint64_t rest = parts->passed; rc == 0 && rest; rest &= rest - 1) {
        int i = __builtin_ctzll(rest);
        if (parts->on_path[i] || !parts->beside[i])
            rc = add_value(cell_of(row, window, (size_t)i), parts->on_path[i]);
    }
    return rc;
}

/* Rows of the heat map: eight buckets each, half an octave. */
#define HEAT_STEP 8
#define HEAT_ROWS (WINDOW_BUCKETS / HEAT_STEP)

static void add_heat(const struct window_cell *cell, uint64_t *rows)
{
    for (size_t i = 0; cell->buckets && i < WINDOW_BUCKETS; i++)
        rows[i / HEAT_STEP] += cell->buckets[i];
}

static int fill(void *state, struct report *report)
{
    const struct windows *windows = state;
    size_t count = windows ? windows_count(windows) : 0;
    if (count == 0)
        return 0;
    int rc = report_make_heat(report, count, HEAT_ROWS);
    if (rc < 0)
        return rc;
    /* the first window there is may begin before the first op */
    uint64_t first = windows->span.first_ns >> windows->span.shift;
    report->heat.begin_ns = first << windows->span.shift;
    report->heat.window_ns = (uint64_t)1 << windows->span.shift;
    for (uint32_t i = 0; i < HEAT_ROWS; i++)
        report->heat.row_low_ns[i] = window_bucket_low(i * HEAT_STEP);
    for (size_t i = 0; i < windows->row_count; i++) {
        const struct window_row *row = &windows->rows[i];
        for (size_t w = 0; w < count && w + (first - windows->span.base) < WINDOWS; w++)
            add_heat(
                windows_cell(row, w + (size_t)(first - windows->span.base), row->stage_count + 1),
                &report->heat.cells[w * HEAT_ROWS]);
    }
    return 0;
}

static void save_cell(const struct window_cell *cell, size_t window, size_t stage,
                      struct profile_writer *writer)
{
    uint64_t used = 0;
    for (size_t i = 0; cell->buckets && i < WINDOW_BUCKETS; i++)
        used += cell->buckets[i] > 0;
    profile_put_row(writer, "window");
    profile_put_number(writer, window);
    profile_put_number(writer, stage);
    profile_put_number(writer, cell->count);
    profile_put_number(writer, cell->sum);
    profile_put_number(writer, used);
    for (size_t i = 0; cell->buckets && i < WINDOW_BUCKETS; i++) {
        if (cell->buckets[i] == 0)
            continue;
        profile_put_number(writer, i);
        profile_put_number(writer, cell->buckets[i]);
    }
}

static void save(void *state, const struct saved_paths *paths, struct profile_writer *writer)
{
    const struct windows *windows = state;
    if (!windows || !windows->span.any)
        return;
    profile_put_row(writer, "windows");
    profile_put_number(writer, windows->span.shift);
    profile_put_number(writer, windows->span.first_ns);
    profile_put_number(writer, windows->span.last_ns);
    for (size_t i = 0; i < windows->row_count; i++) {
        const struct window_row *row = &windows->rows[i];
        profile_put_row(writer, "windows-of");
        profile_put_word(writer, row->type);
        profile_put_number(writer, saved_path_number(paths, row->path));
        for (size_t w = 0; w < WINDOWS; w++)
            for (size_t s = 0; s < cells_a_window(row); s++)
                if (cell_of(row, w, s)->count > 0)
                    save_cell(cell_of(row, w, s), w, s, writer);
    }
}

/* What the profile says of its windows, for each of them: where it goes here. */
struct loaded {
    uint32_t shift;
    uint64_t base;
    size_t count;
};

static int load_window(struct windows *windows, struct window_row *row, const struct loaded *loaded,
                       struct profile_reader *reader)
{
    uint64_t window = profile_number(reader, loaded->count - 1);
    size_t stage = profile_number(reader, row->stage_count + 1);
    uint64_t count = profile_number(reader, (uint64_t)1 << 48), sum = profile_number(reader, MOST);
    uint64_t used = profile_number(reader, WINDOW_BUCKETS);
    if (profile_reader_result(reader) < 0)
        return profile_reader_result(reader);
    size_t at = (size_t)(((loaded->base + window) >> (windows->span.shift - loaded->shift)) -
                         windows->span.base);
    struct window_cell *cell = cell_of(row, at, stage);
    uint32_t *buckets = used > 0 ? buckets_of(cell) : NULL;
    if (used > 0 && !buckets)
        return -ENOMEM;
    for (uint64_t i = 0; i < used; i++) {
        uint64_t bucket = profile_number(reader, WINDOW_BUCKETS - 1);
        buckets[bucket] += (uint32_t)profile_number(reader, UINT32_MAX);
    }
    cell->count += count;
    cell->sum += sum;
    return profile_reader_result(reader);
}

static int load_rows(struct windows *windows, const struct saved_paths *paths,
                     const struct loaded *loaded, struct profile_reader *reader)
{
    int rc = 0;
    while (rc == 0 && profile_take_row(reader, "windows-of")) {
        const char *type = profile_word(reader);
        const struct path *path = saved_path_load(paths, reader);
        if ((rc = profile_reader_result(reader)) < 0)
            break;
        if (windows->row_count == MOST_TYPES)
            return profile_wrong(reader, "more than %d types of ops", MOST_TYPES);
        struct window_row *row = row_of(windows, type, path);
        rc = row ? 0 : -ENOMEM;
        while (rc == 0 && profile_take_row(reader, "window"))
            rc = load_window(windows, row, loaded, reader);
    }
    return rc < 0 ? rc : profile_reader_result(reader);
}

static int load(void *state, const struct saved_paths *paths, struct profile_reader *reader)
{
    struct windows *windows = state;
    struct windows unwanted = {0};
    if (!profile_take_row(reader, "windows"))
        return profile_reader_result(reader);
    uint32_t shift = (uint32_t)profile_number(reader, 62);
    uint64_t first_ns = profile_number(reader, MOST), last_ns = profile_number(reader, MOST);
    if (profile_reader_result(reader) < 0)
        return profile_reader_result(reader);
    if (shift < FIRST_SHIFT || last_ns < first_ns ||
        (last_ns >> shift) - (first_ns >> shift) >= WINDOWS)
        return profile_wrong(reader, "windows of time that contradict each other");
    if (!windows) /* nobody wants them: they are read for their mistakes */
        windows = &unwanted;
    cover(windows, first_ns, last_ns, shift);
    struct loaded loaded = {shift, first_ns >> shift,
                            (size_t)((last_ns >> shift) - (first_ns >> shift)) + 1};
    int rc = load_rows(windows, paths, &loaded, reader);
    clear(&unwanted);
    return rc;
}

const struct fold_class fold_windows = {.name = "windows",
                                        .create = create,
                                        .trail = add_trail,
                                        .fill = fill,
                                        .save = save,
                                        .load = load,
                                        .free = destroy};
