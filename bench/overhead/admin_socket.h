/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_ADMIN_SOCKET_H
#define OPTRAIL_ADMIN_SOCKET_H

#include <stddef.h>
#include <sys/types.h>

/* The admin socket of a Ceph daemon, by which it tells its counters; only read, nothing is set. */

/* Finds the path of a process's listening socket that ends in ".asok". -ENOENT with the message. */
int admin_socket_find(pid_t pid, char *path, size_t size);

/* Sends a command (JSON) and returns the answer, which the caller frees. */
int admin_socket_ask(const char *path, const char *command, char **answer);

#endif
