/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_SUPERVISE_H
#define OPTRAIL_SUPERVISE_H

#include <stdint.h>
#include <stdio.h>

/*
 * Work on data that may bring down the library which reads it: babeltrace2 2.0.4 aborts, or never
 * comes back, on some damaged traces. The work runs in a child process. If that dies, or burns CPU
 * without getting anywhere, the work is done once more, and ends by itself just before the place:
 * so that what was sound before it is reported, and the rest is one line.
 */
struct supervision {
    /* The work counts here, in memory shared with the parent. */
    volatile uint64_t events; /* events that were delivered */
    volatile uint64_t beats;  /* any sign of getting on */

    uint64_t limit;   /* stop behind so many events; UINT64_MAX: no limit */
    char damage[256]; /* why there is a limit; "" if there is none */
    FILE *terminal;   /* where progress may be shown: standard error, if it is a terminal; else
                         NULL */
    int result;       /* of the work */
    char message[1024];
};

/* Runs the work in a child, which writes its output itself; returns its result, with its message.
 * Signals that end a process reach the child. -EIO with the message when the data brings the child
 * down and nothing before the place could be read. */
int supervise(int (*work)(void *context, struct supervision *supervision), void *context);

#endif
