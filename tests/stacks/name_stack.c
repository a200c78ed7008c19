/* SPDX-License-Identifier: MIT */
/*
 * name_stack PID FUNCTION [debuginfod SECONDS]: prints the first stack that is complete, with
 * names; with debuginfod, asks again until FUNCTION is named or the time is over. Prints how long
 * the longest question took, since none may wait for a server.
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "err.h"
#include "stack_sampler.h"
#include "symbols.h"

enum { FRAMES = 256, WAIT_MS = 30000 };

static uint64_t frames[FRAMES];
static size_t count;

static void take(void *context, const struct stack_snapshot *snapshot)
{
    enum unwind_end end;
    if (count > 0)
        return;
    count = unwinder_unwind(context, snapshot, frames, FRAMES, &end);
    if (end != UNWIND_COMPLETE)
        count = 0;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int take_stack(pid_t pid, struct unwinder *unwinder)
{
    struct stack_sampler *sampler;
    int result = stack_sampler_open(pid, 1000, &sampler);
    if (result < 0)
        return result;
    for (int waited = 0; count == 0 && waited < WAIT_MS; waited += 10) {
        stack_sampler_read(sampler, take, unwinder);
        poll(NULL, 0, 10);
    }
    stack_sampler_close(sampler);
    return count > 0 ? 0 : err_set(ETIMEDOUT, "no complete stack came");
}

int main(int argc, char **argv)
{
    struct unwinder *unwinder;
    if (argc < 3)
        return 2;
    pid_t pid = (pid_t)strtol(argv[1], NULL, 10);
    int result = unwinder_open(pid, &unwinder);
    if (result == 0 && argc > 4)
        result = symbols_debuginfod(unwinder);
    if (result == 0)
        result = take_stack(pid, unwinder);
    if (result < 0) {
        printf("name_stack: %s\n", err_message());
        return result == -EACCES || result == -EPERM || result == -ENOTSUP ? 77 : 1;
    }
    double until = now() + (argc > 4 ? strtod(argv[4], NULL) : 0);
    double longest = 0;
    char *text = NULL;
    do {
        free(text);
        double begin = now();
        text = symbols_text(unwinder, frames, count, false);
        longest = now() - begin > longest ? now() - begin : longest;
        if (!text || strstr(text, argv[2]))
            break;
        poll(NULL, 0, 10);
    } while (now() < until);
    double begin = now();
    unwinder_close(unwinder);
    double closing = now() - begin;
    printf("%s\nlongest %.3f s, closing %.3f s\n", text ? text : "", longest, closing);
    bool good = text != NULL;
    free(text);
    return good ? 0 : 1;
}
