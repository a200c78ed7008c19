/* SPDX-License-Identifier: MIT */
#include "capture_ring.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "clock_ns.h"
#include "err.h"

#define MOST_AT_ONCE_NS 100000000ull

int capture_ring_drain(struct ring_buffer *ring, const int *error, const char *what)
{
    int got = ring_buffer__consume(ring);
    if (*error)
        return *error;
    return got < 0 && got != -EAGAIN
               ? err_set(-got, "cannot read the ring of %s: %s", what, strerror(-got))
               : 0;
}

bool capture_ring_is_enough(uint64_t begun_ns)
{
    return monotonic_ns() - begun_ns > MOST_AT_ONCE_NS;
}
