/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_SCALING_H
#define OPTRAIL_SCALING_H

#include <stdbool.h>
#include <stddef.h>

/*
 * How throughput goes with depth (or threads, or clients): what `optrail scale` makes and its
 * renderers read. Everything is owned by struct scaling; 0 stands for "not known". Times are ns.
 */

/* A figure and its 95 % interval. */
struct scaling_figure {
    double value, low, high;
};

struct scaling_point {
    double depth;
    double rate;          /* ops a second */
    double latency_ns;    /* mean; 0: not told */
    double latency_step;  /* ns that the last digit of the latency stands for */
    double in_flight;     /* rate times latency (Little's law); 0: no latency */
    double fitted;        /* rate after the fit; 0: no fit */
    bool outside;         /* of the fit: below the depth from which on it holds */
    bool against_littles; /* the point contradicts Little's law */
    unsigned line;        /* of the table; 0: a run */
};

/* What could be the serial part: a lock, the threads behind a queue, the CPUs. */
struct scaling_cause {
    char *kind; /* "lock", "queue" or "cpu" */
    char *name;
    double busy;      /* at the greatest depth */
    double demand_ns; /* its time an op, by the utilisation law: busy / rate */
};

/* A stage, and how an op's time in it goes with depth. */
struct scaling_stage {
    char *name;
    double low_ns, high_ns; /* an op, at the smallest and the greatest depth */
    double growth_share;    /* of what an op takes longer */
};

struct scaling_series {
    char *group; /* the heading above it; "" if none */
    char *name;  /* "" if none */
    bool runs;   /* made of reports and traces */
    size_t point_count;
    struct scaling_point *points; /* by depth */
    bool fitted;
    double fit_from;                  /* the depth from which on the fit holds */
    double fit_error;                 /* root mean square of the relative differences */
    struct scaling_figure rate1;      /* ops a second at depth 1 */
    struct scaling_figure contention; /* sigma */
    struct scaling_figure coherency;  /* kappa */
    double peak_depth, peak_rate;     /* of the fitted curve; 0: it has no peak */
    double limit_rate;                /* what contention alone allows; 0: no limit */
    bool flat;                        /* throughput stays where it is beyond the knee */
    double knee;                      /* where more depth ceases to help; 0: not seen */
    struct scaling_figure ceiling;    /* ops a second, where it is flat */
    struct scaling_figure demand_ns;  /* of the serial stage: 1 / ceiling */
    size_t cause_count;
    struct scaling_cause *causes; /* the busiest first */
    size_t stage_count;
    struct scaling_stage *stages; /* by growth, most first */
    size_t sentence_count;
    char **sentences; /* what that means */
};

struct scaling {
    size_t series_count;
    struct scaling_series *series;
    size_t note_count;
    char **notes; /* about several series together */
};

/* Makes an empty one; owned by the caller. Adders return 0 or -ENOMEM with the message; what they
 * hand out is weak and valid until the next add. */
int scaling_new(struct scaling **scaling);
void scaling_free(struct scaling *scaling); /* NULL is fine */
int scaling_add_series(struct scaling *scaling, const char *group, const char *name,
                       struct scaling_series **series);
int scaling_add_point(struct scaling_series *series, const struct scaling_point *point);
int scaling_add_cause(struct scaling_series *series, const char *kind, const char *name,
                      struct scaling_cause **cause);
int scaling_add_stage(struct scaling_series *series, const char *name,
                      struct scaling_stage **stage);
int scaling_say(struct scaling_series *series, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int scaling_note(struct scaling *scaling, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
