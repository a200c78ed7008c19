/* SPDX-License-Identifier: MIT */
/* A plain LTTng tracepoint with the payload of an optrail event: what a probe is compared with. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER optrail_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "bare_tracepoint.h"

#if !defined(OPTRAIL_BENCH_BARE_TRACEPOINT_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define OPTRAIL_BENCH_BARE_TRACEPOINT_H

#include <lttng/tracepoint.h>

#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(
    optrail_bench, bare,
    LTTNG_UST_TP_ARGS(uint32_t, pid_, uint32_t, tid_, uint64_t, key_, uint64_t, first_, uint64_t,
                      second_),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, pid, pid_)
                            lttng_ust_field_integer(uint32_t, tid, tid_)
                                lttng_ust_field_integer_hex(uint64_t, key, key_)
                                    lttng_ust_field_integer(uint64_t, arg0, first_)
                                        lttng_ust_field_integer(uint64_t, arg1, second_)))

#endif

#include <lttng/tracepoint-event.h>
