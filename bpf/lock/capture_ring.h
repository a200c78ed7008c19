/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_CAPTURE_RING_H
#define OPTRAIL_CAPTURE_RING_H

#include <stdbool.h>
#include <stdint.h>

struct ring_buffer;

/* Takes what is in the ring of `what` ("waits"). *error is what the ring's callback sets when it
 * fails, with the message; it may also end the look by -EAGAIN, which is none. 0 or a negative
 * errno with the message. */
int capture_ring_drain(struct ring_buffer *ring, const int *error, const char *what);

/* Whether a look that began at `begun_ns` (CLOCK_MONOTONIC) has lasted long enough: a ring that is
 * filled as fast as it is read must not keep us from everything else. */
bool capture_ring_is_enough(uint64_t begun_ns);

#endif
