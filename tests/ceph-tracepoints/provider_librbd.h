/* SPDX-License-Identifier: MIT */
/* Events as Ceph's provider "librbd" has them: these names, fields and types. LTTng reads the file
 * several times over, hence the unusual guard. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER librbd
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "provider_librbd.h"

#if !defined(CEPH_PROVIDER_LIBRBD_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define CEPH_PROVIDER_LIBRBD_H

#include <lttng/tracepoint.h>

#include <stdint.h>
#include <sys/types.h>

#define IMAGE_ARGS                                                                                 \
    void *, imagectx_, const char *, name_, const char *, snap_name_, char, read_only_
#define IMAGE_FIELDS                                                                               \
    lttng_ust_field_integer_hex(void *, imagectx, imagectx_) lttng_ust_field_string(name, name_)   \
        lttng_ust_field_string(snap_name, snap_name_)                                              \
            lttng_ust_field_integer(char, read_only, read_only_)

LTTNG_UST_TRACEPOINT_EVENT(
    librbd, write_enter,
    LTTNG_UST_TP_ARGS(IMAGE_ARGS, uint64_t, off_, size_t, len_, const char *, buf_),
    LTTNG_UST_TP_FIELDS(IMAGE_FIELDS lttng_ust_field_integer(uint64_t, off, off_)
                            lttng_ust_field_integer_hex(void *, buf, buf_)
                                lttng_ust_field_integer(uint8_t, buf_isnull, buf_ == NULL)
                                    lttng_ust_field_integer(size_t, buf_len, len_)))
LTTNG_UST_TRACEPOINT_EVENT(librbd, write_exit, LTTNG_UST_TP_ARGS(ssize_t, retval_),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(ssize_t, retval, retval_)))
LTTNG_UST_TRACEPOINT_EVENT(
    librbd, aio_read_enter,
    LTTNG_UST_TP_ARGS(IMAGE_ARGS, uint64_t, offset_, uint64_t, length_, const char *, buf_,
                      const void *, completion_),
    LTTNG_UST_TP_FIELDS(IMAGE_FIELDS lttng_ust_field_integer(uint64_t, offset, offset_)
                            lttng_ust_field_integer(uint64_t, length, length_)
                                lttng_ust_field_integer_hex(const void *, completion, completion_)))
LTTNG_UST_TRACEPOINT_EVENT(librbd, aio_read_exit, LTTNG_UST_TP_ARGS(int, retval_),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, retval, retval_)))
LTTNG_UST_TRACEPOINT_EVENT(librbd, aio_complete_enter,
                           LTTNG_UST_TP_ARGS(void *, completion_, ssize_t, rval_),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer_hex(void *, completion,
                                                                           completion_)
                                                   lttng_ust_field_integer(ssize_t, rval, rval_)))

#endif

#include <lttng/tracepoint-event.h>
