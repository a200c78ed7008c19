/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_OVERHEAD_H
#define OPTRAIL_OVERHEAD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "target.h"

/*
 * What attaching costs a daemon under load: slices with and without the tracer take turns (off on,
 * on off, ...), so that what drifts hits both alike, and each pair gives a ratio.
 */
struct overhead_options {
    struct target target;
    char *const *load;          /* weak; the words of a program that puts load on; NULL: none */
    const char *attach_options; /* weak; further words for `optrail attach`; NULL: none */
    size_t pairs;
    double slice_seconds;
    int cpu;                           /* the daemon is bound to it meanwhile; -1: not */
    bool control;                      /* never trace: shows how far apart equal slices are */
    const volatile sig_atomic_t *stop; /* weak; non-zero: end and report what there is */
};

/* A slice. */
struct overhead_slice {
    double seconds;
    double ops;
    double latency_ns; /* mean; negative: the daemon does not tell */
    double daemon_ns;  /* CPU an op; what the kernel does at its probes is in it */
    double tracer_ns;  /* CPU an op */
};

struct overhead_pair {
    struct overhead_slice off, on;
};

struct overhead_result {
    size_t count;
    struct overhead_pair *pairs; /* owned */
    size_t idle;                 /* pairs left out because a slice of theirs had no op */
    uint64_t events, traced_ops, lost_events; /* of all traced slices, their edges too */
    uint64_t attach_ns;                       /* CPU until attached, the sum */
    const char *cut;                          /* why there are fewer pairs; NULL: there are not */
};

/* Measures. Fails, with the message, when there is no load or the tracer does not attach; what was
 * changed (the daemon's CPUs) is changed back. The caller frees result->pairs. */
int overhead_measure(const struct overhead_options *options, struct overhead_result *result);

/* The figures as text, and as JSON. */
int overhead_print(const struct overhead_options *options, const struct overhead_result *result,
                   FILE *out);
int overhead_print_json(const struct overhead_options *options,
                        const struct overhead_result *result, FILE *out);

#endif
