/* SPDX-License-Identifier: MIT */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "err.h"
#include "clock_ns.h"
#include "points.h"
#include "tracer_internal.h"
#include "uprobe.skel.h"

/* How often the ring is emptied: waking us at each event would cost the daemon some 20 us a piece.
 */
#define DRAIN_EVERY_NS 100000000ull
/* An event is written at most this long after its time was taken. */
#define SLACK_NS 5000000ull
/* The wall clock was set when it moves by more than this between two looks. */
#define CLOCK_JUMP_NS 50000000ull
/* As many events at once are kept in memory at most; the rest waits in the ring. */
#define MAX_PENDING (1u << 19)

/* Wall clock minus monotonic clock: read between two readings of the other one. */
static uint64_t wall_offset(void)
{
    uint64_t before = clock_ns(CLOCK_MONOTONIC);
    uint64_t wall = clock_ns(CLOCK_REALTIME);
    uint64_t after = clock_ns(CLOCK_MONOTONIC);
    return wall - (before + (after - before) / 2);
}

/* Reads how far apart the clocks are. That jumps when the wall clock is set. */
static void read_wall_offset(struct tracer *tracer)
{
    uint64_t offset = wall_offset(), before = tracer->skeleton->bss->wall_offset_ns;
    uint64_t jump = offset > before ? offset - before : before - offset;
    if (before && jump > CLOCK_JUMP_NS)
        tracer->skeleton->bss->old_wall_offset_ns = before;
    tracer->skeleton->bss->wall_offset_ns = offset;
}

static int take_record(void *context, void *data, size_t size)
{
    struct tracer *tracer = context;
    struct optrail_event event;
    if (size != sizeof(event))
        return 0; /* cannot be: the program writes nothing else */
    memcpy(&event, data, sizeof(event));
    /* a probe of the daemon gives an address in the daemon */
    if (event.point < POINT_COUNT && point_rows[event.point].role == ROLE_TEXT)
        event.arg0 = (uintptr_t)tracer_text_find(&tracer->texts, tracer->target.pid, event.arg0);
    tracer->newest_ns = event.time_ns;
    if (tracer->cut_ns && event.time_ns > tracer->cut_ns)
        return 0;
    if (event.point < POINT_COUNT && point_rows[event.point].role == ROLE_START &&
        (event.time_ns < tracer->starts_from_ns ||
         (tracer->starts_cut_ns && event.time_ns > tracer->starts_cut_ns)))
        return 0;
    tracer->drain_error = event_order_add(&tracer->order, &event);
    if (tracer->drain_error)
        return tracer->drain_error;
    if (tracer->order.count - tracer->order.begin >= MAX_PENDING) {
        tracer->drain_cut = true;
        return -EAGAIN;
    }
    return 0;
}

int tracer_take_records(struct tracer *tracer)
{
    int program = bpf_program__fd(tracer->skeleton->progs.uprobe_drain);
    struct bpf_test_run_opts options = {.sz = sizeof(options), .retval = 1};
    /* not more than there is room for: what comes meanwhile has time */
    for (unsigned i = 0; options.retval == 1 && i < UPROBE_LINES / UPROBE_DRAIN; i++) {
        int error = bpf_prog_test_run_opts(program, &options);
        if (error)
            return err_set(-error, "cannot run the program that reads the hits: %s",
                           strerror(-error));
    }
    return 0;
}

int tracer_drain(struct tracer *tracer)
{
    tracer->drained_ns = clock_ns(CLOCK_MONOTONIC);
    read_wall_offset(tracer);
    tracer->drain_cut = false;
    tracer->drain_error = 0;
    int error = tracer_take_records(tracer);
    if (!error)
        error = tracer_fold_drain(tracer);
    if (error)
        return error;
    int got = ring_buffer__consume(tracer->ring);
    if (tracer->drain_error)
        return tracer->drain_error;
    if (got < 0 && got != -EAGAIN)
        return err_set(-got, "cannot read the ring of events: %s", strerror(-got));
    if (tracer->drain_cut) {
        uint64_t newest = tracer->newest_ns;
        tracer->told_ns = newest > SLACK_NS ? newest - SLACK_NS : 0;
    } else if (!tracer->attached) {
        tracer->told_ns = UINT64_MAX;
        tracer->ended = true;
    } else {
        tracer->told_ns = tracer->drained_ns - SLACK_NS;
    }
    event_order_release(&tracer->order, tracer->told_ns);
    return 0;
}

/* Waits for the next drain, or less: for the end of the time, a signal, or the target's exit. */
static void wait_a_little(struct tracer *tracer)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC);
    uint64_t until = tracer->drained_ns + DRAIN_EVERY_NS;
    if (tracer->deadline_ns && until > tracer->deadline_ns)
        until = tracer->deadline_ns;
    struct pollfd process = {.fd = tracer->process, .events = POLLIN};
    struct timespec wait = {0};
    if (until > now)
        wait.tv_nsec = (long)(until - now > DRAIN_EVERY_NS ? DRAIN_EVERY_NS : until - now);
    int ready = ppoll(&process, tracer->process >= 0 ? 1 : 0, &wait, NULL);
    if (ready > 0 || (tracer->process < 0 && kill(tracer->target.pid, 0) && errno == ESRCH))
        tracer->exited = true;
    bool time_is_up = tracer->deadline_ns && clock_ns(CLOCK_MONOTONIC) >= tracer->deadline_ns;
    if (tracer->exited || time_is_up || (tracer->options.stop && *tracer->options.stop))
        tracer_stop(tracer);
}

static int feed_next(void *context, struct optrail_event *events, size_t capacity)
{
    struct tracer *tracer = context;
    size_t count = event_order_take(&tracer->order, events, capacity);
    if (count == 0 && !tracer->ended) {
        if (tracer->attached && !tracer->drain_cut)
            wait_a_little(tracer);
        int error = tracer_drain(tracer);
        if (error)
            return error;
        count = event_order_take(&tracer->order, events, capacity);
    }
    tracer->delivered += count;
    if (count > 0)
        return (int)count;
    return tracer->ended ? 0 : -EAGAIN;
}

static uint64_t feed_lost(void *context, uint64_t *begin_ns, uint64_t *end_ns)
{
    struct tracer *tracer = context;
    struct uprobe_lost *rows = calloc((size_t)tracer->cpus, sizeof(*rows));
    uint32_t zero = 0;
    if (!rows || bpf_map_lookup_elem(bpf_map__fd(tracer->skeleton->maps.lost), &zero, rows)) {
        free(rows);
        return 0;
    }
    uint64_t epoch = tracer->skeleton->data->lost_epoch;
    uint64_t total = 0;
    *begin_ns = UINT64_MAX;
    *end_ns = 0;
    for (int cpu = 0; cpu < tracer->cpus; cpu++) {
        total += rows[cpu].count;
        if (rows[cpu].count == 0 || rows[cpu].epoch != epoch)
            continue;
        if (rows[cpu].first_ns < *begin_ns)
            *begin_ns = rows[cpu].first_ns;
        if (rows[cpu].last_ns > *end_ns)
            *end_ns = rows[cpu].last_ns;
    }
    free(rows);
    uint64_t lost = total - tracer->lost_told;
    if (lost == 0)
        return 0;
    tracer->lost_told = total;
    if (*end_ns == 0) /* counted just when the period ended: since the last drain, then */
        *begin_ns = *end_ns = tracer->drained_ns;
    tracer->skeleton->data->lost_epoch = epoch + 1;
    return lost;
}

int tracer_feed_open(struct tracer *tracer)
{
    tracer->ring =
        ring_buffer__new(bpf_map__fd(tracer->skeleton->maps.ring), take_record, tracer, NULL);
    if (!tracer->ring)
        return err_set(errno, "cannot map the ring of events: %s", strerror(errno));
    tracer->feed = (struct event_feed){.context = tracer, .next = feed_next, .lost = feed_lost};
    tracer->skeleton->bss->wall_offset_ns = wall_offset();
    tracer->drained_ns = clock_ns(CLOCK_MONOTONIC);
    return 0;
}

void tracer_feed_close(struct tracer *tracer)
{
    ring_buffer__free(tracer->ring);
    event_order_free(&tracer->order);
    tracer_texts_free(&tracer->texts);
}
