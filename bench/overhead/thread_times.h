/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_THREAD_TIMES_H
#define OPTRAIL_THREAD_TIMES_H

#include <stdint.h>
#include <sys/types.h>

/* CPU time of all threads of a process together, ns, to the last switch of each: the sums of
 * /proc/PID/task/TID/schedstat, far finer than the ticks of /proc/PID/stat. What threads used that
 * have ended is not in it. -ESRCH with the message when the process is gone. */
int thread_times_read(pid_t pid, uint64_t *ns);

/* Binds all threads of a process to one CPU, and back. */
struct thread_binding;

/* Owned by the caller, who undoes it. */
int thread_binding_make(pid_t pid, int cpu, struct thread_binding **binding);

/* Gives each thread the CPUs back that it had; threads born meanwhile get those of the process's
 * first thread. NULL is fine. */
void thread_binding_undo(struct thread_binding *binding);

#endif
