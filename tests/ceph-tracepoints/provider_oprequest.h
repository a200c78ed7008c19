/* SPDX-License-Identifier: MIT */
/* Events as Ceph's provider "oprequest" has them: these names, fields and types. LTTng reads the
 * file several times over, hence the unusual guard. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER oprequest
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "provider_oprequest.h"

#if !defined(CEPH_PROVIDER_OPREQUEST_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define CEPH_PROVIDER_OPREQUEST_H

#include <lttng/tracepoint.h>

#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(
    oprequest, set_rmw_flags,
    LTTNG_UST_TP_ARGS(uint8_t, type_, int64_t, num_, uint64_t, tid_, int32_t, inc_, int, flag_, int,
                      old_rmw_flags_, int, new_rmw_flags_),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(uint8_t, type, type_) lttng_ust_field_integer(int64_t, num, num_)
            lttng_ust_field_integer(uint64_t, tid, tid_) lttng_ust_field_integer(int32_t, inc, inc_)
                lttng_ust_field_integer(int, flag, flag_)
                    lttng_ust_field_integer(int, old_rmw_flags, old_rmw_flags_)
                        lttng_ust_field_integer(int, new_rmw_flags, new_rmw_flags_)))
LTTNG_UST_TRACEPOINT_EVENT(
    oprequest, mark_flag_point,
    LTTNG_UST_TP_ARGS(uint8_t, type_, int64_t, num_, uint64_t, tid_, int32_t, inc_, int, rmw_flags_,
                      uint8_t, flag_, const char *, msg_, uint8_t, old_hit_flag_points_, uint8_t,
                      new_hit_flag_points_),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(uint8_t, type, type_) lttng_ust_field_integer(int64_t, num, num_)
            lttng_ust_field_integer(uint64_t, tid, tid_) lttng_ust_field_integer(int32_t, inc, inc_)
                lttng_ust_field_integer(int, rmw_flags, rmw_flags_)
                    lttng_ust_field_integer(uint8_t, flag, flag_) lttng_ust_field_string(msg, msg_)
                        lttng_ust_field_integer(uint8_t, old_hit_flag_points, old_hit_flag_points_)
                            lttng_ust_field_integer(uint8_t, new_hit_flag_points,
                                                    new_hit_flag_points_)))

#endif

#include <lttng/tracepoint-event.h>
