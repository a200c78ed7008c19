/* SPDX-License-Identifier: MIT */
#include <assert.h>

#include "lock_capture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock_ns.h"
#include "capture_ring.h"
#include "err.h"
#include "lock_probe.h"
#include "lock_process.h"
#include "lock_slices.h"
#include "lock_stacks.h"
#include "lock_joiner.h"
#include "wait_kinds.h"

#define DEFAULT_RATE  20000
#define HELD_NS       300000000ull  /* a wait may go on: it is held back for so long */
#define LOOK_AGAIN_NS 1000000000ull /* whether processes are still there */

struct lock_capture {
    struct lock_capture_options options; /* without the targets */
    struct watched_process *processes;   /* owned */
    size_t process_count;
    struct lock_probe probe;
    struct lock_stacks stacks;
    struct lock_slices slices;
    struct lock_joiner *waits;
    struct lock_capture_counts counts;
    uint64_t now, looked_ns;
    bool finished;

    lock_wait_callback *callback; /* of the call that is under way */
    void *context;
    int error;
};

bool lock_capture_supported(void)
{
    return true;
}

static struct watched_process *find_process(struct lock_capture *capture, uint32_t pid)
{
    return watched_process_find(capture->processes, capture->process_count, pid);
}

static int take_wait(struct lock_capture *capture, const struct lock_record *record)
{
    struct watched_process *process = find_process(capture, record->pid);
    if (!process || record->kind >= WAIT_KIND_COUNT)
        return 0;
    struct lock_record scaled = *record;
    uint64_t weight = (uint64_t)record->weight * lock_slices_weight(&capture->slices);
    scaled.weight = weight < UINT32_MAX ? (uint32_t)weight : UINT32_MAX;
    if (wait_kind_rows[record->kind].class == WAIT_CLASS_LOCK)
        lock_slices_waited(&capture->slices, record->end_ns - record->begin_ns);
    return lock_joiner_add(capture->waits, process, &scaled, capture->now, capture->callback,
                           capture->context);
}

static int take_snapshot(struct lock_capture *capture, const struct lock_snapshot *snapshot,
                         size_t size)
{
    struct watched_process *process = find_process(capture, snapshot->pid);
    if (!process || !lock_snapshot_fits(snapshot, size - sizeof(*snapshot)))
        return 0;
    return lock_stacks_add(&capture->stacks, process, snapshot, capture->now);
}

static void take_exit(struct lock_capture *capture, const struct lock_exit *record)
{
    struct watched_process *process = find_process(capture, record->pid);
    if (process)
        watched_process_exit(process, record);
}

/* A record of the ring; its first word says what it is. */
static int take_record(void *context, void *data, size_t size)
{
    struct lock_capture *capture = context;
    uint32_t type = *(const uint32_t *)data;
    int error = 0;
    if (type == LOCK_RECORD_WAIT && size >= sizeof(struct lock_record))
        error = take_wait(capture, data);
    else if (type == LOCK_RECORD_SNAPSHOT && size >= sizeof(struct lock_snapshot))
        error = take_snapshot(capture, data, size);
    else if (type == LOCK_RECORD_EXIT && size >= sizeof(struct lock_exit))
        take_exit(capture, data);
    if (error)
        capture->error = error;
    if (!error && !capture->finished && capture_ring_is_enough(capture->now))
        return -EAGAIN;
    return error;
}

static int open_processes(struct lock_capture *capture, const struct lock_capture_options *options)
{
    int error = lock_probe_load(&capture->probe, options, take_record, capture);
    for (size_t i = 0; i < options->target_count && !error; i++) {
        struct watched_process *process = &capture->processes[i];
        capture->process_count = i + 1;
        error = watched_process_open(options->targets[i].pid, !options->no_stacks, process);
        if (!error)
            error = lock_probe_add(&capture->probe, process);
    }
    return error;
}

static int open_all(struct lock_capture *capture, const struct lock_capture_options *options)
{
    int error = target_privilege();
    if (error)
        return error;
    capture->waits = lock_joiner_create(&capture->stacks, &capture->counts);
    if (!capture->waits || !capture->processes)
        return err_no_memory();
    error = open_processes(capture, options);
    if (error)
        return error;
    capture->stacks.tables = lock_probe_tables(&capture->probe);
    return options->held ? 0 : lock_capture_begin(capture);
}

int lock_capture_begin(struct lock_capture *capture)
{
    int error = lock_probe_attach(&capture->probe);
    lock_slices_begin(&capture->slices, capture->options.one_in, monotonic_ns());
    return error;
}

int lock_capture_open(const struct lock_capture_options *options, struct lock_capture **result)
{
    *result = NULL;
    if (options->target_count == 0 || options->target_count > LOCK_MAX_PROCESSES)
        return err_set(EINVAL, "locks of at least one and at most %d processes can be captured",
                       LOCK_MAX_PROCESSES);
    struct lock_capture *capture = calloc(1, sizeof(*capture));
    if (!capture)
        return err_no_memory();
    capture->options = *options;
    capture->options.targets = NULL;
    if (capture->options.rate == 0)
        capture->options.rate = DEFAULT_RATE;
    capture->stacks.whole_functions = options->whole_functions;
    capture->processes = calloc(options->target_count, sizeof(*capture->processes));
    int error = open_all(capture, options);
    if (error) {
        lock_capture_close(capture);
        return error;
    }
    *result = capture;
    return 0;
}

void lock_capture_close(struct lock_capture *capture)
{
    if (!capture)
        return;
    lock_probe_close(&capture->probe);
    for (size_t i = 0; capture->processes && i < capture->process_count; i++)
        watched_process_close(&capture->processes[i]);
    lock_joiner_free(capture->waits);
    lock_stacks_free(&capture->stacks);
    free(capture->processes);
    free(capture);
}

/* Takes what is in the rings. */
static int drain(struct lock_capture *capture)
{
    return capture_ring_drain(capture->probe.ring, &capture->error, "waits");
}

static void adapt(struct lock_capture *capture, uint64_t since)
{
    bool sampling = lock_probe_adapt(&capture->probe, capture->options.rate, capture->now);
    if (capture->counts.sampling && since)
        capture->counts.sampled_ns += capture->now - since;
    capture->counts.sampling = sampling;
}

/* A process that has ended, or become another program, is told of no more. */
static void look_at_processes(struct lock_capture *capture)
{
    if (capture->now - capture->looked_ns < LOOK_AGAIN_NS)
        return;
    capture->looked_ns = capture->now;
    for (size_t i = 0; i < capture->process_count; i++) {
        struct watched_process *process = &capture->processes[i];
        uint64_t before = monotonic_ns();
        int changed = process->ended ? 0 : target_unchanged(&process->target);
        if (!process->ended && changed == 0)
            process->seen_ns = before;
        if (changed == 0)
            continue;
        process->ended = true;
        process->replaced = changed == -ESTALE;
        process->ended_ns = capture->now;
        lock_probe_remove(&capture->probe, process);
    }
}

static int begin(struct lock_capture *capture, lock_wait_callback *callback, void *context)
{
    uint64_t before = capture->now;
    capture->callback = callback;
    capture->context = context;
    capture->error = 0;
    capture->now = monotonic_ns();
    if (!capture->finished) {
        look_at_processes(capture);
        adapt(capture, before);
    }
    int error = drain(capture);
    if (!error && !capture->finished)
        error = lock_slices_turn(&capture->slices, &capture->probe, capture->now);
    return error;
}

int lock_capture_poll(struct lock_capture *capture, lock_wait_callback *callback, void *context)
{
    uint64_t before = capture->counts.delivered;
    int error = begin(capture, callback, context);
    if (!error)
        error = lock_joiner_flush(capture->waits, capture->now, HELD_NS, callback, context);
    return error ? error : (int)(capture->counts.delivered - before);
}

void lock_capture_pause(struct lock_capture *capture)
{
    lock_probe_detach(&capture->probe);
}

int lock_capture_resume(struct lock_capture *capture)
{
    if (capture->probe.link_count)
        return 0;
    lock_probe_forget(&capture->probe);
    return lock_probe_attach(&capture->probe);
}

struct lock_capture_spent lock_capture_spent(const struct lock_capture *capture)
{
    struct lock_capture_spent spent = {0};
    lock_probe_spent(&capture->probe, &spent);
    return spent;
}

static int take_unfinished(void *context, void *data, size_t size)
{
    struct lock_capture *capture = context;
    const struct lock_record *record = data;
    (void)size;
    capture->counts.unfinished++;
    return take_wait(capture, record);
}

int lock_capture_finish(struct lock_capture *capture, lock_wait_callback *callback, void *context)
{
    uint64_t before = capture->counts.delivered;
    if (capture->finished)
        return 0;
    bool resting = capture->probe.link_count == 0; /* what waits then, nobody knows */
    lock_probe_detach(&capture->probe);
    capture->finished = true;
    int error = begin(capture, callback, context);
    if (!error && !resting)
        error = lock_probe_unfinished(&capture->probe, capture->now, take_unfinished, capture);
    if (!error)
        error = lock_joiner_flush(capture->waits, capture->now, 0, callback, context);
    return error ? error : (int)(capture->counts.delivered - before);
}

const char *lock_capture_stack(struct lock_capture *capture, uint32_t stack, enum unwind_end *end)
{
    const struct lock_stack_text *found = lock_stacks_find(&capture->stacks, stack);
    if (found && end)
        *end = (enum unwind_end)found->end;
    return found ? found->text : NULL;
}

/* What user space counts itself is there already; the rest are the kernel's counters. */
struct lock_capture_counts lock_capture_counts(struct lock_capture *capture)
{
    struct lock_capture_counts counts = capture->counts;
    uint64_t kernel[LOCK_COUNTERS];
    if (lock_probe_counters(&capture->probe, kernel) == 0) {
        counts.waits += kernel[LOCK_WAITS];
        counts.sampled_out += kernel[LOCK_SAMPLED_OUT];
        counts.condvar_idle += kernel[LOCK_CONDVAR_IDLE];
        counts.lost += kernel[LOCK_LOST];
        counts.threads_full += kernel[LOCK_THREADS_FULL];
        counts.stacks_full += kernel[LOCK_STACKS_FULL];
        counts.stacks_late += kernel[LOCK_STACKS_LATE];
        counts.faults_word += kernel[LOCK_FAULTS_WORD];
        counts.faults_stack += kernel[LOCK_FAULTS_STACK];
        counts.unmatched_sites += kernel[LOCK_UNMATCHED];
        counts.snapshots += kernel[LOCK_SNAPSHOTS];
    }
    if (capture->slices.each) {
        counts.observed_ns = lock_slices_observed_ns(&capture->slices, capture->now);
        counts.slices = capture->slices.count;
        counts.one_in = capture->slices.each;
        counts.cut = capture->slices.cut;
    }
    counts.stacks = capture->stacks.taken;
    counts.snapshots_differ = capture->stacks.differ;
    memcpy(counts.ended, capture->stacks.ended, sizeof(counts.ended));
    return counts;
}

uint64_t lock_capture_end_ns(const struct lock_capture *capture)
{
    uint64_t end_ns = 0;
    for (size_t i = 0; i < capture->process_count; i++) {
        if (!capture->processes[i].ended)
            return 0;
        uint64_t process_ns = watched_process_end_ns(&capture->processes[i]);
        if (process_ns > end_ns)
            end_ns = process_ns;
    }
    return end_ns;
}

bool lock_capture_targets_ended(const struct lock_capture *capture)
{
    for (size_t i = 0; i < capture->process_count; i++)
        if (!capture->processes[i].ended)
            return false;
    return true;
}
