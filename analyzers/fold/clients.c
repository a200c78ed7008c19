/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "fold.h"
#include "profile_rows.h"

/* Ops by client. Beyond this many clients the rest is summed up under one row, client 0. */
#define MAX_CLIENTS 4096

struct clients_fold {
    size_t count;
    struct report_client others;
    struct report_client clients[MAX_CLIENTS]; /* open addressing by client */
};

static int create(const struct fold_options *options, void **state)
{
    (void)options;
    *state = calloc(1, sizeof(struct clients_fold));
    return *state ? 0 : err_no_memory();
}

static struct report_client *row_of(struct clients_fold *fold, uint64_t client)
{
    if (client == 0)
        return &fold->others;
    uint64_t start = (client * 0x9e3779b97f4a7c15ull) >> 40;
    for (uint64_t i = 0; i < MAX_CLIENTS; i++) {
        struct report_client *row = &fold->clients[(start + i) % MAX_CLIENTS];
        if (row->client == client)
            return row;
        if (row->client != 0)
            continue;
        if (2 * fold->count >= MAX_CLIENTS)
            break;
        fold->count++;
        row->client = client;
        return row;
    }
    return &fold->others;
}

static int add_trail(void *state, const struct trail *trail, const struct op_division *division)
{
    (void)division;
    if (trail->end != TRAIL_FINISHED)
        return 0;
    struct report_client *row = row_of(state, trail->client);
    row->ops++;
    row->bytes += trail->bytes_in + trail->bytes_out;
    return 0;
}

static int add_sums(void *state, const struct fold_sums *sums, bool first)
{
    struct clients_fold *fold = state;
    if (first)
        memset(fold, 0, sizeof(*fold));
    for (size_t i = 0; i < sums->client_count; i++) {
        struct report_client *row = row_of(fold, sums->clients[i].client);
        row->ops += sums->clients[i].sums.ops;
        row->bytes += sums->clients[i].sums.bytes;
    }
    fold->others.ops += sums->cells[FOLD_OTHER_CLIENTS];
    fold->others.bytes += sums->cells[FOLD_OTHER_BYTES];
    return 0;
}

static int by_ops(const void *a, const void *b)
{
    const struct report_client *left = a;
    const struct report_client *right = b;
    if (left->ops != right->ops)
        return left->ops < right->ops ? 1 : -1;
    return left->client < right->client ? -1 : left->client > right->client;
}

static int fill(void *state, struct report *report)
{
    const struct clients_fold *fold = state;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < MAX_CLIENTS; i++)
        if (fold->clients[i].client)
            rc = report_add_client(report, fold->clients[i]);
    if (rc == 0 && fold->others.ops > 0)
        rc = report_add_client(report, fold->others);
    if (rc == 0 && report->client_count > 0)
        qsort(report->clients, report->client_count, sizeof(report->clients[0]), by_ops);
    return rc;
}

static void save_row(const struct report_client *row, struct profile_writer *writer)
{
    profile_put_row(writer, "client");
    profile_put_number(writer, row->client >> 32);
    profile_put_number(writer, row->client & UINT32_MAX);
    profile_put_number(writer, row->ops);
    profile_put_number(writer, row->bytes);
}

static void save(void *state, const struct saved_paths *paths, struct profile_writer *writer)
{
    const struct clients_fold *fold = state;
    (void)paths;
    for (size_t i = 0; i < MAX_CLIENTS; i++)
        if (fold->clients[i].client)
            save_row(&fold->clients[i], writer);
    if (fold->others.ops > 0)
        save_row(&fold->others, writer);
}

static int load(void *state, const struct saved_paths *paths, struct profile_reader *reader)
{
    (void)paths;
    while (profile_take_row(reader, "client")) {
        uint64_t client = profile_number(reader, UINT32_MAX) << 32;
        client |= profile_number(reader, UINT32_MAX);
        struct report_client *row = row_of(state, client);
        row->ops += profile_number(reader, PROFILE_MAX_NUMBER);
        row->bytes += profile_number(reader, PROFILE_MAX_NUMBER);
    }
    return profile_reader_result(reader);
}

const struct fold_class fold_clients = {.name = "clients",
                                        .create = create,
                                        .trail = add_trail,
                                        .fill = fill,
                                        .sums = add_sums,
                                        .save = save,
                                        .load = load,
                                        .free = free};
