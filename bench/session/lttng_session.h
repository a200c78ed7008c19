/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_LTTNG_SESSION_H
#define OPTRAIL_LTTNG_SESSION_H

#include <stdbool.h>
#include <stddef.h>

/*
 * An LTTng session daemon of our own with one recording session, so that nothing of the machine's
 * own daemon and sessions is touched and no group membership is needed.
 *
 * Every other user's daemon finds its sockets through $LTTNG_HOME; root's are always in /run/lttng.
 * So, for root, the calling process moves into a mount namespace of its own, in which /run/lttng is
 * an empty tmpfs. Where that is not allowed (a container without CAP_SYS_ADMIN) /run/lttng itself
 * is used, unless another daemon lives there.
 */

struct lttng_session_options {
    const char *output;        /* directory for the trace; must not exist or be empty */
    const char *const *events; /* names or patterns, ended by NULL */
    size_t subbuffer_bytes;    /* per cpu; a power of two; 0: 4 MiB */
    unsigned subbuffers;       /* per cpu; a power of two; 0: 8 */
    /* events go round in the buffers, the oldest are overwritten, none are written to disk: every
     * event then costs the traced program the same, however many there are */
    bool in_memory;
};

struct lttng_session;

/* Starts the daemon and the recording. From here on the calling process and the processes that it
 * starts are registered with this daemon: $LTTNG_HOME is set, and the mount namespace is changed.
 * Negative errno with the message, nothing left behind, when it fails: -ENOENT when LTTng is not
 * installed. Not thread-safe: SIGUSR1 is blocked while the daemon starts. */
int lttng_session_open(const struct lttng_session_options *options, struct lttng_session **session);

/* Ends the recording; once it returns the whole trace is in the output directory. */
int lttng_session_stop(struct lttng_session *session);

/* Stops if that is not done yet, ends the daemon, waits for it, removes its files, frees. NULL is
 * allowed. The daemon also ends when the calling process dies, however that happens. */
void lttng_session_close(struct lttng_session *session);

#endif
