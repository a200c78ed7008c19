/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
#ifndef OPTRAIL_OP_FOLD_DIVIDE_H
#define OPTRAIL_OP_FOLD_DIVIDE_H

#include "op_fold.h"

/*
 * From an answered op to the sums: its type, the division of its time among the stages by the rules
 * of the sweep (analyzers/fold/sweep.h), the cells. Plain C, so that it can be tried outside of the
 * kernel. Whoever includes this has defined before:
 *
 *   FOLD_INLINE, FOLD_CALL   how functions are declared: inlined; called
 *   bpf_loop()               as in BPF
 *   fold_settings, fold_points[POINT_COUNT], fold_hand
 *   env_op, env_birth, env_past, env_cell, env_plan, env_type, env_workspace
 *                            a row by its number; NULL when there is none
 *   env_free_take, env_free_give, env_answered_push, _peek, _pop
 *                            the queues of slots and ops; 0, or non-zero when empty or full
 *   env_name_find, _put, _remove; env_thread; env_client; env_peer; env_exemplar
 */

struct fold_run {
    struct fold_op *op;
    struct fold_workspace *workspace;
    struct fold_plan *plan;
    struct fold_type *type;
    uint64_t latency;
};

static FOLD_INLINE void fold_add(uint32_t index, uint64_t value)
{
    uint64_t *cell = env_cell(index);
    if (cell)
        *cell += value;
}

/* Raises a cell that only grows. */
static FOLD_INLINE void fold_raise(uint32_t index, uint64_t value)
{
    uint64_t *cell = env_cell(index);
    if (cell && *cell < value)
        *cell = value;
}

static FOLD_INLINE uint32_t fold_innermost(uint64_t stages)
{
    return highest_bit(stages) & (FOLD_STAGES - 1);
}

/* Moves the marks that are later than the one at hand up by a place. */
static long fold_shift_step(uint32_t i, void *context)
{
    struct fold_run *run = context;
    struct fold_workspace *workspace = run->workspace;
    struct fold_op *op = run->op;
    uint32_t at = workspace->bucket;
    (void)i;
    if (at == 0 || at >= FOLD_MARKS)
        return 1;
    if (op->marks[at - 1].time_ns <= workspace->last_ns)
        return 1;
    op->marks[at] = op->marks[at - 1];
    workspace->bucket = at - 1;
    return 0;
}

/* Puts the mark to where it belongs in time; stamps, and marks of several CPUs, come out of order.
 */
static long fold_sort_step(uint32_t i, void *context)
{
    struct fold_run *run = context;
    struct fold_op *op = run->op;
    struct fold_workspace *workspace = run->workspace;
    if (i >= FOLD_MARKS)
        return 1;
    struct fold_mark mark = op->marks[i];
    if (mark.point < POINT_COUNT)
        workspace->seen[mark.point / 64] |= 1ull << (mark.point & 63);
    if (i == 0 || op->marks[i - 1].time_ns <= mark.time_ns)
        return 0;
    workspace->bucket = i;
    workspace->last_ns = mark.time_ns;
    bpf_loop(i, fold_shift_step, run, 0);
    uint32_t at = workspace->bucket;
    if (at < FOLD_MARKS)
        op->marks[at] = mark;
    return 0;
}

/* The stages that a mark ends; a stage that counts peers goes on while one of them is asked. */
static FOLD_INLINE uint64_t fold_ended_by(const struct fold_plan *plan,
                                          struct fold_workspace *workspace, uint32_t point,
                                          uint32_t branch)
{
    uint64_t closing = workspace->open & plan->closes[point];
    uint64_t peer = 1ull << (branch & 63);
    if (point == plan->fork) {
        workspace->peers |= peer;
    } else if (point == plan->join) {
        workspace->peers &= ~peer;
        if (workspace->peers)
            closing &= ~plan->counting;
    }
    return closing;
}

static long fold_winner_step(uint32_t i, void *context)
{
    struct fold_run *run = context;
    struct fold_workspace *workspace = run->workspace;
    const struct fold_plan *plan = run->plan;
    if (i >= FOLD_MARKS)
        return 1;
    const struct fold_mark *mark = &run->op->marks[i];
    uint32_t point = mark->point;
    if (mark->time_ns > workspace->finish_ns)
        return 1;
    if (point >= POINT_COUNT)
        return 0;
    uint64_t closing = fold_ended_by(plan, workspace, point, mark->branch);
    uint64_t ended = closing & plan->ends[point] & ~plan->main_line;
    workspace->open = (workspace->open & ~closing) | plan->opens[point];
    if (!ended)
        return 0;
    for (uint32_t b = 0; b < FOLD_BRANCHES; b++) {
        if (b >= plan->branch_count)
            break;
        if (ended & plan->branch[b])
            workspace->ended_at[b] = mark->time_ns;
    }
    return 0;
}

/* The branch that the answer waited for. */
static FOLD_INLINE void fold_find_winner(struct fold_run *run, uint32_t count)
{
    struct fold_workspace *workspace = run->workspace;
    const struct fold_plan *plan = run->plan;
    workspace->open = workspace->peers = workspace->winner = 0;
    if (plan->branch_count == 0)
        return;
    for (uint32_t b = 0; b < FOLD_BRANCHES; b++)
        workspace->ended_at[b] = 0;
    bpf_loop(count, fold_winner_step, run, 0);
    uint64_t latest = 0;
    for (uint32_t b = 0; b < FOLD_BRANCHES; b++) {
        if (b >= plan->branch_count)
            break;
        if (!(workspace->open & plan->branch[b]) && !(plan->beside >> b & 1) &&
            workspace->ended_at[b] > latest) {
            latest = workspace->ended_at[b];
            workspace->winner = plan->branch[b];
        }
    }
    workspace->open = workspace->peers = 0;
}

/* Gives the time up to `now` to the stages that are open. */
static FOLD_INLINE void fold_span(const struct fold_plan *plan, struct fold_workspace *workspace,
                                  uint64_t now)
{
    uint64_t last = workspace->last_ns;
    if (now <= last)
        return;
    uint64_t until = now < workspace->finish_ns ? now : workspace->finish_ns;
    uint64_t before = until > last ? until - last : 0;
    uint64_t after = now - last - before;
    uint64_t open = workspace->open;
    uint64_t on_path = open & plan->main_line;
    workspace->last_ns = now;
    if (!on_path)
        on_path = open & workspace->winner;
    if (on_path)
        workspace->on_path[fold_innermost(on_path)] += before;
    else
        workspace->unattributed += before;
    if (!(open & ~plan->main_line))
        return;
    for (uint32_t b = 0; b < FOLD_BRANCHES; b++) {
        uint64_t stages = open & plan->branch[b];
        if (b >= plan->branch_count)
            break;
        if (stages)
            workspace->beside[fold_innermost(stages)] +=
                after + (on_path & plan->branch[b] ? 0 : before);
    }
}

static long fold_sweep_step(uint32_t i, void *context)
{
    struct fold_run *run = context;
    struct fold_workspace *workspace = run->workspace;
    const struct fold_plan *plan = run->plan;
    if (i >= FOLD_MARKS)
        return 1;
    const struct fold_mark *mark = &run->op->marks[i];
    uint32_t point = mark->point;
    if (point >= POINT_COUNT)
        return 0;
    fold_span(plan, workspace, mark->time_ns);
    uint64_t closing = fold_ended_by(plan, workspace, point, mark->branch);
    /* closed by a point behind its end: the end itself was not seen */
    workspace->broken |= closing & ~plan->ends[point];
    workspace->open = (workspace->open & ~closing) | plan->opens[point];
    workspace->passed |= plan->opens[point];
    return 0;
}

/* Sums up one stage. */
static long fold_stage_step(uint32_t i, void *context)
{
    struct fold_run *run = context;
    struct fold_workspace *workspace = run->workspace;
    const struct fold_type *type = run->type;
    if (i >= FOLD_STAGES)
        return 1;
    if (!(workspace->passed >> i & 1))
        return 0;
    uint64_t on_path = workspace->on_path[i];
    uint64_t beside = workspace->beside[i];
    uint32_t cells = fold_stage_cells(type->base, i);
    workspace->on_path[i] = 0;
    workspace->beside[i] = 0;
    if (on_path || !beside) {
        uint32_t buckets = fold_stage_buckets(type->base, type->stage_count, i);
        fold_add(buckets + histogram_bucket(on_path), 1);
        fold_raise(cells + FOLD_STAGE_MAX, on_path);
        fold_raise(cells + FOLD_STAGE_NOT_MIN, ~on_path);
    }
    if (on_path)
        fold_add(fold_row(type->base, type->stage_count, workspace->bucket) + i, on_path);
    if (beside)
        fold_add(cells + FOLD_STAGE_BESIDE, beside);
    if (on_path > workspace->most) {
        workspace->most = on_path;
        workspace->largest = i;
    }
    return 0;
}

static FOLD_INLINE bool fold_meets(const struct fold_type *type, const struct fold_op *op)
{
    if (!type->any_start_type && type->start_type != op->type)
        return false;
    if (type->bytes_in >= 0 && (op->bytes_in > 0) != type->bytes_in)
        return false;
    if (type->bytes_out >= 0 && (op->bytes_out > 0) != type->bytes_out)
        return false;
    for (int i = 0; i < FOLD_POINT_WORDS; i++)
        if ((type->passes[i] & op->seen[i]) != type->passes[i])
            return false;
    return true;
}

static long fold_type_step(uint32_t i, void *context)
{
    struct fold_run *run = context;
    const struct fold_type *type = env_type(i);
    if (!type)
        return 1;
    run->op->type_row = i;
    return fold_meets(type, run->op);
}

static FOLD_INLINE void fold_count_client(const struct fold_op *op)
{
    struct fold_client *row = op->client ? env_client(op->client) : 0;
    uint64_t bytes = op->bytes_in + op->bytes_out;
    if (row) {
        row->ops++;
        row->bytes += bytes;
    } else {
        fold_add(FOLD_OTHER_CLIENTS, 1);
        fold_add(FOLD_OTHER_BYTES, bytes);
    }
}

/* Where the peer stands among those that the op waits for. */
static FOLD_INLINE uint32_t fold_asked(const struct fold_workspace *workspace, uint64_t peer)
{
    uint32_t at = FOLD_ASKED;
    for (uint32_t i = 0; i < FOLD_ASKED; i++)
        if (workspace->asked_peer[i] == peer)
            at = i;
    return at;
}

/* A peer was asked, or has answered. */
static long fold_peer_step(uint32_t i, void *context)
{
    struct fold_run *run = context;
    struct fold_workspace *workspace = run->workspace;
    const struct fold_plan *plan = run->plan;
    if (i >= FOLD_MARKS)
        return 1;
    const struct fold_mark *mark = &run->op->marks[i];
    bool fork = mark->point == plan->fork;
    if (!fork && mark->point != plan->join)
        return 0;
    /* one more than it is: 0 is none */
    uint64_t peer = ((uint64_t)run->op->pid << 32 | mark->branch) + 1;
    uint32_t row = env_peer(peer - 1);
    uint32_t cells = fold_settings.peer_cells + row * FOLD_PEER_CELLS;
    uint32_t at = fold_asked(workspace, peer);
    if (fork) {
        fold_add(cells + FOLD_PEER_ASKED, 1);
        if (at == FOLD_ASKED)
            at = fold_asked(workspace, 0);
        if (at < FOLD_ASKED) {
            workspace->asked_peer[at] = peer;
            workspace->asked_ns[at] = mark->time_ns;
        } else {
            fold_add(FOLD_PEERS_CROWDED, 1);
        }
        return 0;
    }
    if (at >= FOLD_ASKED)
        return 0;
    uint64_t took = mark->time_ns - workspace->asked_ns[at];
    workspace->asked_peer[at] = 0;
    fold_add(cells + FOLD_PEER_SUM, took);
    fold_add(cells + FOLD_PEER_BUCKETS + histogram_bucket(took), 1);
    fold_raise(cells + FOLD_PEER_MAX, took);
    fold_raise(cells + FOLD_PEER_NOT_MIN, ~took);
    if (mark->time_ns <= workspace->finish_ns)
        workspace->last_peer = row;
    return 0;
}

/* How long each peer took, and which one the answer waited for. */
static FOLD_INLINE void fold_count_peers(struct fold_run *run, uint32_t count)
{
    struct fold_workspace *workspace = run->workspace;
    uint32_t fork = run->plan->fork;
    if (fork >= POINT_COUNT || !(run->op->seen[fork / 64] >> (fork & 63) & 1))
        return;
    for (uint32_t i = 0; i < FOLD_ASKED; i++)
        workspace->asked_peer[i] = 0;
    workspace->last_peer = FOLD_PEERS;
    bpf_loop(count, fold_peer_step, run, 0);
    if (workspace->last_peer < FOLD_PEERS && (workspace->winner & run->plan->counting))
        fold_add(fold_settings.peer_cells + workspace->last_peer * FOLD_PEER_CELLS + FOLD_PEER_LAST,
                 1);
}

/* The op comes up whole if it is slower than the fastest of the slowest. */
static FOLD_INLINE void fold_show(struct fold_op *op, uint64_t latency)
{
    uint64_t *bound = env_cell(FOLD_SLOW_BOUND);
    if (!bound || latency <= *bound)
        return;
    uint64_t least = ~0ull, next = ~0ull;
    uint32_t at = 0;
    for (uint32_t i = 0; i < FOLD_SLOWEST; i++) {
        uint64_t *cell = env_cell(FOLD_SLOW_FIRST + i);
        if (!cell)
            return;
        if (*cell < least) {
            next = least;
            least = *cell;
            at = i;
        } else if (*cell < next) {
            next = *cell;
        }
    }
    uint64_t *cell = env_cell(FOLD_SLOW_FIRST + at);
    if (!cell || latency <= least)
        return;
    *cell = latency;
    *bound = latency < next ? latency : next;
    if (env_exemplar(op))
        fold_add(FOLD_NOT_SHOWN, 1);
}

static FOLD_INLINE bool fold_passed(const struct fold_op *op, uint32_t point)
{
    return op->seen[point / 64] >> (point % 64) & 1;
}

static FOLD_INLINE void fold_sum_up(struct fold_run *run)
{
    const struct fold_op *op = run->op;
    struct fold_workspace *workspace = run->workspace;
    const struct fold_type *type = run->type;
    uint32_t base = type->base, stages = type->stage_count;
    workspace->bucket = histogram_bucket(run->latency);
    workspace->most = workspace->unattributed;
    workspace->largest = stages;
    fold_add(fold_buckets(base, stages) + workspace->bucket, 1);
    fold_raise(base + FOLD_MAX, run->latency);
    fold_raise(base + FOLD_NOT_MIN, ~run->latency);
    fold_add(base + FOLD_BYTES, op->bytes_in + op->bytes_out);
    if (fold_passed(op, POINT_op_failed) || fold_passed(op, POINT_reply_failed))
        fold_add(base + FOLD_FAILED, 1);
    if (workspace->broken)
        fold_add(base + FOLD_BROKEN, 1);
    bpf_loop(stages, fold_stage_step, run, 0);
    if (workspace->unattributed)
        fold_add(fold_row(base, stages, workspace->bucket) + stages, workspace->unattributed);
    fold_add(fold_stage_cells(base, workspace->largest) + FOLD_STAGE_LARGEST, 1);
}

/* The whole. */
FOLD_CALL int fold_divide(struct fold_op *op, struct fold_workspace *workspace)
{
    if (!op || !workspace)
        return 0;
    struct fold_run run = {.op = op, .workspace = workspace};
    uint32_t count = op->count < FOLD_MARKS ? op->count : FOLD_MARKS;
    for (int i = 0; i < FOLD_POINT_WORDS; i++)
        workspace->seen[i] = op->seen[i];
    bpf_loop(count, fold_sort_step, &run, 0);
    for (int i = 0; i < FOLD_POINT_WORDS; i++)
        op->seen[i] = workspace->seen[i];
    bpf_loop(fold_settings.type_count, fold_type_step, &run, 0);
    run.type = env_type(op->type_row);
    if (!run.type)
        return 0;
    op->start_ns = op->marks[0].time_ns;
    run.latency = op->finish_ns - op->start_ns;
    workspace->finish_ns = op->finish_ns;
    workspace->last_ns = op->start_ns;
    workspace->passed = workspace->broken = workspace->unattributed = 0;
    run.plan = env_plan(run.type->plan);
    if (run.plan) {
        fold_find_winner(&run, count);
        bpf_loop(count, fold_sweep_step, &run, 0);
        fold_span(run.plan, workspace, op->finish_ns); /* when the finish found no room */
        workspace->broken |= workspace->open & run.plan->main_line;
    } else {
        workspace->unattributed = run.latency;
    }
    fold_sum_up(&run);
    fold_count_client(op);
    if (run.plan && run.plan->counting && fold_settings.peer_cells)
        fold_count_peers(&run, count);
    fold_show(op, run.latency);
    return 0;
}

#endif
