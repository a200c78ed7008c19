/* SPDX-License-Identifier: MIT */
/* Events as Ceph's provider "pg" has them: these names, fields and types. LTTng reads the file
 * several times over, hence the unusual guard. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER pg
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "provider_pg.h"

#if !defined(CEPH_PROVIDER_PG_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define CEPH_PROVIDER_PG_H

#include <lttng/tracepoint.h>

#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(
    pg, queue_op,
    LTTNG_UST_TP_ARGS(uint8_t, type_, int64_t, num_, uint64_t, tid_, int32_t, inc_, int,
                      rmw_flags_),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint8_t, type, type_)
                            lttng_ust_field_integer(int64_t, num, num_)
                                lttng_ust_field_integer(uint64_t, tid, tid_)
                                    lttng_ust_field_integer(int32_t, inc, inc_)
                                        lttng_ust_field_integer(int, rmw_flags, rmw_flags_)))

#endif

#include <lttng/tracepoint-event.h>
