/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_SAMPLE_REASON_H
#define OPTRAIL_SAMPLE_REASON_H

#include <stdbool.h>

#include "thread_sample.h"

/* What a sleeping thread waits for, by its stacks as in stack.define (the innermost frame first;
 * NULL: not known); `disk`: the scheduler says that it waits for input or output. Any thread. */
enum sample_reason sample_reason_of(const char *kernel, const char *user, bool disk);

#endif
