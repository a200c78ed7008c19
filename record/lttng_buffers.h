/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_LTTNG_BUFFERS_H
#define OPTRAIL_LTTNG_BUFFERS_H

#include <stdint.h>

/* An LTTng channel's ring buffers, of which there is one a CPU: `count` sub-buffers of `bytes`
 * each, both powers of two. */
struct lttng_buffers {
    uint64_t bytes;
    uint64_t count;
};

/*
 * Sizes them so that `seconds` of `rate` events a second (all CPUs together) fit, of which a single
 * CPU may have the half: a daemon's threads do not spread evenly. For a recording the seconds are
 * those for which the consumer daemon, which writes the sub-buffers out, may be kept from doing so;
 * for a flight recorder those that are kept, and one more sub-buffer than they need, since the
 * oldest is overwritten as a whole. `memory`: bytes that all CPUs' buffers may take together; they
 * get smaller until they do.
 */
struct lttng_buffers lttng_buffers_choose(uint64_t rate, double seconds, unsigned cpus,
                                          uint64_t memory);

#endif
