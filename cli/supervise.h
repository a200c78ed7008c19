/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_SUPERVISE_H
#define OPTRAIL_SUPERVISE_H

#include <stdint.h>
#include <stdio.h>

#include "reader.h"

/*
 * Work on data that may bring down the library which reads it: babeltrace2 2.0.4 aborts, or never
 * comes back, on some damaged traces. The work runs in a child process. If that dies, or burns CPU
 * without getting anywhere, the work is done once more, and leaves out the call that was the end of
 * the first: so that the other streams are read whole, what was sound of this one is reported, and
 * the rest is one line.
 */
struct supervision {
    struct read_watch watch;    /* the work counts here, in memory shared with the parent */
    volatile int past_the_data; /* the reading is over: from here on nobody watches for loops */

    FILE *terminal;   /* where progress may be shown: standard error, if it is a terminal; else
                         NULL */
    char notes[4096]; /* lines for standard error, which the child's library must not reach: printed
                         when the work has come to its end */
    int result;       /* of the work */
    char message[1024];
};

struct supervisor_options {
    const char *data_name; /* for messages; weak; NULL: "the data" */
    double stuck_seconds;  /* so much CPU time without a beat is a loop; 0: the default */
    uint64_t data_bytes;   /* the most memory that the child may ask for; 0: the default */
};

/* Runs the work in a child, which writes its output itself; returns its result, with its message.
 * The child's temporary files (TMPDIR) lie in a directory that is removed however it ends.
 * The first SIGINT, SIGTERM or SIGHUP reaches the child, which then has 2 s of CPU time to go on;
 * the second ends the child and this process, unless it comes within the grace of interrupt.h, when
 * it changes nothing. `options` may be NULL. -EIO with the message when the
 * data brings the child down outside of the calls that are counted, or too often. */
int supervise(int (*work)(void *context, struct supervision *supervision), void *context,
              const struct supervisor_options *options);

#endif
