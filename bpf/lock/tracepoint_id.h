/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TRACEPOINT_ID_H
#define OPTRAIL_TRACEPOINT_ID_H

/* The number of a tracepoint ("syscalls", "sys_enter_futex"), as perf_event_open(2) wants it: from
 * tracefs where it is mounted, else from one that is opened for the purpose and mounted nowhere
 * (fsopen, Linux 5.2). Negative errno with the message. */
int tracepoint_id(const char *group, const char *name);

#endif
