/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_SAMPLE_REASON_H
#define OPTRAIL_SAMPLE_REASON_H

#include <stdbool.h>

struct wait_reason {
    const char *name; /* static: "mutex", "disk", "network", ... */
    bool idle;        /* a thread without work waits like this: for something that need not come */
};

/* What a sleeping thread waits for, by its stacks as in stack.define (the innermost frame first;
 * NULL: not known); `disk`: the scheduler says that it waits for input or output. Any thread. */
struct wait_reason wait_reason_of(const char *kernel, const char *user, bool disk);

#endif
