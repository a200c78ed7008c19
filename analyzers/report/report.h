/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_REPORT_H
#define OPTRAIL_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report_tails.h"

/*
 * The report: what folds fill and renderers read. Its JSON form (schema optrail.report/1) is a
 * contract: fields are appended, never renamed. docs/report-json.md lists them.
 * Everything in it is owned by the report; strings are copied in by the report_* functions.
 * Times are ns, sizes bytes, shares fractions of 1.
 */

struct report_latency {
    uint64_t count;
    double mean;
    uint64_t p50, p90, p99, p999, max;
};

struct report_stage {
    char *name;
    char *kind;
    char *text;                    /* one clause: what happens in it */
    char **knobs;                  /* NULL-terminated */
    uint64_t count;                /* ops that passed it */
    uint64_t total_ns;             /* on the ops' critical path */
    uint64_t beside_ns;            /* in a branch that was not the last to end */
    double share;                  /* of all ops' time of this type */
    double tail_share;             /* of the time of the slowest 1 % */
    double largest_share;          /* of the ops: those in which this stage took the most time */
    struct report_latency latency; /* per op that passed it, on the critical path */
    /* what is left of the mean, from 0 to 1, when the slowest 1 % count as slow as the next one: a
     * few stalls are no part of what an op takes; for predictions */
    double typical;
};

/* Ops faster than this and not faster than the bucket before. */
struct report_bucket {
    uint64_t below_ns;
    uint64_t count;
};

/* So long took the ops at this place of the order: 0.5 is the median. */
struct report_quantile {
    double quantile;
    uint64_t ns;
};

struct report_op {
    char *type;
    char *path;   /* the path file's name; "" when no path matched */
    char *daemon; /* whose op it is, by the path; "" likewise */
    uint64_t count;
    uint64_t failed; /* answered with an error */
    uint64_t broken; /* passed a stage whose end was not seen: its length is a guess */
    uint64_t bytes;  /* in and out */
    uint64_t total_ns;
    uint64_t unattributed_ns;
    double unattributed_share;
    double unattributed_tail_share;
    struct report_latency latency;
    size_t stage_count;
    struct report_stage *stages; /* in the order of the path */
    size_t histogram_count;
    struct report_bucket *histogram; /* below powers of two, by these; those without ops are left
                                        out */
    size_t curve_count;
    struct report_quantile *curve; /* by the quantile */
};

struct report_client {
    uint64_t client;
    uint64_t ops;
    uint64_t bytes;
};

/* One op as an example: of the slowest ones. */
struct report_exemplar_stage {
    char *name;
    uint64_t ns; /* on the op's critical path */
};

/* A piece of an op's time, in one stage. */
struct report_exemplar_span {
    char *stage;       /* "unattributed" for none */
    uint64_t begin_ns; /* since the op's start */
    uint64_t ns;
};

struct report_exemplar {
    char *type;
    uint64_t client; /* 0: not known */
    uint64_t tid;    /* the client's transaction number; 0: not known */
    uint64_t start_ns;
    uint64_t latency_ns;
    uint64_t unattributed_ns;
    size_t stage_count;
    struct report_exemplar_stage *stages; /* those it passed, in the order of the path */
    size_t span_count;
    struct report_exemplar_span *spans; /* its critical path in order; the end of a very long one
                                           may be missing */
};

struct report_count { /* a named counter: what was lost or could not be joined */
    char *name;
    uint64_t value;
};

struct report_verdict {
    int rank;
    char *cause;                /* "stage:filestore.lfn_open" */
    char *stage;                /* "" if none */
    double confidence;          /* 0 to 1 */
    double gain;                /* expected, as a fraction of the ops' latency */
    char *text;                 /* one or two plain sentences */
    char **knobs;               /* NULL-terminated */
    char *type;                 /* of the ops that it is about; "": of all */
    double share;               /* of their time, redistributed to what causes it */
    double predicted_ops_per_s; /* without it; 0: not known */
    char *next;                 /* what would be the ceiling then; "": not known */
    char **evidence;            /* NULL-terminated: sentences with figures */
};

/* A part of something: what threads do, what holders do. */
struct report_part {
    char *name;     /* a stage, "lock:NAME" for waiting there, "idle", "elsewhere" */
    uint64_t count; /* of waits, where waits are counted; else 0 */
    uint64_t ns;
    double share;
};

/* A thread at a lock. */
struct report_lock_thread {
    int pid, tid;
    uint64_t acquired; /* 0 where only waits are known */
    uint64_t waits, wait_ns;
    uint64_t blocked, blocked_ns; /* waits of others that it was in the way of */
};

/* One of the locks of a name. */
struct report_lock_instance {
    int pid;
    char *name; /* its number, or its address: "0x7f.." */
    uint64_t waits, wait_ns;
    double busy;
};

struct report_lock_site {
    char *frames; /* parted by ';', the innermost first */
    uint64_t waits, wait_ns;
};

/* All locks of one name. */
struct report_lock {
    char *name;
    char *kind;     /* of the waits: "mutex", "rwlock_write", ... */
    char *class;    /* "lock" or "throttle" */
    char *member;   /* type and member, or what it guards; "" where not known */
    char *stage;    /* the stage that is the wait for it; "" if there is none */
    char *instance; /* of the busiest one */
    uint64_t instances;
    uint64_t acquisitions; /* 0: only waits were told */
    uint64_t waits;
    uint64_t wait_total_ns;
    uint64_t handover_ns; /* of that: nobody held it */
    struct report_latency wait;
    struct report_latency hold; /* of the measured holds */
    uint64_t hold_total_ns;
    uint64_t holds_unmeasured;
    uint64_t unfinished;            /* waits that had not ended when the recording did */
    uint64_t unfinished_longest_ns; /* so far */
    double contended;               /* the part of the hold time in which somebody waited */
    double busy;                    /* the busiest one: the part of the time it was held */
    double busy_low, busy_high;     /* 95 % confidence */
    double ceiling_ops_per_s;       /* what it can serve at most; 0: not known */
    double fairness;                /* Jain's index of the threads' mean waits: 1 is fair */
    uint64_t running_ns, runnable_ns, disk_ns, asleep_ns, chain_ns; /* owners, meanwhile */
    size_t waiter_count;
    struct report_part *waiters; /* by the stage in which they ask */
    size_t holder_count;
    struct report_part *holders; /* by what is done under it */
    size_t thread_count;
    struct report_lock_thread *threads; /* by what they had others wait, most first */
    size_t hottest_count;
    struct report_lock_instance *hottest;
    size_t site_count;
    struct report_lock_site *sites; /* by time */
};

/* A stage in which ops wait for a thread, and the threads that take them. */
struct report_queue {
    char *stage;
    uint64_t ops;
    uint64_t wait_total_ns;
    double rate;       /* arrivals a second */
    uint64_t servers;  /* threads that take ops from it */
    double busy;       /* of all of them */
    double busiest;    /* of the busiest one */
    double service_ns; /* a thread's time an op */
    double batch;      /* ops that are taken at once */
    bool batches;      /* all that are there are taken at once */
    bool shared;       /* any of the threads takes any op: busier than others is none for long */
    double idle_share; /* of the waiting: the thread that took the op was free */
    /* for predictions: how long ops waited for a thread that was free, and to have it awake; and
     * how busy the busiest thread is without its waiting for locks */
    uint64_t late_ns;
    double busiest_alone;
    double ceiling_ops_per_s;
    size_t part_count;
    struct report_part *parts; /* what the threads are busy with */
};

/* What threads do while an op is in a stage: its own work, or waiting for locks. */
struct report_activity {
    char *stage;
    uint64_t ns;       /* of threads */
    uint64_t locks_ns; /* of it: waiting for locks */
    size_t part_count;
    struct report_part *parts; /* "lock:NAME" */
};

/* One of several daemons that the report is of: a line about each, the tables are of all. */
struct report_source {
    char *daemon;
    char *id; /* "" where not known */
    char *version;
    char *store;
    int pid; /* the newest one, if the daemon was restarted */
    uint64_t restarts;
    uint64_t events;
    uint64_t ops; /* finished */
    uint64_t incomplete;
    uint64_t lost_events;
    char *type;                    /* of the ops that took the most time; "" when there were none */
    struct report_latency latency; /* of these */
};

/* A peer that gets copies of the ops. */
struct report_peer {
    int pid;                       /* of the process that asks */
    uint64_t peer;                 /* its number there */
    uint64_t asked;                /* copies handed to it */
    uint64_t last;                 /* ops whose answer waited for it longest */
    double last_share;             /* of those that it was asked for */
    struct report_latency latency; /* from asked to answered; its count: answers */
};

/* What the daemon had of the CPUs, where it was watched while it ran. */
struct report_cpu {
    bool known;
    double seconds;   /* between the two looks */
    uint64_t cpus;    /* on which its threads may run */
    double busy;      /* of these: the part of the time, whoever ran */
    uint64_t run_ns;  /* its threads ran, all together */
    uint64_t wait_ns; /* they were runnable and did not run */
    uint64_t threads; /* at the end */
    uint64_t ended;   /* threads that were there at the beginning only: theirs is not in the sums */
};

/* A figure of somebody else's tool, as it said it or as it follows from what it said. */
struct report_figure {
    char *source; /* the file and the part of it */
    char *name;   /* "latency.mean" */
    double value;
    char *unit; /* "s", "op/s", "B/s", "" for a number */
};

/* How many ops finished in which span of time and took how long. Only where windows of time
 * were asked for (analyzers/fold/windows.h); not in the JSON. */
struct report_heat {
    uint64_t begin_ns;
    uint64_t window_ns; /* length of a span */
    size_t window_count;
    size_t row_count;
    uint64_t *row_low_ns; /* the least latency of each row */
    uint64_t *cells;      /* ops; of span w: cells[w * row_count + row] */
};

struct report {
    struct {
        char *kind;   /* "lttng", "bpf", "ctf", "import" */
        char *daemon; /* "" where not known */
        char *id;
        char *version;
        char *store;
        int pid; /* 0: not known */
        double seconds;
        uint64_t begin_ns, end_ns; /* from when to when, as `seconds`; 0: not known */
        uint64_t clock_jumps;      /* of a damaged clock: what it jumped over is not in `seconds` */
        double traced_seconds;     /* of these; less only where the tracer paused (--duty) */
        double locks_seconds; /* of these, when waits for locks were looked at; 0: all of them */
    } source;
    struct {
        uint64_t events;
        uint64_t ops; /* finished */
        uint64_t lost_events;
        uint64_t unmatched_events;
        size_t incomplete_count;
        struct report_count *incomplete; /* by reason: "timeout", "open", ... all reasons, 0 too */
        size_t other_count;
        struct report_count *others; /* further losses, by name */
    } counts;
    size_t op_count;
    struct report_op *ops; /* by total time, most first */
    size_t client_count;
    struct report_client *clients; /* by ops, most first */
    size_t peer_count;
    struct report_peer *peers; /* by process and number */
    size_t verdict_count;
    struct report_verdict *verdicts;
    size_t source_count; /* 0 where the report is of one daemon: `source` has all */
    struct report_source *sources;
    size_t each_count; /* whole reports of the several daemons, when they are wanted */
    struct report **each;
    size_t note_count;
    char **notes; /* sentences for people: what was not measured, what to do about it */
    size_t exemplar_count;
    struct report_exemplar *exemplars; /* the slowest ops, the slowest first */
    size_t lock_count;
    struct report_lock *locks; /* by the time waited for them, most first */
    size_t queue_count;
    struct report_queue *queues; /* in the order of the paths */
    size_t activity_count;
    struct report_activity *activities; /* by time, most first */
    struct {
        double seconds;        /* from the first point of an op to the last; 0: not known */
        double in_flight;      /* ops under way, on average */
        double peak;           /* the number that was not exceeded for 95 % of the time */
        double steady;         /* on average without the first and last eighth of the time, in which
                                  they become many, or few */
        double rate;           /* ops a second, answered */
        bool known;            /* queues and activities are; not so where the kernel folds */
        bool locks_known;      /* the trace tells of locks */
        uint64_t locks;        /* names of locks that are told of, also those nobody waited for */
        uint64_t acquisitions; /* of them all, as far as they are told */
    } load;
    struct report_cpu cpu;
    size_t tail_count;
    struct report_tail *tails; /* by type, as in `ops` */
    size_t population_count;
    struct report_population *populations; /* likewise */
    size_t stall_count;
    struct report_stall *stalls; /* at most one: of all stalls */
    size_t rhythm_count;
    struct report_rhythm *rhythms; /* at most one */
    size_t figure_count;
    struct report_figure *figures; /* of imported evidence, in its order */
    struct report_heat heat;
};

/* Makes an empty report; owned by the caller. All adders return 0 or -ENOMEM with the message.
 */
int report_new(struct report **report);
void report_free(struct report *report);

int report_set_string(char **field, const char *value); /* frees the old value */
int report_add_op(struct report *report, const char *type, const char *path,
                  struct report_op **op); /* *op is weak, valid until the next add */
int report_add_stage(struct report_op *op, const char *name, const char *kind, const char *text,
                     char *const *knobs, struct report_stage **stage);
int report_add_bucket(struct report_op *op, uint64_t below_ns, uint64_t count);
int report_add_quantile(struct report_op *op, double quantile, uint64_t ns);
/* *source is weak, valid until the next add; its strings are "" */
int report_add_source(struct report *report, struct report_source **source);
int report_add_each(struct report *report, struct report *one); /* takes it over */
int report_add_client(struct report *report, struct report_client client);
int report_add_peer(struct report *report, const struct report_peer *peer); /* copies */
/* Copies the type; client, tid and times are the caller's to set in *exemplar, which is weak
 * and valid until the next add. */
int report_add_exemplar(struct report *report, const char *type, struct report_exemplar **exemplar);
int report_add_exemplar_stage(struct report_exemplar *exemplar, const char *name, uint64_t ns);
int report_add_exemplar_span(struct report_exemplar *exemplar,
                             const struct report_exemplar_span *span); /* copies */
int report_add_incomplete(struct report *report, const char *name, uint64_t value);
int report_add_other(struct report *report, const char *name, uint64_t value);
/* The further counter of that name, weak until the next is added; NULL: there is none. */
struct report_count *report_find_other(const struct report *report, const char *name);
int report_add_verdict(struct report *report, const struct report_verdict *verdict); /* copies */
/* Rows are weak and valid until the next add of the same kind; their strings are "". */
int report_add_lock(struct report *report, const char *name, struct report_lock **lock);
int report_add_queue(struct report *report, const char *stage, struct report_queue **queue);
int report_add_activity(struct report *report, const char *stage,
                        struct report_activity **activity);
/* Adds to the part of that name, or makes it. */
int report_add_part(struct report_part **parts, size_t *count, const char *name, uint64_t ns);
int report_add_lock_thread(struct report_lock *lock, const struct report_lock_thread *thread);
int report_add_lock_instance(struct report_lock *lock, const char *name,
                             const struct report_lock_instance *instance); /* copies */
int report_add_lock_site(struct report_lock *lock, const char *frames, uint64_t waits,
                         uint64_t wait_ns);
/* Sorts by time, the most first, and sets the shares of the whole. */
void report_sort_parts(struct report_part *parts, size_t count);

int report_add_figure(struct report *report, const char *source, const char *name, double value,
                      const char *unit); /* copies */
/* Makes the heat's arrays: zeros. Once. */
int report_make_heat(struct report *report, size_t windows, size_t rows);
/* Whether it says what other tools printed: of its ops neither their times, their failures nor
 * their tail are known, and their bytes only where there are any. */
bool report_is_imported(const struct report *report);
/* Whether the bytes of the ops are known: what other tools printed seldom tells them. */
bool report_tells_bytes(const struct report *report, const struct report_op *op);
int report_add_note(struct report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
