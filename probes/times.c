/* SPDX-License-Identifier: MIT */
#include <optrail/probe.h>

#include "event.h"

#include <time.h>

/* The header repeats the kinds of keys, for daemons do not include event.h. */
#define SAME(name, other)                                                                          \
    typedef char same_##name[(int)OPTRAIL_KEY_##name == (int)KEY_##other ? 1 : -1]                 \
        __attribute__((unused))
SAME(current, CURRENT);
SAME(op, OP);
SAME(sequence, SEQUENCE);
SAME(client_op, CLIENT_OP);
SAME(object, OBJECT);
SAME(context, CONTEXT);
SAME(store_op, STORE_OP);
SAME(message, MESSAGE);
SAME(subop, SUBOP);
SAME(lock, LOCK);
SAME(stack, STACK);
SAME(KINDS, COUNT);

static __thread uint64_t remembered;

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;
    if (clock_gettime(clock, &now) != 0)
        return 0;
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t optrail_stamp(uint64_t wall_ns)
{
    if (wall_ns == 0)
        return 0;
    /* the clocks tick together but for slewing and leaps: the wall's age now is the age */
    uint64_t wall = read_clock(CLOCK_REALTIME), now = read_clock(CLOCK_MONOTONIC);
    uint64_t age = wall - wall_ns;
    if (wall_ns > wall)
        return now;
    return age < now ? now - age : 0;
}

void optrail_remember(void)
{
    remembered = read_clock(CLOCK_MONOTONIC);
}

uint64_t optrail_remembered(void)
{
    return remembered;
}
