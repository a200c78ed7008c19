/* SPDX-License-Identifier: MIT */
#include "sweep.h"

#include <stdbool.h>
#include <string.h>

static bool begins(const struct path_stage *stage, enum point point)
{
    return stage->from == point || stage->or_from == (int)point;
}

/* The branch whose stages use this point; -1: the main line. */
static int branch_of_point(const struct path *path, enum point point)
{
    for (size_t i = 0; i < path->stage_count; i++)
        if (path->stages[i].branch >= 0 &&
            (begins(&path->stages[i], point) || path->stages[i].to == point))
            return path->stages[i].branch;
    return -1;
}

static bool begins_a_stage(const struct path *path, enum point point)
{
    for (size_t i = 0; i < path->stage_count; i++)
        if (begins(&path->stages[i], point))
            return true;
    return false;
}

void sweep_plan_init(struct sweep_plan *plan, const struct path *path)
{
    memset(plan, 0, sizeof(*plan));
    plan->path = path;
    plan->fork = POINT_COUNT;
    plan->join = POINT_COUNT;
    for (size_t i = 0; i < path->stage_count; i++) {
        const struct path_stage *stage = &path->stages[i];
        uint64_t bit = 1ull << i;
        plan->opens[stage->from] |= bit;
        if (stage->or_from >= 0)
            plan->opens[stage->or_from] |= bit;
        plan->closes[stage->to] |= bit;
        if (stage->branch < 0)
            plan->main_line |= bit;
        else
            plan->branch[stage->branch] |= bit;
        if (path_stage_counts_peers(stage)) {
            plan->fork = stage->from;
            plan->join = stage->to;
            plan->counting |= bit;
        }

        size_t begin = (size_t)path_point_order(path, stage->from);
        size_t end = (size_t)path_point_order(path, stage->to);
        for (size_t p = 0; p < path->point_count; p++) {
            enum point point = path->points[p];
            if (branch_of_point(path, point) != stage->branch)
                continue;
            if (p > end || (p < begin && begins_a_stage(path, point)))
                plan->closes[point] |= bit;
        }
    }
}

/* The open stages that a mark ends. `peers` has a bit for each peer that was asked and has not
 * answered: stages that count peers go on while there is one. */
static inline uint64_t ended_by(const struct sweep_plan *plan, const struct trail_mark *mark,
                                uint64_t open, uint64_t *peers)
{
    uint64_t closing = open & plan->closes[mark->point];
    if (mark->point == plan->fork) {
        *peers |= sweep_peer_bit(mark->branch);
    } else if (mark->point == plan->join) {
        *peers &= ~sweep_peer_bit(mark->branch);
        if (*peers)
            closing &= ~plan->counting;
    }
    return closing;
}

/* The branch that the answer waited for: of those that had ended by the finish, the last one to
 * end. 0 when there is none. */
uint64_t sweep_awaited(const struct sweep_plan *plan, const struct trail *trail)
{
    uint64_t open = 0;
    uint64_t peers = 0;
    size_t count = plan->path->branch_count;
    uint64_t ended_at[PATH_MAX_STAGES] = {0};
    for (size_t i = 0; i < trail->mark_count; i++) {
        const struct trail_mark *mark = &trail->marks[i];
        if (mark->time_ns > trail->finish_ns)
            break;
        uint64_t closing = ended_by(plan, mark, open, &peers);
        open &= ~closing;
        for (uint64_t rest = closing; rest; rest &= rest - 1) {
            const struct path_stage *stage = &plan->path->stages[__builtin_ctzll(rest)];
            if (stage->branch >= 0 && stage->to == mark->point)
                ended_at[stage->branch] = mark->time_ns;
        }
        open |= plan->opens[mark->point];
    }
    uint64_t winner = 0;
    uint64_t latest = 0;
    for (size_t b = 0; b < count; b++) {
        if (!(open & plan->branch[b]) && !(plan->path->beside >> b & 1) && ended_at[b] > latest) {
            latest = ended_at[b];
            winner = plan->branch[b];
        }
    }
    return winner;
}

static inline int innermost(uint64_t stages)
{
    return 63 - __builtin_clzll(stages);
}

/* Gives the time between two marks, with these stages open, to whom it belongs. */
static inline void divide(const struct sweep_plan *plan, struct sweep_parts *parts, uint64_t open,
                          uint64_t winner, uint64_t before_finish, uint64_t after_finish)
{
    uint64_t on_path = open & plan->main_line;
    if (!on_path)
        on_path = open & winner;
    if (on_path)
        parts->on_path[innermost(on_path)] += before_finish;
    else
        parts->unattributed += before_finish;

    for (size_t b = 0; b < plan->path->branch_count; b++) {
        uint64_t stages = open & plan->branch[b];
        if (!stages)
            continue;
        bool counted = on_path & plan->branch[b];
        parts->beside[innermost(stages)] += after_finish + (counted ? 0 : before_finish);
    }
}

void sweep_trail(const struct sweep_plan *plan, const struct trail *trail,
                 struct sweep_parts *parts)
{
    memset(parts->on_path, 0, plan->path->stage_count * sizeof(parts->on_path[0]));
    memset(parts->beside, 0, plan->path->stage_count * sizeof(parts->beside[0]));
    parts->unattributed = 0;
    parts->passed = 0;
    parts->broken = 0;

    uint64_t winner = plan->path->branch_count ? sweep_awaited(plan, trail) : 0;
    uint64_t finish = trail->finish_ns;
    uint64_t open = 0;
    uint64_t peers = 0;
    uint64_t last = trail->start_ns;
    for (size_t i = 0; i < trail->mark_count; i++) {
        const struct trail_mark *mark = &trail->marks[i];
        if (mark->time_ns > last) {
            uint64_t until = mark->time_ns < finish ? mark->time_ns : finish;
            uint64_t before = until > last ? until - last : 0;
            if (open || before)
                divide(plan, parts, open, winner, before, mark->time_ns - last - before);
            last = mark->time_ns;
        }
        uint64_t closing = ended_by(plan, mark, open, &peers);
        if (closing) {
            open &= ~closing;
            /* closed by a point behind its end: the end itself was not seen */
            for (uint64_t rest = closing; rest; rest &= rest - 1) {
                int stage = __builtin_ctzll(rest);
                if (plan->path->stages[stage].to != mark->point)
                    parts->broken |= 1ull << stage;
            }
        }
        uint64_t opening = plan->opens[mark->point];
        open |= opening;
        parts->passed |= opening;
    }
    /* the finish is a mark of its own, so nothing is left between the last mark and it, unless
     * there were too many marks; what is still open then ends with the op */
    if (finish > last)
        divide(plan, parts, open, winner, finish - last, 0);
    parts->broken |= open & plan->main_line;
}

void sweep_spans(const struct sweep_plan *plan, const struct trail *trail, sweep_span *span,
                 void *context)
{
    uint64_t winner = plan->path->branch_count ? sweep_awaited(plan, trail) : 0;
    uint64_t open = 0;
    uint64_t peers = 0;
    uint64_t last = trail->start_ns;
    for (size_t i = 0; i <= trail->mark_count && last < trail->finish_ns; i++) {
        const struct trail_mark *mark = i < trail->mark_count ? &trail->marks[i] : NULL;
        uint64_t until =
            mark && mark->time_ns < trail->finish_ns ? mark->time_ns : trail->finish_ns;
        if (until > last) {
            uint64_t on_path = open & plan->main_line;
            if (!on_path)
                on_path = open & winner;
            span(context, on_path ? innermost(on_path) : -1, last, until);
            last = until;
        }
        if (!mark)
            break;
        open &= ~ended_by(plan, mark, open, &peers);
        open |= plan->opens[mark->point];
    }
}
