/* SPDX-License-Identifier: MIT */
#include "flame_ops.h"

#include <stdlib.h>

#include "err.h"

static void take_span(void *context, int stage, uint64_t begin_ns, uint64_t end_ns)
{
    struct flame_op *op = context;
    struct flame_span *last = op->span_count ? &op->spans[op->span_count - 1] : NULL;
    if (last && last->stage == stage)
        last->end_ns = end_ns;
    else if (op->spans && op->span_count < op->room)
        op->spans[op->span_count++] = (struct flame_span){stage, begin_ns, end_ns};
}

int flame_op_take(struct flame_op *op, const struct path_set *paths, const struct trail *trail)
{
    const struct path_op known = {trail->seen, trail->type, trail->bytes_in, trail->bytes_out};
    op->trail = trail;
    op->match = (struct path_match){0};
    op->latency_ns = trail->finish_ns - trail->start_ns;
    op->span_count = 0;
    op->type = path_set_match(paths, &known, &op->match) ? op->match.type->name : "other";
    if (op->room < trail->mark_count + 1) {
        size_t room = 2 * (trail->mark_count + 1);
        struct flame_span *spans = realloc(op->spans, room * sizeof(*spans));
        if (!spans)
            return err_no_memory();
        op->spans = spans;
        op->room = room;
    }
    if (!op->match.path) {
        take_span(op, -1, trail->start_ns, trail->finish_ns);
        return 0;
    }
    if (op->plan.path != op->match.path)
        sweep_plan_init(&op->plan, op->match.path);
    sweep_spans(&op->plan, trail, take_span, op);
    return 0;
}

void flame_op_free(struct flame_op *op)
{
    free(op->spans);
    op->spans = NULL;
    op->room = 0;
}

bool flame_op_goes_on(const struct flame_op *op, uint32_t tid, uint64_t time_ns)
{
    const struct trail *trail = op->trail;
    for (size_t i = 0; i < trail->mark_count; i++) {
        const struct trail_mark *mark = &trail->marks[i];
        const struct point_row *row = &point_rows[mark->point];
        /* a stamp is told later than it happened, perhaps when the thread takes the op up again */
        if (mark->tid != tid || mark->time_ns < time_ns || row->role == ROLE_STAMP)
            continue;
        return row->role != ROLE_START && row->role != ROLE_ENTER &&
               !(row->role == ROLE_LEAVE && row->key == KEY_CURRENT);
    }
    return false;
}

const struct path_stage *flame_op_stage(const struct flame_op *op, uint64_t time_ns)
{
    for (size_t i = 0; i < op->span_count; i++)
        if (time_ns >= op->spans[i].begin_ns && time_ns < op->spans[i].end_ns)
            return op->spans[i].stage < 0 ? NULL : &op->match.path->stages[op->spans[i].stage];
    return NULL;
}
