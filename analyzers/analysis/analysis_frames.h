/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_ANALYSIS_FRAMES_H
#define OPTRAIL_ANALYSIS_FRAMES_H

#include "profile_rows.h"
#include "reader.h"
#include "report.h"

/* What a report says, and a profile keeps, of frames of call stacks that were named when the trace
 * was read; nothing where there were none. Return 0 or a negative errno with the message set. */
int analysis_frames_counts(struct report *report, const struct read_frames *frames);
int analysis_frames_notes(struct report *report, const struct read_frames *frames);

/* The row `frames` of a profile; loading begins behind the row's name. */
void analysis_frames_save(const struct read_frames *frames, struct profile_writer *writer);
void analysis_frames_load(struct read_frames *frames, struct profile_reader *reader);

#endif
