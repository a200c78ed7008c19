/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_BENCH_BARE_CALLS_H
#define OPTRAIL_BENCH_BARE_CALLS_H

#include <stdint.h>

/* What the module bare-tracepoint.so exports, by these names. */
#define BARE_CALLS   "bare_tracepoint_calls"
#define BARE_ENABLED "bare_tracepoint_enabled"

typedef void bare_calls_function(uint64_t calls, uint32_t pid, uint32_t tid);
typedef int bare_enabled_function(void); /* whether a session records it */

#endif
