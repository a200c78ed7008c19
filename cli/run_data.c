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

/* An input that was read: a profile, or all traces together. */
struct seen {
    const char *name;
    uint64_t events, begin_ns, end_ns;
};

/* No host is up for so long: one of two runs this far apart has times since a boot, the other one
 * has those of the wall. */
#define UNLIKE_CLOCKS_NS (20ull * 365 * 86400 * 1000000000)

static bool unlike_clocks(const struct seen *one, const struct seen *other)
{
    return one->events > 0 && other->events > 0 &&
           (one->begin_ns > other->end_ns ? one->begin_ns - other->end_ns > UNLIKE_CLOCKS_NS
                                          : other->begin_ns > one->end_ns &&
                                                other->begin_ns - one->end_ns > UNLIKE_CLOCKS_NS);
}

/* Fails when a profile tells of the very events that were read before, or by a clock of another
 * kind. */
static int see(struct seen *seen, size_t *count, const char *name, const struct read_counts *counts)
{
    struct seen now = {name, counts->events, counts->begin_ns, counts->end_ns};
    for (size_t i = 0; i < *count && now.events > 0; i++)
        if (seen[i].events == now.events && seen[i].begin_ns == now.begin_ns &&
            seen[i].end_ns == now.end_ns)
            return err_set(EINVAL, "%s is of the same run as %s: it would count twice", name,
                           seen[i].name);
    for (size_t i = 0; i < *count; i++)
        if (unlike_clocks(&seen[i], &now))
            return err_set(EINVAL,
                           "%s: its clock has nothing in common with that of %s (one counts from a "
                           "boot, the other one is that of the wall): report on it by itself",
                           name, seen[i].name);
    seen[(*count)++] = now;
    return 0;
}

static int load_profile(const char *file, struct analysis *analysis, struct run_data *data,
                        struct read_counts *counts)
{
    struct profile_reader *reader = NULL;
    int result = profile_reader_open(file, &reader);
    if (result == 0)
        result = analysis_load(analysis, reader, counts, data->damage, sizeof(data->damage));
    profile_reader_free(reader);
    if (result == 0)
        read_counts_add(&data->counts, counts);
    return result;
}

/* Reads here and folds in another thread. */
static int read_traces(const char **traces, size_t count, struct analysis *analysis,
                       struct supervision *supervision, const volatile int *stop,
                       struct run_data *data, struct read_counts *counts)
{
    struct event_consumer consumer = *analysis_consumer(analysis);
    struct event_relay *relay = NULL;
    char message[1024];
    consumer.watch = &supervision->watch;
    int result = event_relay_new(&consumer, &relay);
    if (result < 0)
        return result;
    result = reader_run_traces(traces, count, event_relay_consumer(relay), stop, counts);
    snprintf(message, sizeof(message), "%s", err_message());
    int folded = event_relay_end(relay);
    event_relay_free(relay);
    read_counts_add(&data->counts, counts);
    if (folded < 0) {
        data->counts.damaged = 0; /* not the traces are to blame, and there is no report of them */
        return folded;
    }
    if (result < 0 && !*data->damage && counts->damaged > 0)
        snprintf(data->damage, sizeof(data->damage), "%s", message);
    return result < 0 ? err_set(-result, "%s", message) : 0;
}

int run_data_read(char **names, int count, struct analysis *analysis,
                  struct supervision *supervision, const volatile int *stop, struct run_data *data)
{
    const char **traces = calloc((size_t)count, sizeof(*traces));
    struct seen *seen = calloc((size_t)count, sizeof(*seen));
    struct read_counts counts;
    size_t trace_count = 0, seen_count = 0;
    int result = traces && seen ? 0 : err_no_memory();
    for (int i = 0; result == 0 && i < count; i++) {
        if (!is_file(names[i]))
            traces[trace_count++] = names[i];
        else if ((result = load_profile(names[i], analysis, data, &counts)) == 0)
            result = see(seen, &seen_count, names[i], &counts);
        supervision->watch.beats++;
    }
    if (result == 0 && trace_count > 0 &&
        (result = read_traces(traces, trace_count, analysis, supervision, stop, data, &counts)) ==
            0)
        result = see(seen, &seen_count, traces[0], &counts);
    free(seen);
    free(traces);
    return result;
}
