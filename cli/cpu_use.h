/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_CPU_USE_H
#define OPTRAIL_CPU_USE_H

#include <sys/types.h>

#include "report.h"

/*
 * What processes have of the CPUs while they are watched: two looks at /proc, at the beginning and
 * at the end, and nothing in between. Of each thread the kernel counts exactly how long it ran and
 * how long it was runnable without running (/proc/PID/task/TID/schedstat; "run_delay" in
 * kernel/sched/stats.h); of each CPU, in ticks, how long it was busy (/proc/stat).
 */
struct cpu_use;

/* The first look. Owned by the caller. -ENOMEM with the message; whatever /proc does not tell makes
 * the figures unknown and is no error. */
int cpu_use_begin(const pid_t *pids, size_t count, struct cpu_use **use);
void cpu_use_free(struct cpu_use *use); /* NULL is fine */

/* Since the first look. cpu->known is false when a process has ended, when the kernel does not
 * count, or when there is no memory. */
void cpu_use_read(const struct cpu_use *use, struct report_cpu *cpu);

#endif
