/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TEMPORARY_TRACE_H
#define OPTRAIL_TEMPORARY_TRACE_H

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A directory for a trace that is read once. However this process ends, a child of its own, which
 * waits for nothing else, removes it.
 */
struct temporary_trace {
    char path[PATH_MAX - 16]; /* the directory; empty: none */
    pid_t keeper;
    int alive; /* as long as it is open, the keeper waits */
};

/* Makes it in TMPDIR, else /tmp. Negative errno with the message. Before there are threads. */
int temporary_trace_make(struct temporary_trace *trace);

/* Has it removed, and waits for that. Nothing if it was never made. */
void temporary_trace_remove(struct temporary_trace *trace);

/* How many bytes its files hold. */
uint64_t temporary_trace_bytes(const struct temporary_trace *trace);

#endif
