/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_EVENT_ORDER_H
#define OPTRAIL_EVENT_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"

/*
 * Brings events of several CPUs into time order. They come almost in order; an event is held back
 * until nothing older can come any more.
 */
struct event_order {
    struct optrail_event *events;  /* sorted unless said below; owned */
    struct optrail_event *scratch; /* half as many, for sorting; owned */
    bool unsorted;                 /* those that may not be handed out yet */
    size_t count;
    size_t capacity;
    size_t begin;     /* those before it have been handed out */
    size_t ready;     /* those before it may be handed out */
    uint64_t last_ns; /* time of the newest one that may be handed out */
    uint64_t late;
};

/* Adds one; one that comes too late gets the time of the last one released, EVENT_FLAG_LATE, and is
 * counted. */
int event_order_add(struct event_order *order, const struct optrail_event *event);

/* Everything up to this time may be handed out. */
void event_order_release(struct event_order *order, uint64_t until_ns);

/* Takes up to `capacity` of the released ones; returns how many. */
size_t event_order_take(struct event_order *order, struct optrail_event *events, size_t capacity);

void event_order_free(struct event_order *order);

#endif
