/* SPDX-License-Identifier: MIT */
/* Events as Ceph's provider "osd" has them: these names, fields and types. LTTng reads the file
 * several times over, hence the unusual guard. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER osd
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "provider_osd.h"

#if !defined(CEPH_PROVIDER_OSD_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define CEPH_PROVIDER_OSD_H

#include <lttng/tracepoint.h>

#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(
    osd, ms_fast_dispatch,
    LTTNG_UST_TP_ARGS(uint8_t, type_, int64_t, num_, uint64_t, tid_, int32_t, inc_),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint8_t, type, type_)
                            lttng_ust_field_integer(int64_t, num, num_)
                                lttng_ust_field_integer(uint64_t, tid, tid_)
                                    lttng_ust_field_integer(int32_t, inc, inc_)))
LTTNG_UST_TRACEPOINT_EVENT(
    osd, opwq_process_start,
    LTTNG_UST_TP_ARGS(uint8_t, type_, int64_t, num_, uint64_t, tid_, int32_t, inc_),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint8_t, type, type_)
                            lttng_ust_field_integer(int64_t, num, num_)
                                lttng_ust_field_integer(uint64_t, tid, tid_)
                                    lttng_ust_field_integer(int32_t, inc, inc_)))
LTTNG_UST_TRACEPOINT_EVENT(
    osd, opwq_process_finish,
    LTTNG_UST_TP_ARGS(uint8_t, type_, int64_t, num_, uint64_t, tid_, int32_t, inc_),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint8_t, type, type_)
                            lttng_ust_field_integer(int64_t, num, num_)
                                lttng_ust_field_integer(uint64_t, tid, tid_)
                                    lttng_ust_field_integer(int32_t, inc, inc_)))
LTTNG_UST_TRACEPOINT_EVENT(
    osd, prepare_tx_enter,
    LTTNG_UST_TP_ARGS(uint8_t, type_, int64_t, num_, uint64_t, tid_, int32_t, inc_),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint8_t, type, type_)
                            lttng_ust_field_integer(int64_t, num, num_)
                                lttng_ust_field_integer(uint64_t, tid, tid_)
                                    lttng_ust_field_integer(int32_t, inc, inc_)))
LTTNG_UST_TRACEPOINT_EVENT(
    osd, prepare_tx_exit,
    LTTNG_UST_TP_ARGS(uint8_t, type_, int64_t, num_, uint64_t, tid_, int32_t, inc_),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint8_t, type, type_)
                            lttng_ust_field_integer(int64_t, num, num_)
                                lttng_ust_field_integer(uint64_t, tid, tid_)
                                    lttng_ust_field_integer(int32_t, inc, inc_)))
LTTNG_UST_TRACEPOINT_EVENT(
    osd, do_osd_op_pre_read,
    LTTNG_UST_TP_ARGS(const char *, oid_, uint64_t, snap_, uint64_t, osize_, uint32_t, oseq_,
                      uint64_t, offset_, uint64_t, length_, uint64_t, truncate_size_, uint32_t,
                      truncate_seq_),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_string(oid, oid_) lttng_ust_field_integer(uint64_t, snap, snap_)
            lttng_ust_field_integer(uint64_t, osize, osize_)
                lttng_ust_field_integer(uint32_t, oseq, oseq_)
                    lttng_ust_field_integer(uint64_t, offset, offset_)
                        lttng_ust_field_integer(uint64_t, length, length_)
                            lttng_ust_field_integer(uint64_t, truncate_size, truncate_size_)
                                lttng_ust_field_integer(uint32_t, truncate_seq, truncate_seq_)))
LTTNG_UST_TRACEPOINT_EVENT(
    osd, do_osd_op_pre_write,
    LTTNG_UST_TP_ARGS(const char *, oid_, uint64_t, snap_, uint64_t, osize_, uint32_t, oseq_,
                      uint64_t, offset_, uint64_t, length_, uint64_t, truncate_size_, uint32_t,
                      truncate_seq_),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_string(oid, oid_) lttng_ust_field_integer(uint64_t, snap, snap_)
            lttng_ust_field_integer(uint64_t, osize, osize_)
                lttng_ust_field_integer(uint32_t, oseq, oseq_)
                    lttng_ust_field_integer(uint64_t, offset, offset_)
                        lttng_ust_field_integer(uint64_t, length, length_)
                            lttng_ust_field_integer(uint64_t, truncate_size, truncate_size_)
                                lttng_ust_field_integer(uint32_t, truncate_seq, truncate_seq_)))

#endif

#include <lttng/tracepoint-event.h>
