/* SPDX-License-Identifier: MIT */
#include "temporary_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "err.h"
#include "trace_directory.h"

#define DEPTH 16 /* directories that are open at once while the tree is walked */

/* Signals to the group are not for it: it ends when nobody holds the other end of the pipe. */
_Noreturn static void keep(const char *path, int alive)
{
    char nothing;
    setsid();
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_IGN);
    for (int standard = 0; standard < 3; standard++)
        if (standard != alive)
            close(standard);
    while (read(alive, &nothing, 1) < 0 && errno == EINTR)
        ;
    trace_directory_remove(path);
    _exit(0);
}

int temporary_trace_make(struct temporary_trace *trace)
{
    const char *place = getenv("TMPDIR");
    int ends[2];
    *trace = (struct temporary_trace){.keeper = -1, .alive = -1};
    int length = snprintf(trace->path, sizeof(trace->path), "%s/optrail-flame-XXXXXX",
                          place && *place ? place : "/tmp");
    if (length >= (int)sizeof(trace->path) || !mkdtemp(trace->path)) {
        int error = length >= (int)sizeof(trace->path) ? ENAMETOOLONG : errno;
        trace->path[0] = 0;
        return err_set(error, "cannot make a directory for the trace in %s: %s (TMPDIR names one)",
                       place && *place ? place : "/tmp", strerror(error));
    }
    if (pipe2(ends, O_CLOEXEC) < 0) {
        int error = errno;
        rmdir(trace->path);
        trace->path[0] = 0;
        return err_set(error, "cannot make a pipe: %s", strerror(error));
    }
    trace->keeper = fork();
    if (trace->keeper == 0) {
        close(ends[1]);
        keep(trace->path, ends[0]);
    }
    int error = errno;
    close(ends[0]);
    trace->alive = ends[1];
    if (trace->keeper > 0)
        return 0;
    close(ends[1]);
    rmdir(trace->path);
    trace->path[0] = 0;
    return err_set(error, "cannot start a process: %s", strerror(error));
}

void temporary_trace_remove(struct temporary_trace *trace)
{
    if (!trace->path[0])
        return;
    close(trace->alive);
    while (waitpid(trace->keeper, NULL, 0) < 0 && errno == EINTR)
        ;
    trace->path[0] = 0;
}

static uint64_t bytes; /* of the walk that is under way: nftw() hands no context on */

static int add_bytes(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)path;
    (void)place;
    bytes += type == FTW_F ? (uint64_t)status->st_size : 0;
    return 0;
}

uint64_t temporary_trace_bytes(const struct temporary_trace *trace)
{
    bytes = 0;
    nftw(trace->path, add_bytes, DEPTH, FTW_PHYS);
    return bytes;
}
