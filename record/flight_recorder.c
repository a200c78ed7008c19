/* SPDX-License-Identifier: MIT */
#include "flight_recorder.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock_ns.h"
#include "err.h"
#include "event_ring.h"

#define BATCH 256
/* A snapshot has what had happened when it was asked for: the events of that moment come a little
 * later. So often in turn the feed may have nothing, or so long it may take, until they have. */
#define IDLE_TURNS    2
#define PATIENCE_NS   1000000000ull
#define DEFAULT_BYTES ((size_t)256 << 20)

struct flight_recorder {
    const struct flight_recorder_options *options;
    struct flight_recorder_counts *counts;
    const struct event_fact *facts; /* the feed's; may be NULL */
    struct event_ring ring;
    uint64_t written_ns; /* when the last snapshot was; 0: never */
    const char *reason;  /* of the one that is wanted; NULL: none is */
    uint64_t wanted_ns;  /* since when */
    unsigned idle_turns; /* since then */
};

/* The feed's facts and those of this snapshot; the caller frees them. */
static struct event_fact *snapshot_facts(const struct flight_recorder *recorder)
{
    struct event_fact *facts;
    size_t count = 0;

    while (recorder->facts && recorder->facts[count].name)
        count++;
    facts = calloc(count + 3, sizeof(*facts));
    if (!facts) {
        err_no_memory();
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        facts[i] = recorder->facts[i];
    facts[count++] = (struct event_fact){.name = "snapshot_reason", .text = recorder->reason};
    facts[count] =
        (struct event_fact){.name = "snapshot_number", .number = recorder->counts->snapshots + 1};
    return facts;
}

static int write_snapshot(struct flight_recorder *recorder)
{
    const struct flight_recorder_options *options = recorder->options;
    struct event_ring_cursor cursor;
    struct event_fact *facts = snapshot_facts(recorder);
    char directory[PATH_MAX];
    int result;

    if (!facts)
        return -ENOMEM;
    if (snprintf(directory, sizeof(directory), "%s/snapshot-%u", options->directory,
                 recorder->counts->snapshots + 1) >= (int)sizeof(directory)) {
        free(facts);
        return err_set(ENAMETOOLONG, "%s: the path is too long", options->directory);
    }
    event_ring_read(&recorder->ring, (uint64_t)(options->seconds * 1e9), &cursor);
    cursor.feed.facts = facts;
    result = trace_write(&cursor.feed, directory, options->ending);
    free(facts);
    if (result < 0)
        return result;
    recorder->counts->snapshots++;
    recorder->counts->shortened += cursor.shortened;
    recorder->written_ns = monotonic_ns();
    if (options->written)
        options->written(options->context, directory, recorder->reason, cursor.count);
    recorder->reason = NULL;
    return 0;
}

/* Whether the events are there that had happened when the snapshot was asked for. */
static bool has_caught_up(const struct flight_recorder *recorder)
{
    const struct event_ring *ring = &recorder->ring;

    return recorder->idle_turns >= IDLE_TURNS ||
           monotonic_ns() - recorder->wanted_ns >= PATIENCE_NS ||
           (ring->added > 0 &&
            ring->events[(ring->added - 1) % ring->capacity].time_ns >= recorder->wanted_ns);
}

/* Writes the snapshot that is wanted, if it is time to. */
static int consider(struct flight_recorder *recorder, bool idle, bool end)
{
    const struct flight_recorder_options *options = recorder->options;
    const char *reason = options->wanted(options->context);

    if (reason && recorder->counts->snapshots >= options->limit) {
        recorder->counts->refused++;
        return 0;
    }
    recorder->idle_turns += idle;
    if (reason && !recorder->reason) {
        recorder->reason = reason;
        recorder->wanted_ns = monotonic_ns();
        recorder->idle_turns = 0;
    }
    if (end && options->at_end && !recorder->reason &&
        recorder->counts->snapshots < options->limit && recorder->ring.added > recorder->ring.taken)
        recorder->reason = "end";
    if (!recorder->reason)
        return 0;
    if (!end && (!has_caught_up(recorder) ||
                 (recorder->written_ns > 0 &&
                  monotonic_ns() - recorder->written_ns < (uint64_t)(options->seconds * 1e9))))
        return 0;
    return write_snapshot(recorder);
}

static int take(struct flight_recorder *recorder, struct event_feed *feed)
{
    struct optrail_event events[BATCH];
    int got = feed->next(feed->context, events, BATCH);
    struct event_loss loss = {0};

    for (int i = 0; i < got; i++)
        event_ring_add(&recorder->ring, &events[i]);
    loss.count = feed->lost ? feed->lost(feed->context, &loss.begin_ns, &loss.end_ns) : 0;
    if (loss.count > 0)
        event_ring_add_loss(&recorder->ring, &loss);
    return got;
}

int flight_recorder_run(struct event_feed *feed, const struct flight_recorder_options *options,
                        struct flight_recorder_counts *counts)
{
    struct flight_recorder recorder = {.options = options, .counts = counts, .facts = feed->facts};
    struct observed_feed observed;
    int result, got;

    *counts = (struct flight_recorder_counts){0};
    observed_feed_init(&observed, feed, options->observer);
    result = event_ring_init(&recorder.ring, options->bytes ? options->bytes : DEFAULT_BYTES);
    while (result == 0) {
        got = take(&recorder, &observed.feed);
        if (got < 0 && got != -EAGAIN)
            result = got;
        else
            result = consider(&recorder, got < 0, got == 0);
        if (got == 0)
            break;
    }
    event_ring_free(&recorder.ring);
    return result;
}
