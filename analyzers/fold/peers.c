/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "fold.h"
#include "histogram.h"
#include "profile_rows.h"
#include "sweep.h"

/*
 * The peers that get copies of ops: how long each takes to answer, and how often it is the one that
 * the op's answer waits for. Which points tell it the op's path says: its stage from a fork to a
 * join.
 */

/* Beyond this many peers the rest is summed up under one row, peer 0 of process 0. */
#define MAX_PEERS 2048
#define SLOTS     4096 /* a power of two */

struct peer_sums {
    uint32_t pid;
    uint16_t number;
    uint64_t asked;
    uint64_t last;
    struct histogram latency;
};

struct peers_fold {
    size_t count;
    struct peer_sums *rows[MAX_PEERS]; /* owned */
    uint16_t slots[SLOTS];             /* open addressing: the row's number, from 1 */
};

static void destroy(void *state)
{
    struct peers_fold *fold = state;
    for (size_t i = 0; i < fold->count; i++)
        free(fold->rows[i]);
    free(fold);
}

static int create(const struct fold_options *options, void **state)
{
    (void)options;
    *state = calloc(1, sizeof(struct peers_fold));
    return *state ? 0 : err_no_memory();
}

/* Where the peer's row stands, or is to stand. */
static uint16_t *slot_of(struct peers_fold *fold, uint32_t pid, uint16_t number)
{
    uint64_t key = ((uint64_t)pid << 16 | number) * 0x9e3779b97f4a7c15ull;
    for (size_t i = (size_t)(key >> 32);; i++) {
        uint16_t *slot = &fold->slots[i % SLOTS];
        if (*slot == 0 ||
            (fold->rows[*slot - 1]->pid == pid && fold->rows[*slot - 1]->number == number))
            return slot;
    }
}

static struct peer_sums *row_of(struct peers_fold *fold, uint32_t pid, uint16_t number)
{
    uint16_t *slot = slot_of(fold, pid, number);
    if (*slot)
        return fold->rows[*slot - 1];
    if (fold->count == MAX_PEERS)
        return fold->rows[MAX_PEERS - 1];
    struct peer_sums *row = calloc(1, sizeof(*row));
    if (!row) {
        err_no_memory();
        return NULL;
    }
    histogram_init(&row->latency);
    if (fold->count == MAX_PEERS - 1)
        slot = slot_of(fold, 0, 0);
    row->pid = fold->count < MAX_PEERS - 1 ? pid : 0;
    row->number = fold->count < MAX_PEERS - 1 ? number : 0;
    fold->rows[fold->count++] = row;
    *slot = (uint16_t)fold->count;
    return row;
}

/* When the trail's peer was asked, by the fork in front of this join; 0: it was not. */
static uint64_t asked_at(const struct sweep_plan *plan, const struct trail *trail, size_t join)
{
    uint16_t number = trail->marks[join].branch;
    while (join-- > 0) {
        const struct trail_mark *mark = &trail->marks[join];
        if (mark->branch != number)
            continue;
        if (mark->point == plan->fork)
            return mark->time_ns;
        if (mark->point == plan->join)
            return 0; /* answered already */
    }
    return 0;
}

static int add_trail(void *state, const struct trail *trail, const struct op_division *division)
{
    struct peers_fold *fold = state;
    const struct sweep_plan *plan = division ? division->plan : NULL;
    if (!plan || !plan->counting || !trail_passed(trail, plan->fork))
        return 0;
    struct peer_sums *last = NULL;
    for (size_t i = 0; i < trail->mark_count; i++) {
        const struct trail_mark *mark = &trail->marks[i];
        if (mark->point != plan->fork && mark->point != plan->join)
            continue;
        struct peer_sums *row = row_of(fold, trail->pid, mark->branch);
        if (!row)
            return -ENOMEM;
        if (mark->point == plan->fork) {
            row->asked++;
            continue;
        }
        uint64_t asked_ns = asked_at(plan, trail, i);
        if (asked_ns == 0)
            continue;
        histogram_add(&row->latency, mark->time_ns - asked_ns);
        if (mark->time_ns <= trail->finish_ns)
            last = row;
    }
    if (last && sweep_awaited(plan, trail) & plan->counting)
        last->last++;
    return 0;
}

/* Adds what the kernel's fold has of one peer. */
static void add_cells(struct peer_sums *row, const uint64_t *cells)
{
    struct histogram *latency = &row->latency;
    row->asked += cells[FOLD_PEER_ASKED];
    row->last += cells[FOLD_PEER_LAST];
    latency->sum += cells[FOLD_PEER_SUM];
    if (cells[FOLD_PEER_MAX] > latency->max)
        latency->max = cells[FOLD_PEER_MAX];
    if (~cells[FOLD_PEER_NOT_MIN] < latency->min)
        latency->min = ~cells[FOLD_PEER_NOT_MIN];
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        latency->buckets[i] += cells[FOLD_PEER_BUCKETS + i];
        latency->count += cells[FOLD_PEER_BUCKETS + i];
    }
}

static int add_sums(void *state, const struct fold_sums *sums, bool first)
{
    struct peers_fold *fold = state;
    for (; first && fold->count > 0; fold->count--)
        free(fold->rows[fold->count - 1]);
    if (first)
        memset(fold->slots, 0, sizeof(fold->slots));
    for (size_t i = 0; i < sums->peer_count; i++) {
        const struct fold_peer_row *peer = &sums->peers[i];
        const uint64_t *cells = sums->cells + sums->set->tables.settings.peer_cells +
                                (size_t)peer->row * FOLD_PEER_CELLS;
        if (peer->row >= FOLD_PEERS - 1)
            continue;
        struct peer_sums *row = row_of(fold, (uint32_t)(peer->peer >> 32), (uint16_t)peer->peer);
        if (!row)
            return -ENOMEM;
        add_cells(row, cells);
    }
    if (!sums->set->tables.settings.peer_cells)
        return 0;
    const uint64_t *others = sums->cells + sums->set->tables.settings.peer_cells +
                             (size_t)(FOLD_PEERS - 1) * FOLD_PEER_CELLS;
    struct peer_sums *row = others[FOLD_PEER_ASKED] ? row_of(fold, 0, 0) : NULL;
    if (row)
        add_cells(row, others);
    return others[FOLD_PEER_ASKED] && !row ? -ENOMEM : 0;
}

static int by_process_and_number(const void *a, const void *b)
{
    const struct report_peer *left = a;
    const struct report_peer *right = b;
    if (left->pid != right->pid)
        return left->pid < right->pid ? -1 : 1;
    return left->peer < right->peer ? -1 : left->peer > right->peer;
}

static int fill(void *state, struct report *report)
{
    const struct peers_fold *fold = state;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < fold->count; i++) {
        const struct peer_sums *sums = fold->rows[i];
        const struct histogram *latency = &sums->latency;
        struct report_peer row = {.pid = (int)sums->pid,
                                  .peer = sums->number,
                                  .asked = sums->asked,
                                  .last = sums->last,
                                  .last_share =
                                      sums->asked ? (double)sums->last / (double)sums->asked : 0,
                                  .latency = {.count = latency->count,
                                              .mean = histogram_mean(latency),
                                              .p50 = histogram_quantile(latency, 0.50),
                                              .p90 = histogram_quantile(latency, 0.90),
                                              .p99 = histogram_quantile(latency, 0.99),
                                              .p999 = histogram_quantile(latency, 0.999),
                                              .max = latency->count ? latency->max : 0}};
        rc = report_add_peer(report, &row);
    }
    if (rc == 0 && report->peer_count > 0)
        qsort(report->peers, report->peer_count, sizeof(report->peers[0]), by_process_and_number);
    return rc;
}

static void save(void *state, const struct saved_paths *paths, struct profile_writer *writer)
{
    const struct peers_fold *fold = state;
    (void)paths;
    for (size_t i = 0; i < fold->count; i++) {
        profile_put_row(writer, "peer");
        profile_put_number(writer, fold->rows[i]->pid);
        profile_put_number(writer, fold->rows[i]->number);
        profile_put_number(writer, fold->rows[i]->asked);
        profile_put_number(writer, fold->rows[i]->last);
        profile_put_histogram(writer, &fold->rows[i]->latency);
    }
}

static int load(void *state, const struct saved_paths *paths, struct profile_reader *reader)
{
    (void)paths;
    while (profile_take_row(reader, "peer")) {
        uint32_t pid = (uint32_t)profile_number(reader, UINT32_MAX);
        struct peer_sums *row = row_of(state, pid, (uint16_t)profile_number(reader, UINT16_MAX));
        if (!row)
            return -ENOMEM;
        row->asked += profile_number(reader, PROFILE_MAX_NUMBER);
        row->last += profile_number(reader, PROFILE_MAX_NUMBER);
        profile_add_histogram(reader, &row->latency);
    }
    return profile_reader_result(reader);
}

const struct fold_class fold_peers = {.name = "peers",
                                      .create = create,
                                      .trail = add_trail,
                                      .fill = fill,
                                      .sums = add_sums,
                                      .save = save,
                                      .load = load,
                                      .free = destroy};
