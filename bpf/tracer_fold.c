/* SPDX-License-Identifier: MIT */
/* The fold in the kernel: loaded with its tables, read, ended. */
#include <assert.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "err.h"
#include "op_fold.h"
#include "points.h"
#include "tracer_internal.h"
#include "uprobe.skel.h"

/* The helper that the fold's loops are made of: enum bpf_func_id's BPF_FUNC_loop, Linux 5.17. */
#define HELPER_LOOP 181
/* For ops on their way up: some hundreds of them between two drains. */
#define EXEMPLAR_BYTES (1u << 20)

struct tracer_fold_state {
    uint64_t *cells; /* mapped; read-only but for the slowest ones' bound */
    size_t cell_bytes;
    struct ring_buffer *exemplars;
    struct fold_client_row *clients; /* FOLD_CLIENTS */
    struct fold_peer_row *peers;     /* FOLD_PEERS */
    bool ended;
};

int tracer_can_fold(void)
{
    int has = libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, HELPER_LOOP, NULL);
    if (has < 0)
        return uprobe_refused(has, "cannot ask the kernel whether its programs may loop");
    return has ? 0
               : err_set(ENOTSUP, "this kernel's BPF programs have no loops, which folding needs: "
                                  "that is Linux 5.17 or later");
}

void tracer_fold_prepare(struct tracer *tracer)
{
    struct uprobe_bpf *skeleton = tracer->skeleton;
    const struct fold_tables *tables = tracer->options.fold;
    for (int i = 0; i < POINT_COUNT; i++) {
        struct fold_point point = {(uint16_t)point_rows[i].role, (uint16_t)point_rows[i].key};
        memcpy((void *)&skeleton->rodata->fold_points[i], &point, sizeof(point));
    }
    if (!tables)
        return;
    memcpy((void *)&skeleton->rodata->fold_settings, &tables->settings, sizeof(tables->settings));
    skeleton->rodata->fold_on = true;
    skeleton->rodata->events_on = tracer->options.fold_and_events;
    const struct {
        struct bpf_map *map;
        uint32_t rows;
    } sizes[] = {
        {skeleton->maps.fold_ops, tables->settings.slot_count},
        {skeleton->maps.fold_births, tables->settings.slot_count},
        {skeleton->maps.fold_free, tables->settings.slot_count},
        {skeleton->maps.fold_pasts, FOLD_PAST},
        {skeleton->maps.fold_plans, tables->plan_count},
        {skeleton->maps.fold_types, tables->settings.type_count},
        {skeleton->maps.fold_names, FOLD_NAME_ROWS},
        {skeleton->maps.fold_threads, FOLD_THREADS},
        {skeleton->maps.fold_clients, FOLD_CLIENTS},
        {skeleton->maps.fold_peers, FOLD_PEERS},
        {skeleton->maps.fold_answered, FOLD_ANSWERED},
        {skeleton->maps.fold_cells, tables->cell_count},
        {skeleton->maps.fold_exemplars, EXEMPLAR_BYTES},
    };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        bpf_map__set_max_entries(sizes[i].map, sizes[i].rows);
    if (!tracer->options.fold_and_events)
        bpf_map__set_max_entries(skeleton->maps.ring, (uint32_t)getpagesize());
}

static int fill_rows(const struct bpf_map *map, const void *rows, size_t size, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (bpf_map_update_elem(bpf_map__fd(map), &i, (const char *)rows + i * size, BPF_ANY))
            return err_set(errno, "cannot fill the tables of the fold: %s", strerror(errno));
    return 0;
}

/* The points that can come: those of the sites that are attached. */
static void find_points(struct tracer *tracer, uint64_t *points)
{
    int map = bpf_map__fd(tracer->skeleton->maps.texts);
    struct uprobe_text text, *previous = NULL;
    uint32_t point;
    for (size_t i = 0; i < tracer->site_count; i++)
        if (tracer->sites[i].attached && tracer->specs[i].kind != UPROBE_TEXT &&
            tracer->specs[i].point < POINT_COUNT)
            points[tracer->specs[i].point / 64] |= 1ull << (tracer->specs[i].point % 64);
    while (bpf_map_get_next_key(map, previous, &text) == 0) {
        previous = &text;
        if (bpf_map_lookup_elem(map, &text, &point) == 0 && point < POINT_COUNT)
            points[point / 64] |= 1ull << (point % 64);
    }
}

/* The types that ops can be of. Each op tries them one by one, so those that need a point that
 * cannot come are left out; the last row is for what meets none. */
static int fill_types(struct tracer *tracer)
{
    const struct fold_tables *tables = tracer->options.fold;
    uint64_t points[FOLD_POINT_WORDS] = {0};
    uint32_t rows = 0;
    int error = 0;
    find_points(tracer, points);
    for (uint32_t i = 0; !error && i < tables->settings.type_count; i++) {
        const struct fold_type *type = &tables->types[i];
        bool possible = true;
        for (int word = 0; word < FOLD_POINT_WORDS; word++)
            possible = possible && (type->passes[word] & ~points[word]) == 0;
        if (!possible)
            continue;
        if (bpf_map_update_elem(bpf_map__fd(tracer->skeleton->maps.fold_types), &rows, type,
                                BPF_ANY))
            error = err_set(errno, "cannot fill the tables of the fold: %s", strerror(errno));
        rows++;
    }
    return error;
}

static int fill_queue(const struct bpf_map *map, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (bpf_map_update_elem(bpf_map__fd(map), NULL, &i, BPF_ANY))
            return err_set(errno, "cannot fill the queues of the fold: %s", strerror(errno));
    return 0;
}

static int take_exemplar(void *context, void *data, size_t size)
{
    struct tracer *tracer = context;
    if (size == sizeof(struct fold_op) && tracer->options.exemplar)
        tracer->options.exemplar(tracer->options.exemplar_context, data);
    return 0;
}

int tracer_fold_open(struct tracer *tracer)
{
    const struct fold_tables *tables = tracer->options.fold;
    struct uprobe_bpf *skeleton = tracer->skeleton;
    if (!tables)
        return 0;
    struct tracer_fold_state *fold = calloc(1, sizeof(*fold));
    if (!fold)
        return err_no_memory();
    tracer->fold = fold;
    fold->cell_bytes = tables->cell_count * sizeof(*fold->cells);
    fold->clients = calloc(FOLD_CLIENTS, sizeof(*fold->clients));
    fold->peers = calloc(FOLD_PEERS, sizeof(*fold->peers));
    if (!fold->clients || !fold->peers)
        return err_no_memory();
    fold->cells = mmap(NULL, fold->cell_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                       bpf_map__fd(skeleton->maps.fold_cells), 0);
    if (fold->cells == MAP_FAILED) {
        fold->cells = NULL;
        return err_set(errno, "cannot map the sums of the fold: %s", strerror(errno));
    }
    fold->exemplars =
        ring_buffer__new(bpf_map__fd(skeleton->maps.fold_exemplars), take_exemplar, tracer, NULL);
    if (!fold->exemplars)
        return err_set(errno, "cannot map the ring of slow ops: %s", strerror(errno));
    int error = fill_rows(skeleton->maps.fold_plans, tables->plans, sizeof(*tables->plans),
                          tables->plan_count);
    if (!error)
        error = fill_types(tracer);
    if (!error)
        error = fill_queue(skeleton->maps.fold_free, tables->settings.slot_count);
    return error;
}

void tracer_fold_close(struct tracer *tracer)
{
    struct tracer_fold_state *fold = tracer->fold;
    if (!fold)
        return;
    ring_buffer__free(fold->exemplars);
    if (fold->cells)
        munmap(fold->cells, fold->cell_bytes);
    free(fold->clients);
    free(fold->peers);
    free(fold);
    tracer->fold = NULL;
}

int tracer_fold_drain(struct tracer *tracer)
{
    if (!tracer->fold)
        return 0;
    int got = ring_buffer__consume(tracer->fold->exemplars);
    return got < 0 ? err_set(-got, "cannot read the ring of slow ops: %s", strerror(-got)) : 0;
}

/* Folds what is ripe; with the time of the last event everything. */
static int catch_up(struct tracer *tracer, uint64_t last_ns)
{
    struct uprobe_bpf *skeleton = tracer->skeleton;
    struct bpf_test_run_opts options = {.sz = sizeof(options)};
    skeleton->bss->fold_last_ns = last_ns;
    skeleton->bss->fold_catching_up = true;
    int error = bpf_prog_test_run_opts(bpf_program__fd(skeleton->progs.uprobe_drain), &options);
    skeleton->bss->fold_catching_up = false;
    return error ? err_set(-error, "cannot run the fold's program: %s", strerror(-error)) : 0;
}

/* Events, and when the first and the last one came, over all sites and CPUs. */
static int read_events(struct tracer *tracer, struct tracer_fold *result)
{
    struct uprobe_counts *rows = calloc((size_t)tracer->cpus, sizeof(*rows));
    int map = bpf_map__fd(tracer->skeleton->maps.counts);
    if (!rows)
        return err_no_memory();
    result->events = result->last_ns = 0;
    result->first_ns = UINT64_MAX;
    for (uint32_t i = 0; i < tracer->site_count; i++) {
        if (bpf_map_lookup_elem(map, &i, rows))
            continue;
        for (int cpu = 0; cpu < tracer->cpus; cpu++) {
            result->events += rows[cpu].events;
            if (rows[cpu].first_ns && rows[cpu].first_ns < result->first_ns)
                result->first_ns = rows[cpu].first_ns;
            if (rows[cpu].last_ns > result->last_ns)
                result->last_ns = rows[cpu].last_ns;
        }
    }
    if (result->last_ns == 0)
        result->first_ns = 0;
    free(rows);
    return 0;
}

/* Reads a map into rows that begin with the key (64 bit) and have the value at `value_offset`.
 * Returns how many. */
static size_t read_rows(const struct bpf_map *from, void *rows, size_t row_size,
                        size_t value_offset, size_t limit)
{
    int map = bpf_map__fd(from);
    size_t count = 0;
    uint64_t key, *previous = NULL;
    while (count < limit && bpf_map_get_next_key(map, previous, &key) == 0) {
        char *row = (char *)rows + count * row_size;
        previous = (uint64_t *)(void *)row;
        *previous = key;
        if (bpf_map_lookup_elem(map, &key, row + value_offset) == 0)
            count++;
    }
    return count;
}

static size_t read_clients(struct tracer *tracer)
{
    struct fold_client_row *rows = tracer->fold->clients;
    static_assert(offsetof(struct fold_client_row, client) == 0, "the key comes first");
    return read_rows(tracer->skeleton->maps.fold_clients, rows, sizeof(*rows),
                     offsetof(struct fold_client_row, sums), FOLD_CLIENTS);
}

static size_t read_peers(struct tracer *tracer)
{
    struct fold_peer_row *rows = tracer->fold->peers;
    static_assert(offsetof(struct fold_peer_row, peer) == 0, "the key comes first");
    return read_rows(tracer->skeleton->maps.fold_peers, rows, sizeof(*rows),
                     offsetof(struct fold_peer_row, row), FOLD_PEERS);
}

int tracer_fold_read(struct tracer *tracer, struct tracer_fold *result)
{
    struct tracer_fold_state *fold = tracer->fold;
    int error = tracer_take_records(tracer);
    if (!error)
        error = read_events(tracer, result);
    if (!error && !fold->ended) {
        error = catch_up(tracer, tracer->attached ? 0 : result->last_ns);
        fold->ended = !error && !tracer->attached;
    }
    if (!error)
        error = tracer_fold_drain(tracer);
    if (error)
        return error;
    result->client_count = read_clients(tracer);
    result->clients = fold->clients;
    result->peer_count = read_peers(tracer);
    result->peers = fold->peers;
    result->cells = fold->cells;
    return 0;
}

void tracer_fold_forget_slowest(struct tracer *tracer)
{
    uint64_t *cells = tracer->fold->cells;
    __atomic_store_n(&cells[FOLD_SLOW_BOUND], 0, __ATOMIC_RELAXED);
    for (int i = 0; i < FOLD_SLOWEST; i++)
        __atomic_store_n(&cells[FOLD_SLOW_FIRST + i], 0, __ATOMIC_RELAXED);
    __atomic_store_n(&cells[FOLD_SLOW_BOUND], 0, __ATOMIC_RELAXED);
}
