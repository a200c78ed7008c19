/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_LTTNG_RECORDER_H
#define OPTRAIL_LTTNG_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "lttng_buffers.h"

/*
 * A session of LTTng-UST that records the events of all daemons that are built with optrail's
 * probes, or with Ceph's own tracepoints. The machine's session daemon is used; if none runs, one
 * is started and ended with the recording. Not thread-safe.
 */
struct lttng_recorder_options {
    const char *session;   /* its name */
    const char *directory; /* absolute, of the trace; NULL: `url` */
    const char *url;       /* "net://HOST": a relay daemon; NULL: `directory` */
    double snapshot;       /* keep so many seconds in memory and write nothing; 0: write all */
    uint64_t rate;         /* events a second that must be borne */
    bool ceph;             /* Ceph's own tracepoints as well, with the process and thread of each */
};

struct lttng_recorder;

/* Session, channel and events, started. Negative errno with the message, nothing left behind:
 * -EEXIST when there is a session of that name, -EACCES without the right to the session daemon,
 * -ECONNREFUSED when the relay daemon does not answer. Owned by the caller. */
int lttng_recorder_open(const struct lttng_recorder_options *options,
                        struct lttng_recorder **recorder);

/* Destroys the session if it is still there, ends the session daemon if it is ours. NULL is fine.
 */
void lttng_recorder_close(struct lttng_recorder *recorder);

/* How many processes with these events are registered with the session daemon; negative errno
 * with the message. */
int lttng_recorder_daemons(struct lttng_recorder *recorder);

/* 1: the session is there; 0: it, or the session daemon, is gone. */
bool lttng_recorder_alive(struct lttng_recorder *recorder);

/* Whether the session daemon was started by this recorder; the buffers that were chosen. */
bool lttng_recorder_own_daemon(const struct lttng_recorder *recorder);
struct lttng_buffers lttng_recorder_buffers(const struct lttng_recorder *recorder);
/* What they have together, in bytes: so much may still be written when the session is stopped. */
uint64_t lttng_recorder_buffer_bytes(const struct lttng_recorder *recorder);

/* Writes what is in the buffers below `directory` (absolute), with options.snapshot only. */
int lttng_recorder_snapshot(struct lttng_recorder *recorder, const char *directory);

/* Stops, waits until everything is written, destroys the session. *discarded: events that found no
 * room in the buffers. */
int lttng_recorder_stop(struct lttng_recorder *recorder, uint64_t *discarded);

#endif
