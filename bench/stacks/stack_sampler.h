/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_STACK_SAMPLER_H
#define OPTRAIL_STACK_SAMPLER_H

#include <stdbool.h>
#include <sys/types.h>

#include "unwind.h"

/* Snapshots of the threads of a process, taken by the kernel while they run (perf_event_open(2),
 * cpu-clock), with up to 32 KiB of stack each. */
struct stack_sampler;

/* Negative errno with the message: -EACCES where the machine does not allow it. */
int stack_sampler_open(pid_t pid, unsigned hertz, struct stack_sampler **sampler);
void stack_sampler_close(struct stack_sampler *sampler);

/* Calls back for each snapshot that is there. Returns how many. */
typedef void stack_sampler_function(void *context, const struct stack_snapshot *snapshot);
size_t stack_sampler_read(struct stack_sampler *sampler, stack_sampler_function *call,
                          void *context);

#endif
