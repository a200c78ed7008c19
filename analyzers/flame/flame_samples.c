/* SPDX-License-Identifier: MIT */
#include "flame_samples.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "err.h"

const enum flame_kind flame_kind_of_sample[SAMPLE_KIND_COUNT] = {[SAMPLE_ON_CPU] = FLAME_cpu,
                                                                 [SAMPLE_OFF_CPU] = FLAME_offcpu,
                                                                 [SAMPLE_RUNNABLE] =
                                                                     FLAME_runnable};

uint32_t flame_sample_kinds(uint32_t kinds)
{
    uint32_t samples = 0;
    for (int i = 0; i < SAMPLE_KIND_COUNT; i++)
        samples |= (kinds >> flame_kind_of_sample[i] & 1) << i;
    return samples;
}

void flame_samples_free(struct flame_samples *samples)
{
    flame_threads_free(&samples->threads);
}

static struct flame_names *names_of(const struct flame_samples *samples)
{
    return &flame_fold_tree(samples->fold)->names;
}

static int name_text(const struct flame_samples *samples, const char *text, uint32_t *name)
{
    return text && *text ? flame_name(names_of(samples), text, strlen(text), name) : 0;
}

bool flame_samples_begin(struct flame_samples *samples, const struct optrail_event *event,
                         uint64_t op, struct flame_wait *wait)
{
    struct thread_sample *sample = &wait->sample;
    if (!thread_sample_take(sample, event)) {
        samples->counts.unusable++;
        return false;
    }
    wait->source = FLAME_WAIT_SAMPLE;
    wait->pid = event->pid;
    wait->tid = event->tid;
    wait->op = op;
    wait->chain_count = 0;
    samples->counts.taken += sample->weight;
    uint32_t kinds = samples->fold ? flame_fold_options(samples->fold)->kinds : 0;
    if (!(kinds >> flame_kind_of_sample[sample->kind] & 1))
        return false;
    /* whether a thread waits for its op is known when it goes on */
    return op || !flame_samples_idle(samples, wait, NULL);
}

bool flame_samples_idle(struct flame_samples *samples, const struct flame_wait *wait,
                        const struct flame_op *op)
{
    const struct thread_sample *sample = &wait->sample;
    uint64_t ns = sample->weight * sample->spent_ns;
    if (samples->idle || !sample_reason_rows[sample->reason].idle ||
        (op && flame_op_goes_on(op, wait->tid, sample->end_ns)))
        return false;
    samples->counts.idle_waits += sample->weight;
    samples->counts.idle_ns += ns;
    return true;
}

int flame_samples_woken(struct flame_samples *samples, const struct optrail_event *event,
                        struct flame_wait *wait)
{
    thread_sample_take(&wait->sample, event);
    return flame_threads_woken(&samples->threads, &wait->sample, wait->chain, &wait->chain_count);
}

/* Puts the frames of a stack behind those that are there; of a waker's the innermost comes first,
 * for it is what the woken one waited for. */
static int add_stack(struct flame_samples *samples, const char *text, bool upside_down,
                     size_t *count)
{
    bool cut = false;
    int got = flame_frames_of_text(names_of(samples), text, samples->some, &cut);
    if (got < 0)
        return got;
    for (int i = 0; i < got && *count < FLAME_MAX_FRAMES; i++)
        samples->frames[(*count)++] = samples->some[upside_down ? got - 1 - i : i];
    samples->counts.cut += cut || *count == FLAME_MAX_FRAMES;
    return 0;
}

static int add_frame(struct flame_samples *samples, const char *text, size_t *count)
{
    int result = 0;
    if (*count < FLAME_MAX_FRAMES) {
        result = name_text(samples, text, &samples->frames[*count]);
        *count += result == 0;
    }
    return result;
}

/* The thread's name, or its numbers. */
static const char *thread_name(const struct flame_samples *samples, uint32_t pid, uint32_t tid,
                               char *text, size_t size)
{
    const char *name = flame_threads_name(&samples->threads, pid, tid);
    if (!name && tid)
        snprintf(text, size, "%" PRIu32 "/%" PRIu32, pid, tid);
    else
        snprintf(text, size, "%s", name ? name : "[interrupt]");
    for (char *at = text; (at = strchr(at, ';')) != NULL;)
        *at = ':';
    return text;
}

void flame_samples_count(struct flame_samples *samples, const struct flame_wait *wait)
{
    samples->counts.busy_ns += wait->sample.weight * wait->sample.spent_ns;
}

void flame_samples_no_op(struct flame_samples *samples, const struct flame_wait *wait)
{
    char text[64];
    samples->counts.no_op += wait->sample.weight;
    flame_pools_add(&samples->counts.pools_no_op,
                    thread_name(samples, wait->pid, wait->tid, text, sizeof(text)),
                    wait->sample.weight * wait->sample.spent_ns);
}

static int add_chain(struct flame_samples *samples, const struct flame_wait *wait, size_t *count)
{
    char text[64];
    int result = 0;
    for (uint32_t i = 0; result == 0 && i < wait->chain_count; i++) {
        const struct flame_waker *waker = &wait->chain[i];
        const char *stack = lock_table_stack(samples->stacks, waker->stack_pid, waker->stack);
        result = add_frame(samples, "-- woken by", count);
        if (result == 0 && stack)
            result = add_stack(samples, stack, true, count);
        if (result == 0)
            result = add_frame(
                samples, thread_name(samples, waker->pid, waker->tid, text, sizeof(text)), count);
    }
    return result;
}

static int find_frames(struct flame_samples *samples, const struct flame_wait *wait, size_t *count)
{
    const char *text = lock_table_stack(samples->stacks, wait->pid, wait->sample.stack);
    int result;
    *count = 0;
    if (text) {
        result = add_stack(samples, text, false, count);
    } else {
        samples->counts.no_stack += wait->sample.weight;
        result = add_frame(samples, "[stack not known]", count);
    }
    return result == 0 && samples->wakers ? add_chain(samples, wait, count) : result;
}

int flame_samples_add(struct flame_samples *samples, const struct flame_wait *wait,
                      const struct flame_op *op)
{
    const struct thread_sample *taken = &wait->sample;
    const struct path_stage *in = op ? flame_op_stage(op, thread_sample_begin(taken)) : NULL;
    struct flame_sample sample = {.frames = samples->frames,
                                  .kind = flame_kind_of_sample[taken->kind],
                                  .side = samples->side,
                                  .begin_ns = thread_sample_begin(taken),
                                  .value_ns = taken->weight * taken->spent_ns,
                                  .count = taken->weight};
    uint32_t *known = sample.attributes;
    char text[64];
    int result = find_frames(samples, wait, &sample.frame_count);
    if (result == 0 && op)
        result = name_text(samples, op->type, &known[FLAME_BY_OP]);
    if (result == 0 && in)
        result = name_text(samples, in->name, &known[FLAME_BY_STAGE]);
    if (result == 0)
        result =
            name_text(samples, sample_reason_rows[taken->reason].text, &known[FLAME_BY_REASON]);
    if (result == 0)
        result = name_text(samples, thread_name(samples, wait->pid, wait->tid, text, sizeof(text)),
                           &known[FLAME_BY_THREAD]);
    if (result == 0 && wait->chain_count)
        result = name_text(
            samples,
            thread_name(samples, wait->chain[0].pid, wait->chain[0].tid, text, sizeof(text)),
            &known[FLAME_BY_WAKER]);
    return result == 0 ? flame_fold_take(samples->fold, &sample) : result;
}
