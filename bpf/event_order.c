/* SPDX-License-Identifier: MIT */
#include "event_order.h"

#include <stdlib.h>
#include <string.h>

#include "err.h"

/* So far back an event is put into its place at once; what comes later still is sorted in with all
 * others when they are released. */
#define MOST_STEPS 64

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
    grown = realloc(order->scratch, capacity / 2 * sizeof(*grown));
    if (!grown)
        return err_no_memory();
    order->scratch = grown;
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
    size_t at = order->count, least = at > MOST_STEPS ? at - MOST_STEPS : 0;
    if (least < order->ready)
        least = order->ready;
    if (!order->unsorted)
        while (at > least && order->events[at - 1].time_ns > one.time_ns)
            at--;
    if (at == least && at > order->ready) {
        order->unsorted = true; /* it goes further back */
        at = order->count;
    }
    memmove(order->events + at + 1, order->events + at,
            (order->count - at) * sizeof(*order->events));
    order->events[at] = one;
    order->count++;
    return 0;
}

/* Sorts events[0..count), those of one time as they are, by halves. */
static void sort(struct optrail_event *events, struct optrail_event *scratch, size_t count)
{
    size_t half = count / 2, left = 0, right = half, to = 0;
    if (count < 2)
        return;
    sort(events, scratch, half);
    sort(events + half, scratch, count - half);
    if (events[half - 1].time_ns <= events[half].time_ns)
        return;
    memcpy(scratch, events, half * sizeof(*events));
    while (left < half && right < count)
        events[to++] =
            events[right].time_ns < scratch[left].time_ns ? events[right++] : scratch[left++];
    memcpy(events + to, scratch + left, (half - left) * sizeof(*events));
}

void event_order_release(struct event_order *order, uint64_t until_ns)
{
    if (order->unsorted)
        sort(order->events + order->ready, order->scratch, order->count - order->ready);
    order->unsorted = false;
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
    free(order->scratch);
    *order = (struct event_order){0};
}
