/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_BENCH_ROWS_H
#define OPTRAIL_BENCH_ROWS_H

#include "measure.h"

#include <stdbool.h>
#include <stdio.h>

/* What is measured, in the order in which it is shown: ROW(identifier, name, text). */
#define BENCH_ROWS                                                                                 \
    ROW(EMPTY, "empty_call", "empty call")                                                         \
    ROW(PROBE_OFF, "probe_disabled", "optrail probe, nobody listens")                              \
    ROW(BARE_OFF, "lttng_bare_disabled", "bare LTTng tracepoint, nobody listens")                  \
    ROW(PROBE_LTTNG, "probe_lttng", "optrail probe, recorded by LTTng")                            \
    ROW(BARE_LTTNG, "lttng_bare", "bare LTTng tracepoint, recorded, same payload")                 \
    ROW(USDT_NOP1, "usdt_nop1", "optrail probe (USDT), eBPF on its 1-byte nop")                    \
    ROW(USDT_NOP5, "usdt_nop5", "optrail probe (USDT), eBPF on its 5-byte nop")                    \
    ROW(UPROBE_PUSH, "uprobe_emulated", "eBPF on a function that begins with push (emulated)")     \
    ROW(UPROBE_SUB, "uprobe_single_step", "eBPF on a function that begins with sub (stepped)")

enum row_id {
#define ROW(identifier, name, text) ROW_##identifier,
    BENCH_ROWS
#undef ROW
        ROW_COUNT
};

struct row_result {
    bool measured;
    struct measurement measurement;
    char why[256]; /* why it was not measured */
};

struct bench_result {
    size_t rounds;
    struct row_result rows[ROW_COUNT];
    struct spread probe_to_bare; /* cost of PROBE_LTTNG in relation to BARE_LTTNG */
};

/* Prints the table. */
void print_rows(const struct bench_result *result, FILE *out);

/* Prints the table as JSON (schema optrail.bench.probes/1). 0 or negative errno with message. */
int print_rows_json(const struct bench_result *result, FILE *out);

#endif
