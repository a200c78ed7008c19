/* SPDX-License-Identifier: MIT */
#include "duty_cycle.h"

#define MILLISECOND 1000000ull
/* A slice is this many times the slowest op, and at most so long. What makes percentiles sure is
 * the number of slices rather than their length. */
#define SLICE_TIMES 2
#define SLICE_MOST  (10000 * MILLISECOND)
/* The slowest op of the next slice may well be slower than the slowest so far. */
#define DRAIN_TIMES 2
#define DRAIN_LEAST (20 * MILLISECOND)
#define DRAIN_MOST  (2000 * MILLISECOND)

static uint64_t slowest(const struct duty_cycle *cycle)
{
    uint64_t most = 0;
    for (unsigned i = 0; i < DUTY_LOOK_BACK; i++)
        if (cycle->slowest[i] > most)
            most = cycle->slowest[i];
    return most;
}

static uint64_t within(uint64_t value, uint64_t least, uint64_t most)
{
    return value < least ? least : value > most ? most : value;
}

static uint64_t slice_ns(const struct duty_cycle *cycle)
{
    return within(SLICE_TIMES * slowest(cycle), cycle->least_ns, SLICE_MOST);
}

void duty_cycle_begin(struct duty_cycle *cycle, double fraction, uint64_t least_ns, uint64_t now_ns)
{
    *cycle = (struct duty_cycle){.fraction = fraction, .least_ns = least_ns, .begun_ns = now_ns};
    duty_cycle_resumed(cycle, now_ns);
}

void duty_cycle_slowest(struct duty_cycle *cycle, uint64_t latency_ns)
{
    uint64_t *row = &cycle->slowest[cycle->slice % DUTY_LOOK_BACK];
    if (latency_ns > *row)
        *row = latency_ns;
    if (cycle->state == DUTY_TRACING && cycle->resumed_ns + slice_ns(cycle) > cycle->due_ns)
        cycle->due_ns = cycle->resumed_ns + slice_ns(cycle);
}

uint64_t duty_cycle_due_ns(const struct duty_cycle *cycle)
{
    return cycle->due_ns;
}

void duty_cycle_paused(struct duty_cycle *cycle, uint64_t now_ns)
{
    cycle->state = DUTY_DRAINING;
    cycle->paused_ns = now_ns;
    cycle->due_ns = now_ns + within(DRAIN_TIMES * slowest(cycle), DRAIN_LEAST, DRAIN_MOST);
}

void duty_cycle_stopped(struct duty_cycle *cycle, uint64_t now_ns, uint64_t probed_ns)
{
    cycle->state = DUTY_RESTING;
    /* so that probed / (probed + rested) is the fraction, over all slices; never in one go without
     * a rest, even if the way in and out took long */
    uint64_t total = (uint64_t)((double)probed_ns / cycle->fraction);
    uint64_t due = cycle->begun_ns + total;
    cycle->due_ns = due > now_ns ? due : now_ns;
}

void duty_cycle_resumed(struct duty_cycle *cycle, uint64_t now_ns)
{
    cycle->state = DUTY_TRACING;
    cycle->resumed_ns = now_ns;
    cycle->slice++;
    cycle->slowest[cycle->slice % DUTY_LOOK_BACK] = 0;
    cycle->due_ns = now_ns + slice_ns(cycle);
}

uint64_t duty_cycle_last_ns(const struct duty_cycle *cycle)
{
    return cycle->paused_ns > cycle->resumed_ns ? cycle->paused_ns - cycle->resumed_ns : 0;
}

bool duty_cycle_in(const struct duty_cycle *cycle)
{
    return cycle->state != DUTY_RESTING;
}
