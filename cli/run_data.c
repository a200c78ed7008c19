/* SPDX-License-Identifier: MIT */
#include "run_data.h"

#include <errno.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "err.h"
#include "event_relay.h"
#include "profile_rows.h"

static bool is_file(const char *name)
{
    struct stat status;
    return stat(name, &status) == 0 && S_ISREG(status.st_mode);
}

static int load_profile(const char *file, struct analysis *analysis, struct run_data *data)
{
    struct profile_reader *reader = NULL;
    struct read_counts counts;
    int result = profile_reader_open(file, &reader);
    if (result == 0)
        result = analysis_load(analysis, reader, &counts, data->damage, sizeof(data->damage));
    profile_reader_free(reader);
    if (result == 0)
        read_counts_add(&data->counts, &counts);
    return result;
}

/* Reads here and folds in another thread. */
static int read_traces(const char **traces, size_t count, struct analysis *analysis,
                       struct supervision *supervision, const volatile int *stop,
                       struct run_data *data)
{
    struct event_consumer consumer = *analysis_consumer(analysis);
    struct event_relay *relay = NULL;
    struct read_counts counts;
    char message[1024];
    consumer.watch = &supervision->watch;
    int result = event_relay_new(&consumer, &relay);
    if (result < 0)
        return result;
    result = reader_run_traces(traces, count, event_relay_consumer(relay), stop, &counts);
    snprintf(message, sizeof(message), "%s", err_message());
    int folded = event_relay_end(relay);
    event_relay_free(relay);
    read_counts_add(&data->counts, &counts);
    if (folded < 0) {
        data->counts.damaged = 0; /* not the traces are to blame, and there is no report of them */
        return folded;
    }
    if (result < 0 && !*data->damage && counts.damaged > 0)
        snprintf(data->damage, sizeof(data->damage), "%s", message);
    return result < 0 ? err_set(-result, "%s", message) : 0;
}

int run_data_read(char **names, int count, struct analysis *analysis,
                  struct supervision *supervision, const volatile int *stop, struct run_data *data)
{
    const char **traces = calloc((size_t)count, sizeof(*traces));
    size_t trace_count = 0;
    int result = traces ? 0 : err_no_memory();
    for (int i = 0; result == 0 && i < count; i++) {
        if (!is_file(names[i]))
            traces[trace_count++] = names[i];
        else
            result = load_profile(names[i], analysis, data);
        supervision->watch.beats++;
    }
    if (result == 0 && trace_count > 0)
        result = read_traces(traces, trace_count, analysis, supervision, stop, data);
    free(traces);
    return result;
}
