/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_OP_COUNTER_H
#define OPTRAIL_OP_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

#include "target.h"

/* How many ops a daemon has answered, by its own account: traced or not, it counts alike. */
struct op_count {
    uint64_t time_ns; /* CLOCK_MONOTONIC, the middle of the asking */
    uint64_t ops;
    bool has_latency;  /* whether the daemon tells how long they took */
    double latency_ns; /* the sum over these ops */
};

struct op_counter;

/* -ENOTSUP with the message for a daemon whose counters are not known how to ask for. Owned by the
 * caller. The target is copied. */
int op_counter_open(const struct target *target, struct op_counter **counter);
void op_counter_close(struct op_counter *counter); /* NULL is fine */

int op_counter_read(struct op_counter *counter, struct op_count *count);

#endif
