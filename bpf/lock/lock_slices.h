/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_LOCK_SLICES_H
#define OPTRAIL_LOCK_SLICES_H

#include <stdint.h>

#include "duty_cycle.h"
#include "lock_probe.h"

/*
 * Waits of a part of the time: the programs are in for slices, and out between them. Those that
 * begin in the first part of a slice are told, and followed to their end in its second part, when
 * none begins; so long waits are not missing more often than short ones, up to the length of the
 * second part. Slices are longer than the longest waits for locks. First parts make one in `each`
 * of the time exactly, so that a wait stands for so many.
 */
struct lock_slices {
    uint32_t each;           /* 0: all of the time */
    struct duty_cycle cycle; /* of one in `each` */
    uint64_t observed_ns;    /* first parts that are over */
    uint64_t cut;            /* waits for locks that did not end in their slice */
    uint64_t count;
};

/* The programs are in. `each`: 2 and more; else nothing is ever done. */
void lock_slices_begin(struct lock_slices *slices, uint32_t each, uint64_t now);

/* Does what is due. `now`: CLOCK_MONOTONIC, ns. Negative errno with the message when the programs
 * cannot be put in again. */
int lock_slices_turn(struct lock_slices *slices, struct lock_probe *probe, uint64_t now);

/* A wait for a lock took so long. */
void lock_slices_waited(struct lock_slices *slices, uint64_t length_ns);

/* For how many waits one stands. */
uint32_t lock_slices_weight(const struct lock_slices *slices);

/* For how long waits' begins were told, up to now. */
uint64_t lock_slices_observed_ns(const struct lock_slices *slices, uint64_t now);

#endif
