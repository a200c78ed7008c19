/* SPDX-License-Identifier: MIT */
/*
 * bench_stacks PID [STACKS]: keeps so many snapshots (2000) of the process's threads, and unwinds
 * them in turn by our rows, with and without the cache of program counters, and by libunwind, with
 * and without its cache. Prints the median of the rounds; ratios of one run can be compared, times
 * of different machines cannot.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "err.h"
#include "stack_sampler.h"
#include "unwinder.h"

enum { STACKS = 2000, ROUNDS = 15, FRAMES = 256, WAIT_MS = 60000 };

static struct stack_snapshot *kept;
static size_t kept_count, kept_room;
static struct unwinder *unwinder;
static uint64_t frames_seen, complete;

static double now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static void keep(void *context, const struct stack_snapshot *snapshot)
{
    (void)context;
    if (kept_count == kept_room)
        return;
    uint8_t *copy = malloc(snapshot->size);
    if (!copy)
        return;
    memcpy(copy, snapshot->stack, snapshot->size);
    kept[kept_count] = *snapshot;
    kept[kept_count++].stack = copy;
}

static int take_snapshots(pid_t pid)
{
    struct stack_sampler *sampler;
    kept = calloc(kept_room, sizeof(*kept));
    if (!kept)
        return err_no_memory();
    int result = stack_sampler_open(pid, 4000, &sampler);
    if (result < 0)
        return result;
    for (int waited = 0; kept_count < kept_room && waited < WAIT_MS; waited += 10) {
        stack_sampler_read(sampler, keep, NULL);
        poll(NULL, 0, 10);
    }
    stack_sampler_close(sampler);
    return kept_count > 0 ? 0 : err_set(ETIMEDOUT, "process %d did not run", pid);
}

static void by_rows(const struct stack_snapshot *snapshot)
{
    uint64_t frames[FRAMES];
    enum unwind_end end;
    frames_seen += unwinder_unwind(unwinder, snapshot, frames, FRAMES, &end);
    complete += end == UNWIND_COMPLETE;
}

static void by_rows_uncached(const struct stack_snapshot *snapshot)
{
    by_rows(snapshot);
    memset(unwinder->cache, 0, sizeof(unwinder->cache));
}

/* It keeps nothing from stack to stack. */
static void by_libunwind(const struct stack_snapshot *snapshot)
{
    uint64_t frames[FRAMES];
    enum unwind_end end;
    unwinder_by_libunwind(unwinder, snapshot, frames, FRAMES, &end);
}

static void by_libunwind_cached(const struct stack_snapshot *snapshot)
{
    static struct libunwind_space *cached; /* for all stacks */
    struct libunwind_space *uncached = unwinder->fallback;
    if (!cached)
        cached = libunwind_space_new(&unwinder->maps, true);
    unwinder->fallback = cached;
    by_libunwind(snapshot);
    unwinder->fallback = uncached;
}

static void clear_only(const struct stack_snapshot *snapshot)
{
    (void)snapshot;
    memset(unwinder->cache, 0, sizeof(unwinder->cache));
}

static int compare(const void *a, const void *b)
{
    const double *left = a;
    const double *right = b;
    return (*left > *right) - (*left < *right);
}

/* Median over the rounds of the time for a stack, in us. */
static double measure(void (*unwind)(const struct stack_snapshot *), size_t stacks)
{
    double rounds[ROUNDS];
    for (size_t i = 0; i < stacks; i++)
        unwind(&kept[i]);
    for (size_t round = 0; round < ROUNDS; round++) {
        double begin = now_us();
        for (size_t i = 0; i < stacks; i++)
            unwind(&kept[i]);
        rounds[round] = (now_us() - begin) / (double)stacks;
    }
    qsort(rounds, ROUNDS, sizeof(*rounds), compare);
    return rounds[ROUNDS / 2];
}

/* All files of the process, not only those of these stacks. */
static void build_tables(void)
{
    double begin = now_us();
    for (size_t i = 0; i < unwinder->maps.count; i++)
        unwinder_map(unwinder, unwinder->maps.maps[i].start);
    double took = now_us() - begin;
    struct unwinder_counts counts = unwinder_counts(unwinder);
    uint64_t beyond = 0;
    for (size_t i = 0; i < unwinder->maps.count; i++) {
        const struct stack_module *module = unwinder->maps.maps[i].module;
        for (size_t row = 0; module && row < module->rows.count; row++)
            beyond += module->rows.rows[row].cfa == CFA_BEYOND;
    }
    printf("tables of %lu files: %lu rows, %.1f MB, made in %.1f ms; %lu rows need libunwind\n",
           counts.modules, counts.rows, (double)(counts.rows * sizeof(struct unwind_row)) / 1e6,
           took / 1e3, beyond);
}

static void print_row(const char *name, double us, double base)
{
    printf("%-28s %8.3f us a stack %8.1f times\n", name, us, us / base);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: bench_stacks PID [STACKS]\n");
        return 2;
    }
    pid_t pid = (pid_t)strtol(argv[1], NULL, 10);
    kept_room = argc > 2 ? strtoul(argv[2], NULL, 10) : STACKS;
    int result = take_snapshots(pid);
    if (result == 0)
        result = unwinder_open(pid, &unwinder);
    if (result < 0) {
        fprintf(stderr, "bench_stacks: %s\n", err_message());
        return result == -EACCES || result == -EPERM ? 77 : 1;
    }
    build_tables();
    size_t few = kept_count < 200 ? kept_count : 200;
    double warm = measure(by_rows, kept_count);
    double clearing = measure(clear_only, few);
    double cold = measure(by_rows_uncached, few) - clearing;
    double cached = measure(by_libunwind_cached, kept_count);
    double uncached = measure(by_libunwind, few);
    struct unwinder_counts counts = unwinder_counts(unwinder);
    printf("%zu stacks, %.1f frames each, %.2f %% complete\n", kept_count,
           (double)frames_seen / (double)counts.stacks,
           100.0 * (double)complete / (double)counts.stacks);
    print_row("rows, cached", warm, warm);
    print_row("rows, searched", cold, warm);
    print_row("libunwind, cached", cached, warm);
    print_row("libunwind, not cached", uncached, warm);
    unwinder_close(unwinder);
    for (size_t i = 0; i < kept_count; i++)
        free((void *)kept[i].stack); // NOLINT
    free(kept);
    return 0;
}
