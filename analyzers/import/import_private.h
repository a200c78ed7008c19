/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_IMPORT_PRIVATE_H
#define OPTRAIL_IMPORT_PRIVATE_H

#include "import.h"

/* What the readers of formats have in common. None returns a failure: the first one is kept, and
 * import_take and import_finish return it. */

/* No figure of this unit is larger. */
double import_largest(const char *unit);
/* Whether a figure of this unit can be: no number, a negative one and one that is larger than
 * anything is are counted. */
bool import_possible(struct import *import, double value, const char *unit);
/* Adds a figure that can be; false for another. */
bool import_figure(struct import *import, const char *source, const char *name, double value,
                   const char *unit);
/* The figure behind a key in a line. False: the key is not there, or nothing behind it, or what
 * cannot be, which is counted. */
bool import_scan(struct import *import, const char *line, const char *key, const char *unit,
                 double *value);
/* A reading; `cause` is the contract word for programs: "stuck", "stall", "contradiction", ... */
void import_say(struct import *import, const char *cause, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void import_note(struct import *import, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Counts what could not be used. */
void import_count(struct import *import, const char *name, uint64_t value);
void import_incomplete(struct import *import, const char *reason, uint64_t value);

#define IMPORT_STAGES 48

struct import_op {
    char type[64];
    uint64_t client, tid;
    int64_t start_ns;
    uint64_t latency_ns;
    uint64_t bytes; /* in and out, where `sized` */
    bool sized;
    size_t stage_count;
    struct {
        const char *name, *kind; /* literals */
        uint64_t ns;
    } stages[IMPORT_STAGES];
};

/* The time of that stage of the op, to add to; the last one when there are too many. */
uint64_t *import_stage(struct import_op *op, const char *name, const char *kind);
void import_add_op(struct import *import, const struct import_op *op);
/* Whether an op of this key (told_ops.h) was told before, in any dump; counted then. */
bool import_told_again(struct import *import, uint64_t key);

/* A benchmark's run, to be compared with the others of its kind when all are read. */
struct import_run {
    char source[160];
    const char *kind; /* a literal */
    char file[96]; /* runs of one kind are compared only with those of other files; "": with any */
    char workload[96];                        /* and only with those of the same workload */
    double depth, rate, bandwidth, latency_s; /* 0: not known; rate in ops a second */
};
void import_add_run(struct import *import, const struct import_run *run);

/* The readers. */
size_t read_optracker(struct import *import, const struct evidence *evidence);
size_t read_rados_bench(struct import *import, const struct evidence *evidence);
size_t read_rbd_bench(struct import *import, const struct evidence *evidence);
size_t read_fio(struct import *import, const struct evidence *evidence);
size_t read_slow_requests(struct import *import, const struct evidence *evidence);
size_t read_perf_dump(struct import *import, const struct evidence *evidence);
size_t read_osd_perf(struct import *import, const struct evidence *evidence);
size_t read_osdtrace(struct import *import, const struct evidence *evidence);
size_t read_radostrace(struct import *import, const struct evidence *evidence);
size_t read_perf_text(struct import *import, const struct evidence *evidence);
size_t read_stated(struct import *import, const struct evidence *evidence);

#endif
