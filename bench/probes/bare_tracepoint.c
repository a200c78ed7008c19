/* SPDX-License-Identifier: MIT */
/* A module of its own, loaded on demand: the bench itself runs without LTTng. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "bare_tracepoint.h"

#include "bare_calls.h"

bare_calls_function bare_tracepoint_calls __attribute__((visibility("default")));
bare_enabled_function bare_tracepoint_enabled __attribute__((visibility("default")));

void bare_tracepoint_calls(uint64_t calls, uint32_t pid, uint32_t tid)
{
    for (uint64_t i = 0; i < calls; i++)
        lttng_ust_tracepoint(optrail_bench, bare, pid, tid, i, 1, 2);
}

int bare_tracepoint_enabled(void)
{
    return lttng_ust_tracepoint_enabled(optrail_bench, bare) != 0;
}
