/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_SYNTHETIC_LOAD_H
#define OPTRAIL_SYNTHETIC_LOAD_H

#include "event_source.h"

/* The events of a filestore daemon under writes, 16 at a time, across the threads of a messenger, a
 * journal and apply workers: what a trace of such a daemon looks like to the analysis. The same
 * each time. */
struct synthetic_load;

/* `events`: about so many; whole ops. Owned by the caller; NULL without memory. */
struct synthetic_load *synthetic_load_new(uint64_t events);
void synthetic_load_free(struct synthetic_load *load);

struct event_feed *synthetic_load_feed(struct synthetic_load *load); /* weak */

#endif
