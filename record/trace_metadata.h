/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TRACE_METADATA_H
#define OPTRAIL_TRACE_METADATA_H

#include "event_source.h"

/*
 * The text of the file `metadata` of a trace that sink.ctf.fs writes: made before there are events,
 * and completed after the last one.
 */

/* Where in a packet of sink.ctf.fs the trace's uuid stands. */
enum { METADATA_UUID_OFFSET = 4, METADATA_UUID_BYTES = 16 };

/* Puts the uuid in the place of the one in `text`. -EBADMSG with the message if there is none. */
int metadata_set_uuid(char *text, const unsigned char *uuid);

/* A copy of `text` with more entries in its environment, owned by the caller; NULL with the
 * message. */
char *metadata_add_facts(const char *text, const struct event_fact *facts);

/* Reads DIRECTORY/metadata; owned by the caller; NULL with the message. */
char *metadata_read(const char *directory);

/* Puts the text in the place of DIRECTORY/metadata: a reader finds the old one or the new one, and
 * never a half. */
int metadata_replace(const char *directory, const char *text);

#endif
