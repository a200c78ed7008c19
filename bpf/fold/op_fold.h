/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
#ifndef OPTRAIL_OP_FOLD_H
#define OPTRAIL_OP_FOLD_H

#include "event.h"
#include "histogram.h"

/*
 * What the fold in the kernel and its readers agree on: the tables that tell it of paths and types,
 * the ops that it has open, and the cells into which it sums up.
 *
 * The fold keeps each open op's marks in a slot and divides its time when the op has been answered,
 * by the same rules as the trail builder and the sweep do in user space. Nothing but sums and the
 * slowest ops come up. Shared with BPF: vmlinux.h or <stdint.h> comes before it.
 */

#define FOLD_SLOTS       8192 /* open ops at once; beyond it the oldest are given up */
#define FOLD_MARKS       128  /* of one op; more are not kept, and such ops are counted */
#define FOLD_NAMES       6    /* keys an op may live under at once */
#define FOLD_NAME_ROWS   (4 * FOLD_SLOTS)
#define FOLD_PAST        32768 /* keys in use lately */
#define FOLD_DEPTH       8     /* ops a thread works for at once */
#define FOLD_THREADS     16384
#define FOLD_CLIENTS     2048 /* beyond it the rest is summed up as client 0 */
#define FOLD_STAGES      64
#define FOLD_BRANCHES    16
#define FOLD_ANSWERED    8192 /* answered ops that wait to be folded */
#define FOLD_SLOWEST     8    /* ops that come up whole, as many as a report shows */
#define FOLD_POINT_WORDS ((POINT_COUNT + 63) / 64)
#define FOLD_NO_SLOT     0xffffffffu
#define FOLD_NO_POINT    0xffu
#define FOLD_PEERS       256 /* the last row is for those beyond it */
#define FOLD_ASKED       16  /* peers that an op waits for at once, whose answers are timed */

/* An answered op is folded so much later: an event whose thread was put aside between its time and
 * its record still finds its op. */
#define FOLD_RIPE_NS 5000000ull

struct fold_name {
    uint64_t key;
    uint32_t pid;
    uint32_t kind; /* enum key_kind */
};

/* An op: the slot, and which of those that lived there one after the other. */
struct fold_ref {
    uint32_t slot;
    uint32_t state; /* odd: see fold_op.state */
};

struct fold_mark {
    uint64_t time_ns;
    uint32_t tid;
    uint16_t branch; /* FORK and JOIN: the branch's number */
    uint8_t point;   /* enum point, or FOLD_NO_POINT */
    uint8_t unused;
};

/* An open op. What comes up as an exemplar is this struct as it is. */
struct fold_op {
    /* odd while the op is open; raised by one when it begins and when it ends, so that who comes
     * to it by an old way knows that it is another one's now */
    uint32_t state;
    uint32_t count; /* marks, also those that found no room */
    uint32_t pid;
    uint32_t name_count;
    int32_t open_branches;
    uint32_t answered;
    uint32_t type_row; /* exemplars: its row in the table of types */
    uint32_t broken;
    uint64_t key, type, client, tid;
    uint64_t start_ns;  /* earliest mark */
    uint64_t finish_ns; /* when it was answered */
    uint64_t closed_ns; /* answered, and no branch open: what comes later comes too late */
    uint64_t bytes_in, bytes_out;
    uint64_t seen[FOLD_POINT_WORDS]; /* points of marks that found no room; when folded: all */
    struct fold_name names[FOLD_NAMES];
    struct fold_mark marks[FOLD_MARKS];
};

/* A path, as sweep_plan has it: bit i stands for stage i. */
struct fold_plan {
    uint64_t opens[POINT_COUNT];
    uint64_t closes[POINT_COUNT];
    uint64_t ends[POINT_COUNT]; /* stages whose own end the point is */
    uint64_t main_line;
    uint64_t branch[FOLD_BRANCHES];
    uint64_t counting; /* stages that wait for all peers */
    uint64_t beside;   /* branches that the answer never waits for, by number */
    uint32_t fork, join;
    uint32_t branch_count;
    uint32_t stage_count;
};

/* A type of ops. The table is in the order in which types are tried: those with the most conditions
 * first. The last row is for ops that meet none. */
struct fold_type {
    uint64_t passes[FOLD_POINT_WORDS];
    uint64_t start_type;
    uint32_t any_start_type;
    int32_t bytes_in, bytes_out; /* 1: needs them, 0: must have none, -1: any */
    uint32_t plan;               /* index of its path; FOLD_NO_SLOT: none */
    uint32_t stage_count;
    uint32_t base; /* its first cell */
};

struct fold_point {
    uint16_t role;
    uint16_t key;
};

/* Set before loading. */
struct fold_settings {
    uint32_t slot_count; /* a power of two, at most FOLD_SLOTS */
    uint32_t type_count; /* with the last row */
    uint32_t peer_cells; /* the first of the peers' cells; 0: no path counts peers */
    uint32_t unused;
    uint64_t timeout_ns; /* an op that is open for longer is given up */
    uint64_t ripe_ns;
};

struct fold_client {
    uint64_t ops;
    uint64_t bytes;
};

/* Which row of cells a peer has. */
struct fold_peer_row {
    uint64_t peer; /* process << 32 | number */
    uint32_t row;
};

struct fold_client_row {
    uint64_t client;
    struct fold_client sums;
};

/* For which ops a thread works; the newest on top. `top` only grows, `height` is how many of the
 * entries below it are in use. */
struct fold_thread {
    uint32_t top;
    uint32_t height;
    struct fold_ref stack[FOLD_DEPTH];
};

/* The parts of one op while it is folded. on_path and beside are all zero between two ops. */
struct fold_workspace {
    uint64_t on_path[FOLD_STAGES];
    uint64_t beside[FOLD_STAGES];
    uint64_t ended_at[FOLD_BRANCHES];
    uint64_t seen[FOLD_POINT_WORDS];
    uint64_t open, peers, passed, broken, winner;
    uint64_t unattributed;
    uint64_t last_ns, finish_ns;
    uint64_t most;
    /* peers that were asked and have not answered: process and number; 0: none */
    uint64_t asked_peer[FOLD_ASKED], asked_ns[FOLD_ASKED];
    uint32_t largest, bucket;
    uint32_t last_peer; /* its row, that answered last before the finish */
};

/*
 * The cells: one flat array of 64-bit sums. First the counters, then for each type an area of its
 * own. What is a sum of others is not kept: counts follow from the buckets, totals from the rows.
 */
enum fold_counter {
    FOLD_NOTES,
    FOLD_UNMATCHED,
    FOLD_BEFORE_START, /* of the unmatched */
    FOLD_AFTER_FINISH,
    FOLD_BEGUN_BEFORE, /* finishes of ops that began before tracing did */
    FOLD_STAMPS_REFUSED,
    FOLD_TRUNCATED,     /* ops with more marks than there is room for, or more names */
    FOLD_NOT_SHOWN,     /* slow ops that found no room on their way up */
    FOLD_SLOT_LESS,     /* starts that found no slot, not even by eviction: ops not seen */
    FOLD_PEERS_CROWDED, /* peers that were asked beyond FOLD_ASKED at once: not timed */
    FOLD_NAME_LESS,     /* keys that found no row: what comes under them is unmatched */
    FOLD_THREAD_LESS,   /* threads that found no row */
    FOLD_OTHER_CLIENTS, /* ops of clients beyond the limit, or not known */
    FOLD_OTHER_BYTES,
    FOLD_SLOW_BOUND, /* latency that an op must exceed to come up whole */
    FOLD_SLOW_FIRST, /* latencies of the slowest ops, in no order */
    FOLD_ENDED = FOLD_SLOW_FIRST + FOLD_SLOWEST, /* by enum trail_end */
    FOLD_COUNTERS = FOLD_ENDED + 16
};

/* How an op ended: the numbers of enum trail_end. */
enum fold_end {
    FOLD_FINISHED,
    FOLD_TIMEOUT,
    FOLD_KEY_REUSED,
    FOLD_KEY_ENDED,
    FOLD_LOST_EVENTS,
    FOLD_EVICTED,
    FOLD_OPEN,
};

/* The cells of a type, from its base. Minima are kept as their complement, so that zero is "none"
 * and every cell only grows. */
enum fold_cell { FOLD_FAILED, FOLD_BROKEN, FOLD_BYTES, FOLD_MAX, FOLD_NOT_MIN, FOLD_TYPE_CELLS };
enum fold_stage_cell {
    FOLD_STAGE_MAX,
    FOLD_STAGE_NOT_MIN,
    FOLD_STAGE_BESIDE,
    FOLD_STAGE_LARGEST,
    FOLD_STAGE_CELLS
};

enum fold_peer_cell {
    FOLD_PEER_ASKED,
    FOLD_PEER_LAST,
    FOLD_PEER_SUM,
    FOLD_PEER_MAX,
    FOLD_PEER_NOT_MIN,
    FOLD_PEER_BUCKETS,
    FOLD_PEER_CELLS = FOLD_PEER_BUCKETS + HISTOGRAM_BUCKETS
};

/* Cells of stage `stage`; `stage_count` stands for unattributed. */
static inline uint32_t fold_stage_cells(uint32_t base, uint32_t stage)
{
    return base + FOLD_TYPE_CELLS + stage * FOLD_STAGE_CELLS;
}

/* The latency buckets of the type. */
static inline uint32_t fold_buckets(uint32_t base, uint32_t stage_count)
{
    return fold_stage_cells(base, stage_count + 1);
}

/* The buckets of one stage. */
static inline uint32_t fold_stage_buckets(uint32_t base, uint32_t stage_count, uint32_t stage)
{
    return fold_buckets(base, stage_count) + (stage + 1) * HISTOGRAM_BUCKETS;
}

/* The stages' times of the ops in one latency bucket: stage_count + 1, the last unattributed. */
static inline uint32_t fold_row(uint32_t base, uint32_t stage_count, uint32_t bucket)
{
    return fold_stage_buckets(base, stage_count, stage_count) + bucket * (stage_count + 1);
}

/* How many cells a type takes. */
static inline uint32_t fold_type_cells(uint32_t stage_count)
{
    return fold_row(0, stage_count, HISTOGRAM_BUCKETS);
}

static inline uint64_t fold_name_hash(const struct fold_name *name)
{
    uint64_t h = (name->key ^ ((uint64_t)name->pid << 32 | (uint64_t)name->kind << 24)) *
                 0x9e3779b97f4a7c15ull;
    return h ^ h >> 32;
}

/* Everything that the fold is told: made from path files, loaded into the maps. Owned by whoever
 * made it. */
struct fold_tables {
    struct fold_settings settings;
    uint32_t plan_count; /* at least 1 */
    struct fold_plan *plans;
    struct fold_type *types; /* settings.type_count */
    uint32_t cell_count;
};

#endif
