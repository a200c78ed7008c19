/* SPDX-License-Identifier: MIT */
#include "analysis_frames.h"

#include <inttypes.h>
#include <stdio.h>

#include "plural.h"

/* FRAMES(field, count, note): the counts, as the JSON form calls them. A count with a note leaves
 * frames without names. */
#define FRAMES_ROWS(FRAMES)                                                                        \
    FRAMES(told, "frames_to_name", NULL)                                                           \
    FRAMES(named, "frames_named", NULL)                                                            \
    FRAMES(missing, "frames_of_missing_files", "the file is not here")                             \
    FRAMES(other_build, "frames_of_other_builds",                                                  \
           "another build is here than the trace tells of, and is not used")                       \
    FRAMES(ambiguous, "frames_of_several_files", "the process had several files of the same name")

int analysis_frames_counts(struct report *report, const struct read_frames *frames)
{
    int result = 0;

    if (frames->told == 0)
        return 0;
#define ADD(field, count, note)                                                                    \
    if (result == 0)                                                                               \
        result = report_add_other(report, count, frames->field);
    FRAMES_ROWS(ADD)
#undef ADD
    return result;
}

int analysis_frames_notes(struct report *report, const struct read_frames *frames)
{
    int result = 0;

#define NOTE(field, count, note)                                                                   \
    if (result == 0 && (note) && frames->field > 0)                                                \
        result = report_add_note(report, "%" PRIu64 " frame%s of call stacks %s no name: %s (%s)", \
                                 frames->field, plural(frames->field),                             \
                                 frames->field == 1 ? "has" : "have", (note) ? (note) : "",        \
                                 frames->example);
    FRAMES_ROWS(NOTE)
#undef NOTE
    return result;
}

void analysis_frames_save(const struct read_frames *frames, struct profile_writer *writer)
{
    if (frames->told == 0)
        return;
    profile_put_row(writer, "frames");
#define PUT(field, count, note) profile_put_number(writer, frames->field);
    FRAMES_ROWS(PUT)
#undef PUT
    profile_put_word(writer, frames->example);
}

void analysis_frames_load(struct read_frames *frames, struct profile_reader *reader)
{
#define TAKE(field, count, note) frames->field = profile_number(reader, PROFILE_MAX_NUMBER);
    FRAMES_ROWS(TAKE)
#undef TAKE
    snprintf(frames->example, sizeof(frames->example), "%s", profile_word(reader));
}
