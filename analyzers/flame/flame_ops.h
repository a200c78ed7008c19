/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_FLAME_OPS_H
#define OPTRAIL_FLAME_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "path.h"
#include "sweep.h"
#include "trail.h"

/*
 * One finished op, taken apart: its type, and which stage it was in at which time.
 */
struct flame_span {
    int stage; /* of the path; -1: none */
    uint64_t begin_ns, end_ns;
};

struct flame_op {
    const struct trail *trail; /* weak */
    struct path_match match;   /* path and type NULL: none matched */
    const char *type;          /* weak: the type's name, or "other" */
    uint64_t latency_ns;
    size_t span_count;
    struct flame_span *spans; /* owned; in order, without gaps, from start to finish */
    size_t room;
    struct sweep_plan plan; /* of the path that was looked at last */
};

/* Takes the trail apart; `op` is reused from call to call, and zero before the first. -ENOMEM with
 * the message. */
int flame_op_take(struct flame_op *op, const struct path_set *paths, const struct trail *trail);
void flame_op_free(struct flame_op *op);

/* Whether the thread went on with the op after this time, before it turned to anything else: what
 * it did there was for the op. A thread that went idle while its op was under way elsewhere is told
 * from one that waited for it by what it does next. */
bool flame_op_goes_on(const struct flame_op *op, uint32_t tid, uint64_t time_ns);

/* The stage at this time; NULL: none. Weak. */
const struct path_stage *flame_op_stage(const struct flame_op *op, uint64_t time_ns);

#endif
