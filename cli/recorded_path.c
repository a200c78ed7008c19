/* SPDX-License-Identifier: MIT */
#include "recorded_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
    struct stat status;

    const char **directories = calloc((size_t)count, sizeof(*directories));
    size_t directory_count = 0;

    for (int i = 0; directories && i < count; i++)
        if (stat(traces[i], &status) != 0 || !S_ISREG(status.st_mode)) /* else it is a profile */
            directories[directory_count++] = traces[i];
    if (directory_count > 0)
        reader_run_traces(directories, directory_count, &first, &stop, &counts);
    free(directories);
    if (directory_count == 0)
        return NULL;
    snprintf(target.kind, sizeof(target.kind), "%s", counts.told.daemon);
    /* at basic detail the stages are of the same few points, whatever the store */
    snprintf(target.store, sizeof(target.store), "%s",
             strcmp(counts.told.detail, "basic") == 0 ? "basic" : counts.told.store);
    return target_path_file(&target, file, size);
}
