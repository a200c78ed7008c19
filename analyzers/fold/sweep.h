/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_SWEEP_H
#define OPTRAIL_SWEEP_H

#include <stdint.h>

#include "path.h"
#include "trail.h"

/*
 * How one op's time is divided among the stages of its path.
 *
 * The marks of a trail are walked in time order; between two marks the time belongs to the
 * innermost stage that is open, and to none ("unattributed") when none is. So every instant from
 * start to finish belongs to exactly one stage, and the parts add up to the latency to the
 * nanosecond, whatever the path file says.
 *
 * Where branches run in parallel, the answer waited for the one that ended last before the
 * finish: that one is on the critical path. (Not one that the path lists under `beside`: those the
 * answer never waits for.) Time in the others, and in a branch that was still
 * running when the op was answered, is counted beside it. While a stage of the main line is open
 * the answer waits for that, not for a branch.
 *
 * A stage from a fork to a join (replica.fork to replica.join, say) stands for the wait for all
 * peers together: it begins with the first fork and ends with the join after which no peer that
 * was asked is without an answer. Forks and joins carry the peer's number; of the number the
 * lowest six bits count.
 *
 * A stage whose end was never seen is closed by the next point of its line (the main one, or its
 * branch) that lies behind its end in the op's life, so that a lost mark does not make a stage
 * swallow the rest of the op. And an op that goes back in its life (it was put into a queue once
 * more) is no longer in the stages that begin behind that point.
 */

/* A path in the form the walk wants: bit i stands for stage i. */
struct sweep_plan {
    const struct path *path; /* weak */
    uint64_t opens[POINT_COUNT];
    uint64_t closes[POINT_COUNT];
    uint64_t main_line;               /* stages on no branch */
    uint64_t branch[PATH_MAX_STAGES]; /* stages of branch i; there are at most as many branches */
    uint64_t counting;                /* stages that wait for all peers */
    enum point fork, join;            /* of these stages; POINT_COUNT when there are none */
};

/* A peer in the set of those that were asked and have not answered. */
static inline uint64_t sweep_peer_bit(uint16_t number)
{
    return 1ull << (number % 64);
}

void sweep_plan_init(struct sweep_plan *plan, const struct path *path);

/* The parts of one op, ns. */
struct sweep_parts {
    uint64_t on_path[PATH_MAX_STAGES];
    uint64_t beside[PATH_MAX_STAGES];
    uint64_t unattributed;
    uint64_t passed; /* stages that were opened */
    uint64_t broken; /* of these, those whose own end was not seen before the finish */
};

/* The stages of the branch that a finished trail's answer waited for; 0: of none. */
uint64_t sweep_awaited(const struct sweep_plan *plan, const struct trail *trail);

/* Divides a finished trail: on_path and unattributed add up to finish_ns - start_ns. */
void sweep_trail(const struct sweep_plan *plan, const struct trail *trail,
                 struct sweep_parts *parts);

/* Called for each part of the op's time, in order and without gaps; `stage` is the innermost stage
 * on the critical path, -1: none. */
typedef void sweep_span(void *context, int stage, uint64_t begin_ns, uint64_t end_ns);

/* The same division as intervals: those of a stage add up to its on_path. */
void sweep_spans(const struct sweep_plan *plan, const struct trail *trail, sweep_span *span,
                 void *context);

#endif
