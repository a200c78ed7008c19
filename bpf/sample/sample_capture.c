/* SPDX-License-Identifier: MIT */
#include "sample_capture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock_ns.h"
#include "capture_ring.h"
#include "err.h"
#include "kernel_names.h"
#include "lock_process.h"
#include "lock_stacks.h"
#include "sample_probe.h"
#include "sample_reason.h"
#include "symbols.h"

#define LOOK_AGAIN_NS 1000000000ull /* whether processes are still there */

struct sample_capture {
    struct sample_capture_options options; /* without the processes */
    uint64_t period_ns;
    struct watched_process *processes; /* owned */
    size_t process_count;
    struct sample_probe probe;
    struct kernel_names kernel_names;
    char *kernel_texts[SAMPLE_KERNEL_STACKS]; /* owned; by number; NULL: not asked for yet */
    struct lock_stacks stacks;                /* of waits */
    struct sample_counts counts;
    uint64_t now, looked_ns;
    bool finished;
    char waker_name[SAMPLE_NAME + 1];

    sample_callback *callback; /* of the call that is under way */
    void *context;
    int error;
};

static struct watched_process *find_process(struct sample_capture *capture, uint32_t pid)
{
    return watched_process_find(capture->processes, capture->process_count, pid);
}

/* What stands between the kernel's code and our programs. */
static bool is_tracing(const char *name)
{
    return strncmp(name, "__bpf_trace_", 12) == 0 || strncmp(name, "__traceiter_", 12) == 0 ||
           strncmp(name, "bpf_trace_run", 13) == 0;
}

/* Names end in _[k], as flame graphs mark the kernel's. What the scheduler does to take the CPU
 * away or to wake somebody, and the probes there, are left out. */
static int make_kernel_text(struct sample_capture *capture, int32_t number, char **made)
{
    uint64_t frames[SAMPLE_KERNEL_FRAMES];
    const char *names[SAMPLE_KERNEL_FRAMES];
    size_t count = sample_probe_kernel_stack(&capture->probe, number, frames), first = 0, size = 0;
    char *text = NULL;
    int error = kernel_names_find(&capture->kernel_names, &capture->probe, frames, count, names);
    if (error)
        return error;
    for (size_t i = 0; i < count; i++) {
        const char *name = names[i];
        /* who wakes somebody may do so in an interrupt, upon one that is about to sleep */
        if (name && strcmp(name, "try_to_wake_up") == 0)
            break;
        if (name && (strcmp(name, "__schedule") == 0 || strcmp(name, "schedule") == 0))
            first = i;
        else if (name && is_tracing(name))
            first = i + 1;
    }
    FILE *out = open_memstream(&text, &size);
    for (size_t i = first; out && i < count; i++)
        fprintf(out, "%s%s_[k]", i > first ? ";" : "", names[i] ? names[i] : "kernel");
    if (out && fclose(out) == 0) {
        *made = text;
        return 0;
    }
    free(text);
    return err_no_memory();
}

/* *text is weak; NULL: there is none. */
static int kernel_text(struct sample_capture *capture, int32_t number, const char **text)
{
    *text = NULL;
    if (number < 0 || number >= SAMPLE_KERNEL_STACKS)
        return 0;
    int error = 0;
    if (!capture->kernel_texts[number])
        error = make_kernel_text(capture, number, &capture->kernel_texts[number]);
    if (error)
        return error;
    if (capture->kernel_texts[number][0])
        *text = capture->kernel_texts[number];
    return 0;
}

static int take_cpu(struct sample_capture *capture, const struct sample_cpu *record, size_t size)
{
    uint64_t frames[LOCK_STACK_FRAMES];
    enum unwind_end end = UNWIND_FAULT;
    const struct lock_snapshot *taken = &record->snapshot;
    struct watched_process *process = find_process(capture, taken->pid);
    char name[SAMPLE_NAME + 1] = "";
    if (!process || !lock_snapshot_fits(taken, size - sizeof(*record)))
        return 0;
    struct stack_snapshot snapshot = {.stack = taken->bytes + taken->skip, .size = taken->size};
    memcpy(snapshot.registers, taken->registers, sizeof(snapshot.registers));
    size_t count = lock_stacks_unwind(process, &snapshot, frames, NULL, &end, capture->now);
    char *user = symbols_text(process->unwinder, frames, count, false);
    if (!user)
        return -ENOMEM;
    memcpy(name, record->name, SAMPLE_NAME);
    struct sample sample = {.kind = SAMPLE_ON_CPU,
                            .pid = taken->pid,
                            .tid = record->tid,
                            .thread = name,
                            .begin_ns = record->time_ns,
                            .value_ns = capture->period_ns,
                            .count = 1,
                            .user = *user ? user : NULL};
    capture->counts.samples++;
    capture->counts.ended[end]++;
    int error = kernel_text(capture, record->kernel_stack, &sample.kernel);
    if (!error)
        error = capture->callback(capture->context, &sample);
    free(user);
    return error;
}

static int take_snapshot(struct sample_capture *capture, const struct lock_snapshot *snapshot,
                         size_t size)
{
    struct watched_process *process = find_process(capture, snapshot->pid);
    if (!process || !lock_snapshot_fits(snapshot, size - sizeof(*snapshot)))
        return 0;
    return lock_stacks_add(&capture->stacks, process, snapshot, capture->now);
}

/* Whether the kernel did it in an interrupt: whom that came upon does not matter then. */
static bool is_interrupt(const char *kernel)
{
    static const char *const functions[] = {
        "asm_common_interrupt", "asm_sysvec_", "handle_softirqs", "__do_softirq", "irq_exit_rcu",
    };
    for (size_t i = 0; kernel && i < sizeof(functions) / sizeof(*functions); i++)
        if (strstr(kernel, functions[i]))
            return true;
    return false;
}

static int find_waker(struct sample_capture *capture, const struct sample_wait *record,
                      struct sample_waking *waking, const struct sample_waking **waker)
{
    const struct lock_stack_text *stack = lock_stacks_find(&capture->stacks, record->waker.stack);
    *waking = (struct sample_waking){0};
    int error = kernel_text(capture, record->waker.kernel_stack, &waking->kernel);
    *waker = waking;
    if (error || is_interrupt(waking->kernel))
        return error;
    memcpy(capture->waker_name, record->waker.name, SAMPLE_NAME);
    waking->pid = record->waker.pid;
    waking->tid = record->waker.tid;
    waking->thread = capture->waker_name;
    waking->user = stack && stack->text[0] ? stack->text : NULL;
    return 0;
}

/* A wait is up to two samples: until it was woken, and until it had a CPU. */
static int take_wait(struct sample_capture *capture, const struct sample_wait *record)
{
    const struct lock_stack_text *stack = lock_stacks_find(&capture->stacks, record->stack);
    bool preempted = record->flags & SAMPLE_WAIT_PREEMPTED;
    struct sample_waking waking;
    char name[SAMPLE_NAME + 1] = "";
    if (!find_process(capture, record->pid) || record->end_ns <= record->begin_ns)
        return 0;
    memcpy(name, record->name, SAMPLE_NAME);
    uint64_t end = record->end_ns;
    uint64_t wake = record->wake_ns >= record->begin_ns && record->wake_ns <= end && record->wake_ns
                        ? record->wake_ns
                        : end;
    struct sample sample = {.pid = record->pid,
                            .tid = record->tid,
                            .thread = name,
                            .begin_ns = record->begin_ns,
                            .count = record->weight,
                            .user = stack && stack->text[0] ? stack->text : NULL};
    int error = kernel_text(capture, record->kernel_stack, &sample.kernel);
    capture->counts.waits += record->weight;
    if (stack)
        capture->counts.ended[stack->end] += record->weight;
    else
        capture->counts.no_stack += record->weight;
    if (!error && !preempted && wake > record->begin_ns) {
        sample.kind = SAMPLE_OFF_CPU;
        sample.reason =
            sample_reason_of(sample.kernel, sample.user, record->flags & SAMPLE_WAIT_DISK);
        if (record->flags & SAMPLE_WAIT_WAKER)
            error = find_waker(capture, record, &waking, &sample.waker);
        sample.value_ns = (wake - record->begin_ns) * record->weight;
        if (!error)
            error = capture->callback(capture->context, &sample);
    }
    uint64_t from = preempted ? record->begin_ns : wake;
    if (!error && end > from) {
        sample.kind = SAMPLE_RUNNABLE;
        sample.reason = preempted ? SAMPLE_REASON_preempted : SAMPLE_REASON_woken;
        sample.waker = NULL;
        sample.begin_ns = from;
        sample.value_ns = (end - from) * record->weight;
        error = capture->callback(capture->context, &sample);
    }
    return error;
}

/* A record of the ring; its first word says what it is. */
static int take_record(void *context, void *data, size_t size)
{
    struct sample_capture *capture = context;
    uint32_t type = *(const uint32_t *)data;
    int error = 0;
    if (type == SAMPLE_RECORD_CPU && size >= sizeof(struct sample_cpu))
        error = take_cpu(capture, data, size);
    else if (type == SAMPLE_RECORD_WAIT && size >= sizeof(struct sample_wait))
        error = take_wait(capture, data);
    else if (type == LOCK_RECORD_SNAPSHOT && size >= sizeof(struct lock_snapshot))
        error = take_snapshot(capture, data, size);
    if (error)
        capture->error = error;
    if (!error && !capture->finished && capture_ring_is_enough(capture->now))
        return -EAGAIN;
    return error;
}

static int open_all(struct sample_capture *capture, const struct sample_capture_options *options)
{
    int error = target_privilege();
    if (!error)
        error = sample_probe_load(&capture->probe, options, take_record, capture);
    for (size_t i = 0; i < options->pid_count && !error; i++) {
        capture->process_count = i + 1;
        error = watched_process_open(options->pids[i], true, &capture->processes[i]);
        if (!error)
            error = sample_probe_add(&capture->probe, &capture->processes[i]);
    }
    if (error)
        return error;
    capture->stacks.tables = sample_probe_tables(&capture->probe);
    return options->held ? 0 : sample_capture_begin(capture);
}

int sample_capture_begin(struct sample_capture *capture)
{
    return sample_probe_attach(&capture->probe, &capture->options);
}

int sample_capture_open(const struct sample_capture_options *options,
                        struct sample_capture **result)
{
    *result = NULL;
    if (options->pid_count == 0 || options->pid_count > LOCK_MAX_PROCESSES)
        return err_set(EINVAL, "at least one and at most %d processes can be sampled",
                       LOCK_MAX_PROCESSES);
    struct sample_capture *capture = calloc(1, sizeof(*capture));
    if (!capture)
        return err_no_memory();
    capture->period_ns = 1000000000ull / options->rate;
    capture->options = *options;
    capture->options.pids = NULL;
    capture->processes = calloc(options->pid_count, sizeof(*capture->processes));
    int error = capture->processes ? open_all(capture, options) : err_no_memory();
    if (error) {
        sample_capture_close(capture);
        return error;
    }
    *result = capture;
    return 0;
}

void sample_capture_close(struct sample_capture *capture)
{
    if (!capture)
        return;
    sample_probe_close(&capture->probe);
    for (size_t i = 0; i < capture->process_count; i++)
        watched_process_close(&capture->processes[i]);
    for (size_t i = 0; i < SAMPLE_KERNEL_STACKS; i++)
        free(capture->kernel_texts[i]);
    lock_stacks_free(&capture->stacks);
    kernel_names_free(&capture->kernel_names);
    free(capture->processes);
    free(capture);
}

/* A process that has ended, or become another program, has no samples any more. */
static void look_at_processes(struct sample_capture *capture)
{
    if (capture->now - capture->looked_ns < LOOK_AGAIN_NS && !capture->finished)
        return;
    capture->looked_ns = capture->now;
    for (size_t i = 0; i < capture->process_count; i++)
        if (!capture->processes[i].ended && target_unchanged(&capture->processes[i].target) < 0)
            capture->processes[i].ended = true;
}

static int drain(struct sample_capture *capture, sample_callback *callback, void *context)
{
    capture->callback = callback;
    capture->context = context;
    capture->error = 0;
    return capture_ring_drain(capture->probe.ring, &capture->error, "samples");
}

int sample_capture_poll(struct sample_capture *capture, sample_callback *callback, void *context)
{
    capture->now = monotonic_ns();
    look_at_processes(capture);
    if (capture->options.off_cpu && sample_probe_adapt(&capture->probe, capture->now))
        capture->counts.sampled = true;
    return drain(capture, callback, context);
}

static int take_unfinished(void *context, void *data, size_t size)
{
    struct sample_capture *capture = context;
    (void)size;
    capture->counts.unfinished++;
    return take_wait(capture, data);
}

int sample_capture_finish(struct sample_capture *capture, sample_callback *callback, void *context)
{
    if (capture->finished)
        return 0;
    capture->finished = true;
    sample_probe_detach(&capture->probe);
    capture->now = monotonic_ns();
    look_at_processes(capture);
    int error = drain(capture, callback, context);
    if (!error)
        error = sample_probe_unfinished(&capture->probe, capture->now, take_unfinished, capture);
    return error;
}

struct sample_counts sample_capture_counts(const struct sample_capture *capture)
{
    struct sample_counts counts = capture->counts;
    uint64_t kernel[LOCK_COUNTERS];
    sample_probe_counters(&capture->probe, kernel);
    counts.waits_seen = kernel[LOCK_WAITS];
    counts.lost = kernel[LOCK_LOST];
    counts.returns_unseen = kernel[LOCK_UNMATCHED];
    counts.threads_full = kernel[LOCK_THREADS_FULL];
    counts.stacks_full = kernel[LOCK_STACKS_FULL];
    counts.stacks_late = kernel[LOCK_STACKS_LATE];
    counts.stacks_unreadable = kernel[LOCK_FAULTS_STACK];
    counts.kernel_hidden = kernel_names_hidden(&capture->kernel_names);
    return counts;
}

bool sample_capture_ended(const struct sample_capture *capture)
{
    for (size_t i = 0; i < capture->process_count; i++)
        if (!capture->processes[i].ended)
            return false;
    return true;
}

size_t sample_capture_gone(const struct sample_capture *capture, pid_t *pids, size_t size)
{
    size_t count = 0;
    for (size_t i = 0; i < capture->process_count; i++)
        if (capture->processes[i].ended && count++ < size)
            pids[count - 1] = capture->processes[i].target.pid;
    return count;
}
