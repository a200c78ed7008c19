/* SPDX-License-Identifier: MIT */
/*
 * compare_stacks PID STACKS [SECONDS [COMPLETE]]: takes snapshots of a process that runs until so
 * many stacks have been unwound both by our rows and by libunwind. Fails when a frame differs, or
 * when fewer than COMPLETE percent (99) reach the thread's start.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "err.h"
#include "stack_sampler.h"
#include "symbols.h"
#include "unwind.h"

enum { FRAMES = 256, SHOWN = 2 };

static struct comparison {
    struct unwinder *unwinder;
    uint64_t stacks, identical, differing, frames, named, ended[UNWIND_END_COUNT];
    uint64_t other_end, cut;
} total;

static void show(const char *who, const uint64_t *frames, size_t count, enum unwind_end end)
{
    char *text = symbols_text(total.unwinder, frames, count, false);
    printf("  %s: %zu frames, %s: %.2000s\n", who, count, unwind_end_names[end], text ? text : "?");
    free(text);
}

static void compare(void *context, const struct stack_snapshot *snapshot)
{
    uint64_t ours[FRAMES], theirs[FRAMES];
    enum unwind_end our_end, their_end;
    (void)context;
    size_t our_count = unwinder_unwind(total.unwinder, snapshot, ours, FRAMES, &our_end);
    size_t their_count =
        unwinder_by_libunwind(total.unwinder, snapshot, theirs, FRAMES, &their_end);
    bool same = our_count == their_count && memcmp(ours, theirs, our_count * sizeof(*ours)) == 0;
    /* it needs bytes below the stack pointer, of which a snapshot has none */
    bool cut = !same && their_count < our_count && their_end == UNWIND_FAULT &&
               memcmp(ours, theirs, their_count * sizeof(*ours)) == 0;
    total.stacks++;
    total.frames += our_count;
    total.ended[our_end]++;
    total.other_end += our_end != their_end;
    total.identical += same;
    total.cut += cut;
    total.differing += !same && !cut;
    for (size_t i = 0; i < our_count; i++) {
        struct frame_name name;
        symbols_find(total.unwinder, ours[i], i > 0, &name);
        total.named += name.function != NULL;
    }
    if ((!same && !cut && total.differing <= SHOWN) ||
        (our_end != UNWIND_COMPLETE && total.ended[our_end] <= SHOWN)) {
        show("ours", ours, our_count, our_end);
        show("libunwind", theirs, their_count, their_end);
    }
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int fail(void)
{
    fprintf(stderr, "compare_stacks: %s\n", err_message());
    return 1;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    pid_t pid = (pid_t)strtol(argv[1], NULL, 10);
    uint64_t wanted = strtoul(argv[2], NULL, 10);
    double until = now() + (argc > 3 ? strtod(argv[3], NULL) : 60);
    double least = argc > 4 ? strtod(argv[4], NULL) : 99;
    struct stack_sampler *sampler;

    int result = stack_sampler_open(pid, 4000, &sampler);
    if (result == -EACCES || result == -EPERM || result == -ENOENT) {
        printf("%s\n", err_message());
        return 77;
    }
    if (result < 0 || unwinder_open(pid, &total.unwinder) < 0)
        return fail();
    while (total.stacks < wanted && now() < until) {
        if (stack_sampler_read(sampler, compare, NULL) == 0)
            poll(NULL, 0, 10);
    }
    stack_sampler_close(sampler);

    struct unwinder_counts counts = unwinder_counts(total.unwinder);
    double share =
        100.0 * (double)total.ended[UNWIND_COMPLETE] / (double)(total.stacks + !total.stacks);
    printf("%lu stacks: %lu identical, %lu differing, %lu that libunwind could not finish; "
           "%lu with another end\n",
           total.stacks, total.identical, total.differing, total.cut, total.other_end);
    printf("complete: %.2f %%;", share);
    for (size_t i = 0; i < UNWIND_END_COUNT; i++)
        printf(" %s %lu", unwind_end_names[i], total.ended[i]);
    printf("\n%lu frames, %.1f a stack, %.1f %% with a name; %lu by libunwind\n", total.frames,
           (double)total.frames / (double)(total.stacks + !total.stacks),
           100.0 * (double)total.named / (double)(total.frames + !total.frames),
           counts.by_libunwind);
    printf("%lu modules, %lu rows, %lu bad modules\n", counts.modules, counts.rows,
           counts.bad_modules);
    unwinder_close(total.unwinder);
    if (total.stacks < wanted) {
        printf("only %lu of %lu stacks came in time\n", total.stacks, wanted);
        return 1;
    }
    return total.differing == 0 && total.cut * 200 <= total.stacks && share >= least ? 0 : 1;
}
