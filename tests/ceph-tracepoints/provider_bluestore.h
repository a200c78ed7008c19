/* SPDX-License-Identifier: MIT */
/* Events as Ceph's provider "bluestore" has them: these names, fields and types. LTTng reads the
 * file several times over, hence the unusual guard. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bluestore
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "provider_bluestore.h"

#if !defined(CEPH_PROVIDER_BLUESTORE_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define CEPH_PROVIDER_BLUESTORE_H

#include <lttng/tracepoint.h>

#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(
    bluestore, transaction_initial_state,
    LTTNG_UST_TP_ARGS(uint32_t, sequencer_id_, uint64_t, tid_, int64_t, current_kv_throttle_cost_,
                      int64_t, current_deferred_throttle_cost_, uint64_t, pending_kv_ios_, uint64_t,
                      pending_deferred_ios_, uint64_t, ios_started_since_last_traced_io_, uint64_t,
                      ios_completed_since_last_traced_io_, double, throttle_time_),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(uint32_t, sequencer_id, sequencer_id_) lttng_ust_field_integer(
            uint64_t, tid, tid_) lttng_ust_field_integer(int64_t, current_kv_throttle_cost,
                                                         current_kv_throttle_cost_)
            lttng_ust_field_integer(int64_t, current_deferred_throttle_cost,
                                    current_deferred_throttle_cost_)
                lttng_ust_field_integer(uint64_t, pending_kv_ios, pending_kv_ios_)
                    lttng_ust_field_integer(uint64_t, pending_deferred_ios, pending_deferred_ios_)
                        lttng_ust_field_integer(uint64_t, ios_started_since_last_traced_io,
                                                ios_started_since_last_traced_io_)
                            lttng_ust_field_integer(uint64_t, ios_completed_since_last_traced_io,
                                                    ios_completed_since_last_traced_io_)
                                lttng_ust_field_float(double, throttle_time, throttle_time_)))
LTTNG_UST_TRACEPOINT_EVENT(
    bluestore, transaction_state_duration,
    LTTNG_UST_TP_ARGS(uint32_t, sequencer_id_, uint64_t, tid_, uint8_t, state_, double, elapsed_),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, sequencer_id, sequencer_id_)
                            lttng_ust_field_integer(uint64_t, tid, tid_)
                                lttng_ust_field_integer(int8_t, state, state_)
                                    lttng_ust_field_float(double, elapsed, elapsed_)))
LTTNG_UST_TRACEPOINT_EVENT(
    bluestore, transaction_commit_latency,
    LTTNG_UST_TP_ARGS(uint32_t, sequencer_id_, uint64_t, tid_, double, elapsed_),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, sequencer_id, sequencer_id_)
                            lttng_ust_field_integer(uint64_t, tid, tid_)
                                lttng_ust_field_float(double, elapsed, elapsed_)))

#endif

#include <lttng/tracepoint-event.h>
