/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_SALVAGE_H
#define OPTRAIL_SALVAGE_H

#include <stdbool.h>

/*
 * babeltrace2 refuses a trace as a whole when one of its stream files is cut off or garbage. A
 * salvaged trace stands in for it: a temporary directory with links to the files that are sound,
 * and a mended copy of the sound beginning of those that are cut off.
 */
struct salvage {
    /* Whether babeltrace2 can open the trace in this directory. */
    bool (*opens)(void *context, const char *directory);
    /* Told for each file that is not sound, with one sentence that begins with its name. */
    void (*damaged)(void *context, const char *text);
    void *context; /* weak */
};

/* Whether a stream of the trace has a packet that was never closed, because its writer was killed
 * or is still at work: such a trace must not even be tried (see packet_walk.h). */
bool salvage_is_needed(const char *directory);

/* Makes the stand-in for the trace in `directory`. 1: *stand_in is its path (owned by the caller,
 * salvage_remove() takes it back); 0: nothing of the trace can be read, `damaged` was told why;
 * negative errno with the message: no room for it, or the like. */
int salvage_trace(const struct salvage *salvage, const char *directory, char **stand_in);

/* Removes a stand-in and frees its path; NULL is fine. */
void salvage_remove(char *stand_in);

#endif
