/* SPDX-License-Identifier: MIT */
#include "lttng_buffers.h"

/* Of an event of ours in an LTTng stream: header 4 (13 for a far time), payload 36; measured 44. */
#define EVENT_BYTES 44
#define SUBBUFFERS  8
#define MINIMUM     (64u << 10)
#define MAXIMUM     (64u << 20)

struct lttng_buffers lttng_buffers_choose(uint64_t rate, double seconds, unsigned cpus,
                                          uint64_t memory)
{
    struct lttng_buffers buffers = {.bytes = MINIMUM, .count = SUBBUFFERS};
    double share = cpus > 1 ? 0.5 : 1;
    double wanted = (double)rate * EVENT_BYTES * seconds * share;

    /* the sub-buffer that is being written does not count: it is lost, or not yet to be read */
    while (buffers.bytes < MAXIMUM && (double)(buffers.bytes * (buffers.count - 1)) < wanted)
        buffers.bytes *= 2;
    while (buffers.bytes > MINIMUM && buffers.bytes * buffers.count * cpus > memory)
        buffers.bytes /= 2;
    return buffers;
}
