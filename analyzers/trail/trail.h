/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TRAIL_H
#define OPTRAIL_TRAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"
#include "points.h"

/* Something that happened to an op. */
struct trail_mark {
    uint64_t time_ns;
    uint32_t tid;
    uint16_t point;  /* enum point */
    uint16_t branch; /* FORK and JOIN: the branch's number; else 0 */
};

/* Why a trail ended. */
enum trail_end {
    TRAIL_FINISHED,
    TRAIL_TIMEOUT,     /* open longer than the limit */
    TRAIL_KEY_REUSED,  /* a new op began under its key */
    TRAIL_KEY_ENDED,   /* the key died without a finish: an op of a kind that is not answered */
    TRAIL_LOST_EVENTS, /* the tracer lost events while it was open */
    TRAIL_EVICTED,     /* too many trails were open */
    TRAIL_OPEN,        /* the data ended before it did */
    TRAIL_CUT,         /* the tracer looked away (PAUSE) before it ended */
    TRAIL_END_COUNT
};

/* Names as in the report's JSON: "timeout", "key_reused", ... */
extern const char *const trail_end_names[TRAIL_END_COUNT];

/* Points that a trail has passed, as a bit set indexed by enum point. */
#define TRAIL_POINT_WORDS ((POINT_COUNT + 63) / 64)

/* One op, complete or closed by force. Valid only during the callback. */
struct trail {
    uint64_t key;      /* the key it began under */
    uint64_t client;   /* 0: not known */
    uint64_t tid;      /* the client's transaction number; 0: not known */
    uint64_t type;     /* arg0 of its start */
    uint64_t bytes_in; /* of its finish */
    uint64_t bytes_out;
    uint64_t start_ns;  /* earliest mark: a stamp may lie before the start event */
    uint64_t finish_ns; /* TRAIL_FINISHED only */
    uint64_t seen[TRAIL_POINT_WORDS];
    uint32_t pid;
    enum trail_end end;
    bool truncated;                 /* it had more marks than the limit: the rest is missing */
    size_t mark_count;              /* at least 1 */
    const struct trail_mark *marks; /* in time order; weak */
};

static inline bool trail_passed(const struct trail *trail, enum point point)
{
    return trail->seen[point / 64] >> (point % 64) & 1;
}

/* What was done with the events. Every event is in exactly one of joined, notes,
 * unmatched and at_pauses. */
struct trail_counts {
    uint64_t joined;                 /* events that belong to a trail */
    uint64_t notes;                  /* events that belong to none by design */
    uint64_t unmatched;              /* events whose key or thread leads to no open trail */
    uint64_t of_which_before_start;  /* unmatched, before that key's first start: the op was under
                                        way when tracing began (or its start was lost) */
    uint64_t of_which_after_finish;  /* unmatched, after the op was answered */
    uint64_t ended[TRAIL_END_COUNT]; /* trails by how they ended */
    uint64_t at_pauses;      /* events of ops whose start was not told because the tracer looks only
                                for a part of the time (PAUSE, RESUME); not among the unmatched */
    uint64_t begun_before;   /* ops that were answered, but begun before tracing was */
    uint64_t traced_ns;      /* for how long starts were told, when there were pauses; else 0 */
    uint64_t stamps_refused; /* stamps from the future or the far past: not believed */
    uint64_t backwards;      /* events older than the newest one seen: their time was kept */
};

/* Adds `from` to `to`. */
void trail_counts_add(struct trail_counts *to, const struct trail_counts *from);

struct trail_limits {
    uint64_t timeout_ns; /* an open trail older than this is closed; 0: 60 s */
    size_t open_trails;  /* at most so many open at once; 0: 16,384 */
    size_t marks;        /* at most so many marks a trail; 0: 1,024 */
};

struct trail_builder;

/* Called for each trail that ends, in the order of their ends, with every reason. Negative errno
 * stops. */
typedef int trail_callback(void *context, const struct trail *trail);

/* Makes a builder; NULL limits: the defaults. Owned by the caller, who frees it. */
int trail_builder_new(const struct trail_limits *limits, trail_callback *callback, void *context,
                      struct trail_builder **builder);
void trail_builder_free(struct trail_builder *builder);

/* Takes one event; events come in time order (a little disorder is borne and counted). Amortised
 * constant time; memory is bounded by the limits. Not thread-safe. */
int trail_builder_event(struct trail_builder *builder, const struct optrail_event *event);

/* The op that the thread works for now, by its key at its start, and the point that it has passed
 * last; false: none that is open. As of the events taken so far. */
bool trail_builder_current(struct trail_builder *builder, uint32_t pid, uint32_t tid, uint64_t *op,
                           uint16_t *point);

/* The tracer lost events in [begin, end]: trails that were open then end as TRAIL_LOST_EVENTS
 * when they finish. */
int trail_builder_lost(struct trail_builder *builder, uint64_t begin_ns, uint64_t end_ns);

/* The data has ended: closes what is open. The builder may only be freed after it. */
int trail_builder_end(struct trail_builder *builder);

const struct trail_counts *trail_builder_counts(const struct trail_builder *builder);

#endif
