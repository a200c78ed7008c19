/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_SESSION_DAEMON_H
#define OPTRAIL_SESSION_DAEMON_H

#include <sys/types.h>

/* An LTTng session daemon as a child of this process, for user space alone. */

/* Starts it and waits until clients can connect. It ends when this process does, however that
 * happens. Negative errno with the message: -ENOENT when LTTng is not installed. Blocks SIGUSR1 and
 * SIGCHLD while it waits; not thread-safe. */
int session_daemon_start(pid_t *daemon);

/* Ends it and waits for that; kills it when it does not. */
void session_daemon_stop(pid_t daemon);

#endif
