/* SPDX-License-Identifier: MIT */
#include "recorded_path.h"

#include <stdio.h>
#include <string.h>

#include "reader.h"
#include "target_options.h"

static int stop_at_first(void *context, const struct optrail_event *event)
{
    volatile int *stop = context;

    (void)event;
    *stop = 1;
    return 0;
}

const char *recorded_path(char **traces, int count, struct supervision *supervision, char *file,
                          size_t size)
{
    volatile int stop = 0;
    const struct event_consumer first = {
        .context = (void *)&stop, .event = stop_at_first, .watch = &supervision->watch};
    struct read_counts counts;
    struct target target = {0};

    reader_run_traces((const char *const *)traces, (size_t)count, &first, &stop, &counts);
    snprintf(target.kind, sizeof(target.kind), "%s", counts.told.daemon);
    /* at basic detail the stages are of the same few points, whatever the store */
    snprintf(target.store, sizeof(target.store), "%s",
             strcmp(counts.told.detail, "basic") == 0 ? "basic" : counts.told.store);
    return target_path_file(&target, file, size);
}
