/* SPDX-License-Identifier: MIT */
/*
 * bench-locks [-p PID [-o ONE_IN]] [PAIRS]: what capturing contended waits costs who waits, and the
 * tracer; and how it changes what it looks at. Slices with the capture alternate with slices
 * without, in one run; what is printed is ratios of the two, and what the kernel says that its
 * programs took.
 *
 * With -p a running process is looked at in place of the bench's own: only the kernel's figures.
 * With -o waits are captured in slices of the time, one in so many parts of it.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "contended_work.h"
#include "clock_ns.h"
#include "err.h"
#include "lock_capture.h"
#include "paired_stats.h"

#define SLICE_NS  150000000ull
#define MAX_PAIRS 200

struct slice {
    double turns;  /* a second */
    double cpu_us; /* a turn */
};

struct figures {
    double faster[MAX_PAIRS]; /* turns with / without */
    double dearer[MAX_PAIRS]; /* CPU a turn, with / without */
    uint64_t waits, delivered;
    uint64_t traced_ns;
    uint64_t program_ns, tracer_ns;
    struct lock_capture_spent spent; /* program by program */
    unsigned slices; /* whose waits the tracer took in this time, for one that was counted */
    /* what the programs take while nobody is captured */
    uint64_t others_ns, others_runs, others_traced_ns;
};

static void sleep_ns(uint64_t ns)
{
    struct timespec time = {.tv_sec = (time_t)(ns / 1000000000u),
                            .tv_nsec = (long)(ns % 1000000000u)};
    nanosleep(&time, NULL);
}

/* What was spent between the two looks. */
static void add_spent(struct figures *figures, struct lock_capture_spent before,
                      struct lock_capture_spent after)
{
    figures->program_ns += after.ns - before.ns;
    for (size_t i = 0; i < LOCK_CAPTURE_PROGRAMS; i++) {
        struct lock_program_spent *sum = &figures->spent.programs[i];
        sum->name = after.programs[i].name;
        sum->ns += after.programs[i].ns - before.programs[i].ns;
        sum->runs += after.programs[i].runs - before.programs[i].runs;
    }
}

static int ignore(void *context, const struct lock_wait *wait)
{
    (void)context;
    (void)wait;
    return 0;
}

static struct slice measure(const struct contended_work *work)
{
    uint64_t turns = *work->turns, cpu = contended_work_cpu_ns(work);
    uint64_t begin = clock_ns(CLOCK_MONOTONIC);
    sleep_ns(SLICE_NS);
    double seconds = (double)(clock_ns(CLOCK_MONOTONIC) - begin) / 1e9;
    double done = (double)(*work->turns - turns);
    return (struct slice){.turns = done / seconds,
                          .cpu_us = (double)(contended_work_cpu_ns(work) - cpu) / 1e3 /
                                    (done > 0 ? done : 1)};
}

/* Two slices with the capture: one for the ratios, and one in which the kernel takes the programs'
 * time, which makes them dearer. The tracer's own time is that of taking what came up. */
static int measure_captured(struct lock_capture *capture, const struct contended_work *work,
                            struct figures *figures, struct slice *slice)
{
    int error = lock_capture_resume(capture);
    if (error)
        return error;
    *slice = measure(work);
    int stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
    struct lock_capture_spent before = lock_capture_spent(capture);
    uint64_t waits = lock_capture_counts(capture).waits, begin = clock_ns(CLOCK_MONOTONIC);
    sleep_ns(SLICE_NS);
    figures->traced_ns += clock_ns(CLOCK_MONOTONIC) - begin;
    figures->waits += lock_capture_counts(capture).waits - waits;
    add_spent(figures, before, lock_capture_spent(capture));
    if (stats >= 0)
        close(stats);
    uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    int got = lock_capture_poll(capture, ignore, NULL);
    figures->tracer_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
    lock_capture_pause(capture);
    return got < 0 ? got : 0;
}

/* What other processes' futex calls and the scheduler cost, whoever is captured. */
static int measure_others(struct lock_capture *nobody, struct figures *figures)
{
    int error = lock_capture_resume(nobody);
    int stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
    struct lock_capture_spent before = lock_capture_spent(nobody);
    uint64_t begin = clock_ns(CLOCK_MONOTONIC);
    sleep_ns(SLICE_NS);
    figures->others_traced_ns += clock_ns(CLOCK_MONOTONIC) - begin;
    struct lock_capture_spent after = lock_capture_spent(nobody);
    figures->others_ns += after.ns - before.ns;
    figures->others_runs += after.runs - before.runs;
    if (stats >= 0)
        close(stats);
    lock_capture_pause(nobody);
    return error;
}

static int open_capture(pid_t pid, uint32_t one_in, struct lock_capture **capture)
{
    const struct lock_target target = {.pid = pid};
    const struct lock_capture_options options = {
        .targets = &target, .target_count = 1, .rate = 1000000, .one_in = one_in};
    return lock_capture_open(&options, capture);
}

static void print_costs(const struct figures *figures)
{
    double waits = figures->waits ? (double)figures->waits : 1;
    double rate = waits / ((double)figures->traced_ns / 1e9);
    /* a program that looks no further: what the taking of its time takes */
    double least =
        figures->others_runs ? (double)figures->others_ns / (double)figures->others_runs : 0;
    double runs = 0;
    for (size_t i = 0; i < LOCK_CAPTURE_PROGRAMS; i++)
        runs += (double)figures->spent.programs[i].runs;
    /* a poll takes the waits of both slices, of the same length */
    double tracer = (double)figures->tracer_ns / figures->slices;
    double programs = (double)figures->program_ns - least * runs;
    printf("  %9.0f waits/s; in the waiting and the waking thread %.2f us a wait; in the tracer "
           "%.2f us a wait: %.2f %% of a core at 10,000 waits/s\n",
           rate, programs / 1e3 / waits, tracer / 1e3 / waits, tracer / waits * 10000 / 1e9 * 100);
    for (size_t i = 0; i < LOCK_CAPTURE_PROGRAMS; i++) {
        const struct lock_program_spent *spent = &figures->spent.programs[i];
        if (spent->name && spent->runs)
            printf("    %-14s %6.2f runs a wait, %5.0f ns each\n", spent->name,
                   (double)spent->runs / waits, (double)spent->ns / (double)spent->runs);
    }
    printf("    %.0f ns of each run are for the taking of its time: left out above\n", least);
}

static int print_ratio(const char *what, double *values, size_t count)
{
    struct paired_stats stats;
    int error = paired_stats_make(values, count, &stats);
    if (!error)
        printf("  %-28s with / without %.3f  [%.3f - %.3f]\n", what, stats.median, stats.low,
               stats.high);
    return error;
}

static int run(const struct contended_plan *plan, size_t pairs)
{
    struct figures *figures = calloc(1, sizeof(*figures));
    struct contended_work work;
    struct lock_capture *capture = NULL, *nobody = NULL;
    if (!figures)
        return err_no_memory();
    figures->slices = 2;
    int error = contended_work_start(plan, &work);
    if (error) {
        free(figures);
        return error;
    }
    error = open_capture(work.pid, 0, &capture);
    if (!error)
        error = open_capture(getpid(), 0, &nobody);
    if (!error) {
        lock_capture_pause(capture);
        lock_capture_pause(nobody);
    }
    for (size_t i = 0; i < pairs && !error; i++) {
        struct slice with = {0}, without = {0};
        /* which one comes first takes turns */
        if (i % 2)
            without = measure(&work);
        error = measure_captured(capture, &work, figures, &with);
        if (!error)
            error = measure_others(nobody, figures);
        if (i % 2 == 0)
            without = measure(&work);
        figures->faster[i] = with.turns / without.turns;
        figures->dearer[i] = with.cpu_us / without.cpu_us;
    }
    if (!error) {
        printf("%g us with the lock, %g us asleep, %u threads\n", plan->held_us, plan->asleep_us,
               plan->threads);
        print_costs(figures);
        error = print_ratio("turns a second", figures->faster, pairs);
    }
    if (!error)
        error = print_ratio("CPU a turn", figures->dearer, pairs);
    lock_capture_close(capture);
    lock_capture_close(nobody);
    contended_work_end(&work);
    free(figures);
    return error;
}

/* A process of somebody's: what the programs and the tracer took, for ten seconds. */
static int look_at(pid_t pid, uint32_t one_in)
{
    struct lock_capture *capture, *nobody;
    struct figures figures = {.slices = 1};
    int got = open_capture(getpid(), 0, &nobody);
    if (got)
        return got;
    for (int i = 0; i < 10; i++)
        measure_others(nobody, &figures);
    lock_capture_close(nobody);
    got = open_capture(pid, one_in, &capture);
    if (got)
        return got;
    int stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
    lock_capture_poll(capture, ignore, NULL); /* the first stacks are dear */
    sleep_ns(1000000000);
    lock_capture_poll(capture, ignore, NULL);
    struct lock_capture_spent before = lock_capture_spent(capture);
    uint64_t waits = lock_capture_counts(capture).waits, cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t begin = clock_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < 200 && got >= 0; i++) {
        sleep_ns(50000000);
        got = lock_capture_poll(capture, ignore, NULL);
    }
    figures.traced_ns = clock_ns(CLOCK_MONOTONIC) - begin;
    figures.waits = lock_capture_counts(capture).waits - waits;
    add_spent(&figures, before, lock_capture_spent(capture));
    figures.tracer_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
    print_costs(&figures);
    printf(
        "  all programs: %.2f %% of a core, also for what is no wait, and for other processes; the "
        "tracer %.2f %%\n",
        (double)figures.program_ns / (double)figures.traced_ns * 100,
        (double)figures.tracer_ns / (double)figures.traced_ns * 100);
    if (stats >= 0)
        close(stats);
    lock_capture_close(capture);
    return got < 0 ? got : 0;
}

int main(int argc, char **argv)
{
    static const struct contended_plan plans[] = {
        {.threads = 8, .held_us = 20, .asleep_us = 60},
        {.threads = 16, .held_us = 3, .asleep_us = 20},
    };
    size_t pairs = 40;
    int option, error = 0;
    pid_t pid = 0;
    uint32_t one_in = 0;
    while ((option = getopt(argc, argv, "p:o:")) != -1 && option != '?')
        if (option == 'p')
            pid = atoi(optarg);
        else
            one_in = (uint32_t)atoi(optarg);
    if (optind < argc)
        pairs = (size_t)atoi(argv[optind]);
    if (option != -1 || pairs < 1 || pairs > MAX_PAIRS) {
        fprintf(stderr, "usage: bench-locks [-p PID [-o ONE_IN]] [PAIRS]\n");
        return 2;
    }
    if (pid)
        error = look_at(pid, one_in);
    for (size_t i = 0; !pid && i < sizeof(plans) / sizeof(plans[0]) && !error; i++)
        error = run(&plans[i], pairs);
    if (error)
        fprintf(stderr, "bench-locks: %s\n", err_message());
    return error ? 1 : 0;
}
