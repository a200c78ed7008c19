/* SPDX-License-Identifier: MIT */
#include "message_time.h"

#include <string.h>

uint64_t message_snapshot_ns(const bt_clock_snapshot *snapshot)
{
    int64_t ns;

    if (bt_clock_snapshot_get_ns_from_origin(snapshot, &ns) !=
        BT_CLOCK_SNAPSHOT_GET_NS_FROM_ORIGIN_STATUS_OK) {
        bt_current_thread_clear_error();
        return 0;
    }
    return ns < 0 ? 0 : (uint64_t)ns; /* 0: no time that events of ours can have */
}

bool message_clocks_agree(const bt_clock_class *first, const bt_clock_class *clock)
{
    const uint8_t *uuid = bt_clock_class_get_uuid(clock);
    const uint8_t *first_uuid = bt_clock_class_get_uuid(first);

    if (bt_clock_class_origin_is_unix_epoch(first) != bt_clock_class_origin_is_unix_epoch(clock))
        return false;
    if (bt_clock_class_origin_is_unix_epoch(first))
        return true;
    return uuid && first_uuid ? memcmp(uuid, first_uuid, 16) == 0 : uuid == first_uuid;
}

bool message_time(const bt_message *message, uint64_t *time)
{
    const bt_stream *stream;

    switch (bt_message_get_type(message)) {
    case BT_MESSAGE_TYPE_EVENT:
        *time = message_snapshot_ns(bt_message_event_borrow_default_clock_snapshot_const(message));
        return true;
    case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
        stream = bt_message_discarded_events_borrow_stream_const(message);
        if (!bt_stream_class_discarded_events_have_default_clock_snapshots(
                bt_stream_borrow_class_const(stream)))
            return false;
        *time = message_snapshot_ns(
            bt_message_discarded_events_borrow_beginning_default_clock_snapshot_const(message));
        return true;
    case BT_MESSAGE_TYPE_DISCARDED_PACKETS:
        stream = bt_message_discarded_packets_borrow_stream_const(message);
        if (!bt_stream_class_discarded_packets_have_default_clock_snapshots(
                bt_stream_borrow_class_const(stream)))
            return false;
        *time = message_snapshot_ns(
            bt_message_discarded_packets_borrow_beginning_default_clock_snapshot_const(message));
        return true;
    default:
        return false;
    }
}
