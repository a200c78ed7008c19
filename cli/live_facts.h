/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_LIVE_FACTS_H
#define OPTRAIL_LIVE_FACTS_H

#include "event_source.h"
#include "report.h"
#include "target.h"

/* What `optrail attach` says of its source, as facts of a trace: analyzers/read/trace_facts.c puts
 * them back into the report. */

enum { LIVE_FACTS = 48 };

struct live_facts {
    struct event_fact facts[LIVE_FACTS + 1]; /* ended by a row without name */
    size_t count;
    char *texts[2 * LIVE_FACTS]; /* owned: names and texts */
    size_t text_count;
};

/* What is known when the recording begins; `map` is the version of the probe map, NULL: none. 0 or
 * -ENOMEM. `facts` is empty, or holds facts already. */
int live_facts_begin(struct live_facts *facts, const struct target *target, const char *map,
                     const char *detail, const char *recording);

/* The counters and notes of a report: what live_source_describe() has put into it. */
int live_facts_end(struct live_facts *facts, const struct report *report);

void live_facts_free(struct live_facts *facts); /* empties it */

#endif
