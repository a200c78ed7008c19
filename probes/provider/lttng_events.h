/* SPDX-License-Identifier: MIT */
/*
 * The LTTng-UST events, one a row of the catalogue: `optrail:<identifier>` with the fields pid,
 * tid, key and the two arguments by their names; the first one of a text point is a string. LTTng
 * reads this file several times over, each time with its macros defined otherwise, hence the
 * unusual guard.
 */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER optrail

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "lttng_events.h"

#if !defined(OPTRAIL_LTTNG_EVENTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define OPTRAIL_LTTNG_EVENTS_H

#include <lttng/tracepoint.h>

#include <stdint.h>

#include "text_points.h"

#define FIRST_FIELD_0(name, value) lttng_ust_field_integer(uint64_t, name, value)
#define FIRST_FIELD_1(name, value) lttng_ust_field_string(name, (const char *)(uintptr_t)value)

#define OPTRAIL_POINT(component, action, role, key_kind, name0, name1, text)                       \
    LTTNG_UST_TRACEPOINT_EVENT(                                                                    \
        optrail, component##_##action,                                                             \
        LTTNG_UST_TP_ARGS(uint32_t, pid_, uint32_t, tid_, uint64_t, key_, uint64_t, first_,        \
                          uint64_t, second_),                                                      \
        LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, pid, pid_) lttng_ust_field_integer(  \
            uint32_t, tid, tid_) lttng_ust_field_integer_hex(uint64_t, key, key_)                  \
                                IF_TEXT(role, FIRST_FIELD_)(name0, first_)                         \
                                    lttng_ust_field_integer(uint64_t, name1, second_)))
#include <optrail/events.def>
#undef OPTRAIL_POINT

#endif

#include <lttng/tracepoint-event.h>
