/* SPDX-License-Identifier: MIT */
/* watch-locks [-c condvars] [-r rate] [-b ring-bytes] [-o one-in] [-w seconds] PID...: prints each
 * contended wait of the processes as a line, then stacks and counts, until they have ended, the
 * time is up or the standard input ends. "ready" is printed first, when the programs are in. */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "err.h"
#include "lock_capture.h"
#include "wait_kinds.h"

static uint8_t seen[1u << 20];
static bool quiet;

static void print_stack(struct lock_capture *capture, uint32_t stack)
{
    enum unwind_end end = UNWIND_COMPLETE;
    const char *text = lock_capture_stack(capture, stack, &end);
    if (stack >= sizeof(seen) || seen[stack] || !text)
        return;
    seen[stack] = 1;
    printf("stack %u %s %s\n", stack, unwind_end_names[end], text);
}

static int print_wait(void *context, const struct lock_wait *wait)
{
    if (quiet)
        return 0;
    print_stack(context, wait->stack);
    print_stack(context, wait->holder_stack);
    printf("wait %s pid %u tid %u begin %" PRIu64 " end %" PRIu64 " lock %" PRIx64
           " owner %u releaser %u hold %" PRIu64 " stack %u holder_stack %u weight %u calls %u"
           " flags %u running %" PRIu64 " runnable %" PRIu64 " disk %" PRIu64 " asleep %" PRIu64
           " chain %" PRIu64 " chain_lock %" PRIx64 "\n",
           wait_kind_rows[wait->kind].name, wait->pid, wait->tid, wait->begin_ns, wait->end_ns,
           wait->lock, wait->owner_tid, wait->releaser_tid, wait->hold_ns, wait->stack,
           wait->holder_stack, wait->weight, wait->futex_calls, wait->flags, wait->running_ns,
           wait->runnable_ns, wait->disk_ns, wait->asleep_ns, wait->chain_ns, wait->chain_lock);
    return 0;
}

static void print_counts(struct lock_capture *capture)
{
    struct lock_capture_counts counts = lock_capture_counts(capture);
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {
        {"waits", counts.waits},
        {"delivered", counts.delivered},
        {"joined", counts.joined},
        {"sampled_out", counts.sampled_out},
        {"condvar_idle", counts.condvar_idle},
        {"unfinished", counts.unfinished},
        {"lost", counts.lost},
        {"threads_full", counts.threads_full},
        {"stacks_full", counts.stacks_full},
        {"stacks_late", counts.stacks_late},
        {"faults_word", counts.faults_word},
        {"faults_stack", counts.faults_stack},
        {"owner_unknown", counts.owner_unknown},
        {"owner_gone", counts.owner_gone},
        {"releaser_unknown", counts.releaser_unknown},
        {"hold_unmeasured", counts.hold_unmeasured},
        {"address_reused", counts.address_reused},
        {"unmatched_sites", counts.unmatched_sites},
        {"stacks", counts.stacks},
        {"snapshots", counts.snapshots},
        {"snapshots_differ", counts.snapshots_differ},
        {"observed_ns", counts.observed_ns},
        {"slices", counts.slices},
        {"cut", counts.cut},
        {"no_stack_ns", counts.no_stack_ns},
        {"sampled_ns", counts.sampled_ns},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        printf("count %s %" PRIu64 "\n", rows[i].name, rows[i].value);
    for (int i = 0; i < UNWIND_END_COUNT; i++)
        printf("ended %s %" PRIu64 " %" PRIu64 "\n", unwind_end_names[i], counts.ended[i],
               counts.ended_ns[i]);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("cpu %ld\n", (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000l +
                            usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* Until the time is up, all have ended or nobody listens any more. */
static int watch(struct lock_capture *capture, double seconds)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (;;) {
        struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
        char byte;
        if (poll(&input, 1, 100) > 0 && read(STDIN_FILENO, &byte, 1) <= 0)
            return 0;
        int got = lock_capture_poll(capture, print_wait, capture);
        if (got < 0)
            return got;
        clock_gettime(CLOCK_MONOTONIC, &now);
        double passed =
            (double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) / 1e9;
        if (lock_capture_targets_ended(capture) || (seconds > 0 && passed > seconds))
            return 0;
    }
}

int main(int argc, char **argv)
{
    struct lock_target targets[16] = {{0}};
    struct lock_capture_options options = {.targets = targets};
    struct lock_capture *capture;
    double seconds = 0;
    int option;
    while ((option = getopt(argc, argv, "c:r:b:w:o:qsm")) != -1) {
        if (option == 'c')
            options.condvars = (enum lock_condvars)atoi(optarg);
        else if (option == 'r')
            options.rate = (uint32_t)atoi(optarg);
        else if (option == 'b')
            options.ring_bytes = (uint32_t)atoi(optarg);
        else if (option == 'o')
            options.one_in = (uint32_t)atoi(optarg);
        else if (option == 'w')
            seconds = atof(optarg);
        else if (option == 'q')
            quiet = true;
        else if (option == 's')
            options.no_stacks = true;
        else if (option == 'm')
            options.no_meanwhile = true;
        else
            return 2;
    }
    for (int i = optind; i < argc && options.target_count < 16; i++)
        targets[options.target_count++].pid = atoi(argv[i]);
    if (lock_capture_open(&options, &capture)) {
        fprintf(stderr, "watch-locks: %s\n", err_message());
        return 1;
    }
    printf("ready\n");
    fflush(stdout);
    int error = watch(capture, seconds);
    if (error >= 0)
        error = lock_capture_finish(capture, print_wait, capture);
    if (error < 0)
        fprintf(stderr, "watch-locks: %s\n", err_message());
    else
        print_counts(capture);
    lock_capture_close(capture);
    return error < 0;
}
