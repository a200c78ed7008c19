/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_EVENT_DECODER_H
#define OPTRAIL_EVENT_DECODER_H

#include <babeltrace2/babeltrace.h>

#include "ceph_tracepoints.h"
#include "event.h"

/*
 * From a babeltrace2 event to ours. What an event class means (which point, where its fields lie)
 * is found and checked once per class; after that an event costs a look-up by address and five
 * reads.
 */
struct event_decoder;

/* What an event turned out to be. */
enum decoded {
    DECODED_EVENT,     /* ours: filled in */
    DECODED_CEPH,      /* one of Ceph's own tracepoints: event_decoder_ceph() has it */
    DECODED_FOREIGN,   /* of another provider */
    DECODED_UNKNOWN,   /* ours by name, but a point that is not in this catalogue */
    DECODED_MALFORMED, /* ours or Ceph's by name, but without the fields or the clock it must have
                        */
    DECODED_NO_MEMORY, /* nothing was decoded */
};

/* The packet whose cpu was looked up last: one per input. Reset (zeroed) when a packet begins. */
struct decoder_packet {
    const bt_packet *packet; /* weak; only compared */
    uint16_t cpu;
};

/* Owned by the caller. NULL with the message when memory is short. */
struct event_decoder *event_decoder_new(void);
void event_decoder_free(struct event_decoder *decoder); /* NULL is fine */

/* Decodes the event of an event message; a text (arg0 of points whose role is TEXT) lives until the
 * message is put or the next one is decoded; event->time_ns (0: none) is set by the caller, who
 * needed it before. Not thread-safe. */
enum decoded event_decoder_decode(struct event_decoder *decoder, const bt_message *message,
                                  struct decoder_packet *packet, struct optrail_event *event);

/* The event that was decoded last, if it was DECODED_CEPH. Weak: until the next one. */
const struct ceph_event *event_decoder_ceph(const struct event_decoder *decoder);

#endif
