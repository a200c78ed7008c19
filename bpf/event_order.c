/* SPDX-License-Identifier: MIT */
#include "event_order.h"

#include <stdlib.h>
#include <string.h>

#include "err.h"

/* Makes room for one more: by closing the gap at the front when that frees half of it. */
static int make_room(struct event_order *order)
{
    if (order->count < order->capacity)
        return 0;
    if (order->begin > 0) {
        memmove(order->events, order->events + order->begin,
                (order->count - order->begin) * sizeof(*order->events));
        order->count -= order->begin;
        order->ready -= order->begin;
        order->begin = 0;
    }
    if (order->count < order->capacity / 2)
        return 0;
    size_t capacity = order->capacity ? 2 * order->capacity : 1024;
    struct optrail_event *grown = realloc(order->events, capacity * sizeof(*order->events));
    if (!grown)
        return err_no_memory();
    order->events = grown;
    order->capacity = capacity;
    return 0;
}

int event_order_add(struct event_order *order, const struct optrail_event *event)
{
    int error = make_room(order);
    if (error)
        return error;
    struct optrail_event one = *event;
    if (one.time_ns < order->last_ns) {
        one.time_ns = order->last_ns;
        one.flags |= EVENT_FLAG_LATE;
        order->late++;
    }
    size_t at = order->count++;
    while (at > order->ready && order->events[at - 1].time_ns > one.time_ns) {
        order->events[at] = order->events[at - 1];
        at--;
    }
    order->events[at] = one;
    return 0;
}

void event_order_release(struct event_order *order, uint64_t until_ns)
{
    while (order->ready < order->count && order->events[order->ready].time_ns <= until_ns)
        order->last_ns = order->events[order->ready++].time_ns;
}

size_t event_order_take(struct event_order *order, struct optrail_event *events, size_t capacity)
{
    size_t count = order->ready - order->begin;
    if (count > capacity)
        count = capacity;
    if (count)
        memcpy(events, order->events + order->begin, count * sizeof(*events));
    order->begin += count;
    if (order->begin == order->count)
        order->begin = order->ready = order->count = 0;
    return count;
}

void event_order_free(struct event_order *order)
{
    free(order->events);
    *order = (struct event_order){0};
}
