/* SPDX-License-Identifier: MIT */
#ifndef MINISTORE_REPLICATION_H
#define MINISTORE_REPLICATION_H

#include "daemon_options.h"
#include "finisher.h"
#include "request.h"

/*
 * The primary's side of replication. Peers are ordinary ministores. Each write that a client sends
 * goes to all of them at once, in the order in which its placement group works on it here, and is
 * answered when the local part (see --ack) and all peers are done. In the trace a copy is a branch
 * of the op, numbered as the peers are given, from 1: replica.fork when the copy is handed to the
 * peer's sender, replica.join when the answer is in.
 *
 * An error that a peer answers is the write's answer. A peer whose connection ends, or that is
 * silent for --peer-timeout while it owes an answer, is lost: what it owes is waited for no
 * longer, and it gets no more writes until we are started again. What is answered then is
 * safe here and on the peers that are left.
 *
 * The process has one set of peers.
 */

/* "HOST:PORT", from the command line. 0, or -1 after a message. */
int replication_add_peer(const char *text);

/* Connects to all peers and starts a sender and a receiver for each. 0, or -1 after a message;
 * replication_stop cleans up in both cases. */
int replication_start(const struct daemon_options *options, struct finisher *finisher);

/* Ends the connections; what peers still owe counts as missed. Nothing may be sent after it. */
void replication_stop(void);

/* Makes what a client's write needs for its copies. 0 or a positive errno. */
int replication_prepare(struct request *request);

/* Hands the copies of a prepared request to the senders, each with a part that the answer waits
 * for. Called before the local part begins, under the group's lock; does not block. */
void replication_send(struct request *request);

#endif
