/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TRACE_WRITER_H
#define OPTRAIL_TRACE_WRITER_H

#include "event_source.h"

/*
 * Events as a CTF trace: one directory with the files `metadata` and `stream`, written by
 * babeltrace2's sink.ctf.fs.
 *
 * The sink writes the metadata last, so a recorder that is killed would leave a stream that nobody
 * can read. Therefore they are made beforehand, with all event classes, and put in place as soon as
 * the stream has begun.
 */

/* What is known only when the last event has come: its facts are added to the environment. */
struct trace_ending {
    void *context; /* weak */
    /* A list that lives until the next call; NULL with the message when it fails. */
    const struct event_fact *(*facts)(void *context);
};

/* Writes what the feed gives, until its end, into `directory`, which must not exist; the one
 * above it must.
 * The feed's facts become the trace's environment, at the end those of `ending` (NULL: none) and
 * "complete" = 1 besides.
 * Negative errno with the message when the feed or the disk fails: what was written until then is
 * kept and can be read. -ENOSPC: the disk is full. Runs in one thread; several may run at once in
 * threads of their own. */
int trace_write(struct event_feed *feed, const char *directory, const struct trace_ending *ending);

#endif
