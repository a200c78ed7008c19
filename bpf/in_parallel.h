/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_IN_PARALLEL_H
#define OPTRAIL_IN_PARALLEL_H

#include <stddef.h>

/* Calls `work` once for each index below `count`, in some threads at once and this one, and waits
 * for all. Returns 0, or the error of the lowest index that failed, with its message. Signals are
 * for this thread alone. */
int in_parallel(size_t count, int (*work)(void *context, size_t index), void *context);

#endif
