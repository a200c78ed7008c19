/* SPDX-License-Identifier: MIT */
#include "live_fold.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "err.h"

struct live_fold {
    struct fold_table_set *set; /* owned */
    live_fold_receiver *receiver;
    void *context; /* weak: of the receiver */
    int error;     /* of a receiver: told at the next reading */
};

static void take_exemplar(void *context, const struct fold_op *op)
{
    struct live_fold *fold = context;
    struct trail trail;
    struct trail_mark marks[FOLD_MARKS];
    struct analysis *analysis;
    if (!fold->receiver)
        return;
    fold_exemplar_trail(op, &trail, marks);
    for (size_t i = 0; !fold->error && (analysis = fold->receiver(fold->context, op->pid, i)); i++)
        fold->error = analysis_take_exemplar(analysis, &trail);
}

int live_fold_open(enum live_fold_choice choice, const char *obstacle, const struct path_set *paths,
                   struct tracer_options *tracing, struct live_fold **result)
{
    *result = NULL;
    if (choice == LIVE_FOLD_USER)
        return 0;
    struct live_fold *fold = calloc(1, sizeof(*fold));
    if (!fold)
        return err_no_memory();
    int error = obstacle ? err_set(ENOTSUP, "%s", obstacle) : tracer_can_fold();
    if (!error)
        error = fold_tables_new(paths, &fold->set);
    if (error) {
        live_fold_close(fold);
        if (choice == LIVE_FOLD_KERNEL || error == -ENOMEM)
            return err_prefix(error, "the kernel cannot fold");
        fprintf(stderr, "optrail: ops are folded in user space: %s\n", err_message());
        return 0;
    }
    tracing->fold = &fold->set->tables;
    tracing->exemplar = take_exemplar;
    tracing->exemplar_context = fold;
    *result = fold;
    return 0;
}

void live_fold_close(struct live_fold *fold)
{
    if (!fold)
        return;
    fold_tables_free(fold->set);
    free(fold);
}

void live_fold_receive(struct live_fold *fold, live_fold_receiver *receiver, void *context)
{
    fold->receiver = receiver;
    fold->context = context;
}

int live_fold_read(struct live_fold *fold, struct tracer *tracer, struct fold_sums *sums,
                   struct read_counts *counts)
{
    struct tracer_fold read;
    int error = tracer_fold_read(tracer, &read);
    if (!error)
        error = fold->error;
    if (error)
        return error;
    *sums = (struct fold_sums){fold->set,    read.cells,      read.client_count,
                               read.clients, read.peer_count, read.peers};
    counts->events += read.events;
    counts->lost += tracer_counts(tracer).lost; /* no events come up, so nobody else tells */
    if (read.events && (counts->begin_ns == 0 || read.first_ns < counts->begin_ns))
        counts->begin_ns = read.first_ns;
    if (read.last_ns > counts->end_ns)
        counts->end_ns = read.last_ns;
    return 0;
}
