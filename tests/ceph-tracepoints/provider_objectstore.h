/* SPDX-License-Identifier: MIT */
/* Events as Ceph's provider "objectstore" has them: these names, fields and types. LTTng reads the
 * file several times over, hence the unusual guard. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER objectstore
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "provider_objectstore.h"

#if !defined(CEPH_PROVIDER_OBJECTSTORE_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define CEPH_PROVIDER_OBJECTSTORE_H

#include <lttng/tracepoint.h>

#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(
    objectstore, read_enter,
    LTTNG_UST_TP_ARGS(const char *, coll_name_, uint64_t, offset_, size_t, len_),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_string(coll_name, coll_name_)
                            lttng_ust_field_integer(uint64_t, offset, offset_)
                                lttng_ust_field_integer(size_t, len, len_)))
LTTNG_UST_TRACEPOINT_EVENT(objectstore, read_exit, LTTNG_UST_TP_ARGS(int, retval_),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, retval, retval_)))
LTTNG_UST_TRACEPOINT_EVENT(
    objectstore, write_enter,
    LTTNG_UST_TP_ARGS(const char *, osr_name_, uint64_t, offset_, uint64_t, length_),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_string(osr_name, osr_name_)
                            lttng_ust_field_integer(uint64_t, offset, offset_)
                                lttng_ust_field_integer(uint64_t, length, length_)))
LTTNG_UST_TRACEPOINT_EVENT(objectstore, write_exit, LTTNG_UST_TP_ARGS(int, retval_),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, retval, retval_)))

#endif

#include <lttng/tracepoint-event.h>
