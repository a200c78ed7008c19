/* SPDX-License-Identifier: MIT */
#ifndef MINISTORE_TCP_H
#define MINISTORE_TCP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* What client and daemon need of TCP when they are the one that calls. */

/* A connection to that IPv4 address or name, without delay for small messages. The caller closes
 * it. -1 after a message. */
int tcp_connect(const char *host, uint16_t port);

/* Sends all of the parts, which it changes on the way; waits for room. 0 or a positive errno. */
int tcp_send(int fd, struct iovec *parts, size_t count);

#endif
