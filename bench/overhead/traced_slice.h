/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TRACED_SLICE_H
#define OPTRAIL_TRACED_SLICE_H

#include <stdint.h>
#include <sys/types.h>

/*
 * `optrail attach` as a process of its own, as anybody would run it, for one slice: so what is
 * measured is what one gets, with all its options.
 */
struct traced_slice {
    pid_t pid;
    int messages;         /* its standard error */
    char report[64];      /* the file of its report */
    uint64_t attached_ns; /* what it used of the CPU until it was attached */
};

/* What it counted. */
struct traced_counts {
    uint64_t events, ops, lost_events;
    uint64_t cpu_ns; /* of its whole life */
};

/* Starts it and waits until its probes are in. `options` are further words for `attach`, parted by
 * blanks; NULL: none. */
int traced_slice_begin(struct traced_slice *slice, pid_t target, const char *options);

/* Interrupts it, waits for its end, reads its report. Its own message when it failed. */
int traced_slice_end(struct traced_slice *slice, struct traced_counts *counts);

#endif
