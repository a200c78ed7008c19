/* SPDX-License-Identifier: MIT */
#include "flame_trace.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "flame_ops.h"
#include "flame_samples.h"
#include "flame_slowest.h"
#include "flame_waits.h"
#include "lock_table.h"
#include "lock_waits.h"
#include "wait_kinds.h"

#define PROGRESS_MASK 0xffffu

struct flame_trace {
    struct flame_trace_options options;
    struct event_consumer consumer;
    struct flame_trace_counts counts;
    struct trail_builder *builder;
    struct lock_table *locks; /* names, stacks, and what the daemon tells of locks */
    struct flame_waits *waits;
    struct flame_samples samples;
    struct flame_slowest *slowest; /* NULL: no timeline */
    struct flame_op op;
    uint64_t events, first_ns, now_ns;
    uint32_t frames[FLAME_MAX_FRAMES];
};

static struct flame_names *names_of(struct flame_fold *fold)
{
    return &flame_fold_tree(fold)->names;
}

static int name_text(struct flame_fold *fold, const char *text, uint32_t *name)
{
    return flame_name(names_of(fold), text, strlen(text), name);
}

static int name_thread(struct flame_fold *fold, uint32_t pid, uint32_t tid, uint32_t *name)
{
    char text[32];
    snprintf(text, sizeof(text), "%" PRIu32 "/%" PRIu32, pid, tid);
    return name_text(fold, text, name);
}

static bool wants(const struct flame_fold *fold, enum flame_kind kind)
{
    uint32_t kinds = fold ? flame_fold_options(fold)->kinds : 0;
    return fold && (!kinds || kinds >> kind & 1);
}

/* An op's time in one stage, as a stack of the stages around it. `stage` -1: in none. */
static int add_stage(struct flame_trace *trace, uint32_t type, int stage, uint64_t ns)
{
    struct flame_fold *fold = trace->options.fold;
    const struct path *path = trace->op.match.path;
    uint32_t frames[PATH_MAX_STAGES + 1];
    size_t count = 0, depth = 0;
    int around[PATH_MAX_STAGES];
    frames[count++] = type;
    for (int at = stage; at >= 0 && depth < PATH_MAX_STAGES; at = path->stages[at].within)
        around[depth++] = at;
    int result = stage < 0 ? name_text(fold, "unattributed", &frames[count++]) : 0;
    while (result == 0 && depth > 0)
        result = name_text(fold, path->stages[around[--depth]].name, &frames[count++]);
    if (result < 0)
        return result;
    struct flame_sample sample = {.frame_count = count,
                                  .frames = frames,
                                  .kind = FLAME_stage,
                                  .side = trace->options.side,
                                  .begin_ns = trace->op.trail->start_ns,
                                  .value_ns = ns,
                                  .count = 1};
    sample.attributes[FLAME_BY_OP] = type;
    if (stage >= 0)
        sample.attributes[FLAME_BY_STAGE] = frames[count - 1];
    return flame_fold_take(fold, &sample);
}

static int add_stages(struct flame_trace *trace, uint32_t type)
{
    const struct path *path = trace->op.match.path;
    int result = 0;
    if (!path)
        return add_stage(trace, type, -1, trace->op.latency_ns);
    struct sweep_parts parts;
    sweep_trail(&trace->op.plan, trace->op.trail, &parts);
    for (size_t i = 0; result == 0 && i < path->stage_count; i++)
        if (parts.on_path[i] > 0)
            result = add_stage(trace, type, (int)i, parts.on_path[i]);
    if (result == 0 && parts.unattributed > 0)
        result = add_stage(trace, type, -1, parts.unattributed);
    return result;
}

/* Puts what is waited for behind the innermost frame. */
static int add_leaf(struct flame_fold *fold, const char *lock, uint32_t *frames, size_t *count)
{
    char leaf[192];
    snprintf(leaf, sizeof(leaf), "waits for %.170s", lock);
    for (char *at = leaf; (at = strchr(at, ';')) != NULL;)
        *at = ':';
    int result = name_text(fold, leaf, &frames[*count]);
    *count += result == 0;
    return result;
}

static struct flame_fold *fold_of(const struct flame_trace *trace, const struct flame_wait *wait)
{
    return wait->source == FLAME_WAIT_TOLD ? trace->options.told : trace->options.fold;
}

/* What the wait's lock is called. `text`: the stack. */
static void name_lock(const struct flame_trace *trace, const struct flame_wait *wait,
                      const char *text, char *lock, size_t size)
{
    if (wait->source == FLAME_WAIT_TOLD)
        snprintf(lock, size, "%s", lock_table_group(trace->locks, (uint16_t)wait->lock.lock)->name);
    else
        lock_table_wait_name(trace->locks, &wait->lock, text, lock, size);
}

/* The frames of a wait: its stack; of one that was told, what the op was at, for that is all that
 * is known. */
static int find_frames(struct flame_trace *trace, const struct flame_wait *wait, const char *text,
                       uint32_t type, uint32_t stage)
{
    struct flame_fold *fold = fold_of(trace, wait);
    uint32_t *frames = trace->frames;
    bool cut = false;
    int count = 0;
    if (text) {
        count = flame_frames_of_text(names_of(fold), text, frames, &cut);
        if (count == FLAME_MAX_FRAMES)
            memmove(frames, frames + 1, (size_t)--count * sizeof(*frames));
        return count;
    }
    if (wait->source == FLAME_WAIT_TOLD && type) {
        frames[count++] = type;
        if (stage)
            frames[count++] = stage;
        return count;
    }
    int result = name_text(fold, wait->source == FLAME_WAIT_TOLD ? "[no op]" : "[stack not known]",
                           &frames[0]);
    return result < 0 ? result : 1;
}

/* A wait as a sample; without `op` it is not known whose it was. */
static int add_wait(struct flame_trace *trace, const struct flame_wait *kept,
                    const struct flame_op *op)
{
    struct flame_fold *fold = fold_of(trace, kept);
    const struct lock_wait *wait = &kept->lock;
    if (kept->source == FLAME_WAIT_SAMPLE)
        return flame_samples_add(&trace->samples, kept, op);
    const char *text = lock_table_stack(trace->locks, wait->pid, wait->stack);
    const struct path_stage *in = op ? flame_op_stage(op, wait->begin_ns) : NULL;
    char lock[160];
    struct flame_sample sample = {.frames = trace->frames,
                                  .kind = FLAME_lock,
                                  .side = trace->options.side,
                                  .begin_ns = wait->begin_ns,
                                  .value_ns = wait->weight * (wait->end_ns - wait->begin_ns),
                                  .count = wait->weight};
    uint32_t *known = sample.attributes;
    if (kept->source == FLAME_WAIT_TOLD)
        text = NULL;
    else
        trace->counts.no_stack += text ? 0 : wait->weight;
    name_lock(trace, kept, text, lock, sizeof(lock));
    int result = op ? name_text(fold, op->type, &known[FLAME_BY_OP]) : 0;
    if (result == 0 && in)
        result = name_text(fold, in->name, &known[FLAME_BY_STAGE]);
    int count = result < 0
                    ? result
                    : find_frames(trace, kept, text, known[FLAME_BY_OP], known[FLAME_BY_STAGE]);
    if (count < 0)
        return count;
    sample.frame_count = (size_t)count;
    result = add_leaf(fold, lock, trace->frames, &sample.frame_count);
    if (result == 0)
        result = name_text(fold, lock, &known[FLAME_BY_REASON]);
    if (result == 0)
        result = name_thread(fold, wait->pid, wait->tid, &known[FLAME_BY_THREAD]);
    return result == 0 ? flame_fold_take(fold, &sample) : result;
}

static bool is_contention(const struct lock_wait *wait)
{
    return wait->kind >= WAIT_KIND_COUNT || wait_kind_rows[wait->kind].class != WAIT_CLASS_IDLE;
}

/* Of a sample that was found out when it was taken. */
static bool is_wanted(const struct flame_trace *trace, const struct flame_wait *wait)
{
    return wait->source == FLAME_WAIT_SAMPLE || wants(fold_of(trace, wait), FLAME_lock);
}

/* A wait of no op, or of one whose end cannot be waited for. */
static int take_wait(void *context, const struct flame_wait *wait, int early)
{
    struct flame_trace *trace = context;
    bool op_unknown = early || wait->op != 0;
    if (wait->source == FLAME_WAIT_CAPTURED) {
        trace->counts.op_unknown += op_unknown ? wait->lock.weight : 0;
        trace->counts.no_op += op_unknown ? 0 : wait->lock.weight;
    } else if (wait->source == FLAME_WAIT_SAMPLE) {
        if (op_unknown && flame_samples_idle(&trace->samples, wait, NULL))
            return 0;
        flame_samples_count(&trace->samples, wait);
        if (op_unknown)
            trace->samples.counts.op_unknown += wait->sample.weight;
        else
            flame_samples_no_op(&trace->samples, wait);
    }
    return trace->options.tail || !is_wanted(trace, wait) ? 0 : add_wait(trace, wait, NULL);
}

/* The op's waits are drawn if it is taken, and go with it if it is kept among the slowest. */
static int take_op_waits(struct flame_trace *trace, bool taken, bool kept)
{
    const struct trail *trail = trace->op.trail;
    struct flame_wait wait;
    int result = 0;
    while (result == 0 && flame_waits_of_op(trace->waits, trail->pid, trail->key, &wait)) {
        if (kept && wait.source != FLAME_WAIT_SAMPLE) {
            char lock[160];
            name_lock(trace, &wait, lock_table_stack(trace->locks, wait.pid, wait.lock.stack), lock,
                      sizeof(lock));
            result = flame_slowest_wait(trace->slowest, &wait.lock, lock);
        }
        if (wait.source == FLAME_WAIT_SAMPLE) {
            if (flame_samples_idle(&trace->samples, &wait, &trace->op))
                continue;
            flame_samples_count(&trace->samples, &wait);
        }
        if (result == 0 && taken && is_wanted(trace, &wait))
            result = add_wait(trace, &wait, &trace->op);
    }
    return result;
}

static int take_unfinished(struct flame_trace *trace, const struct trail *trail)
{
    struct flame_wait wait;
    int result = 0;
    trace->counts.unfinished++;
    while (result == 0 && flame_waits_of_op(trace->waits, trail->pid, trail->key, &wait))
        result = take_wait(trace, &wait, 0);
    return result;
}

static int take_trail(void *context, const struct trail *trail)
{
    struct flame_trace *trace = context;
    const struct flame_trace_options *options = &trace->options;
    uint32_t type = 0;
    bool kept = false;
    if (trail->end != TRAIL_FINISHED)
        return take_unfinished(trace, trail);
    int result = flame_op_take(&trace->op, options->paths, trail);
    if (result < 0)
        return result;
    bool taken =
        !options->tail || flame_tail_has(options->tail, trace->op.match.type, trace->op.latency_ns);
    trace->counts.ops++;
    trace->counts.ops_taken += taken;
    if (options->fold)
        result = name_text(options->fold, trace->op.type, &type);
    if (result == 0 && trace->slowest &&
        (!options->op || fnmatch(options->op, trace->op.type, 0) == 0))
        result = flame_slowest_take(trace->slowest, &trace->op, &kept);
    if (result == 0 && taken && wants(options->fold, FLAME_stage))
        result = add_stages(trace, type);
    return result == 0 ? take_op_waits(trace, taken, kept) : result;
}

/* The op that the thread of the event works for; 0: none. */
static uint64_t current_op(struct flame_trace *trace, uint32_t pid, uint32_t tid)
{
    uint64_t op = 0;
    uint16_t point;
    return trail_builder_current(trace->builder, pid, tid, &op, &point) ? op : 0;
}

/* The daemon tells that a thread had to wait until now. */
static int take_told(void *context, const struct lock_ended_wait *told)
{
    struct flame_trace *trace = context;
    struct flame_wait wait = {
        .source = FLAME_WAIT_TOLD,
        .pid = told->pid,
        .tid = told->tid,
        .op = current_op(trace, told->pid, told->tid),
        .lock = {.begin_ns = trace->now_ns > told->ns ? trace->now_ns - told->ns : 0,
                 .end_ns = trace->now_ns,
                 .lock = told->group,
                 .pid = told->pid,
                 .tid = told->tid,
                 .weight = 1}};
    trace->counts.told++;
    return flame_waits_add(trace->waits, &wait);
}

/* lock.waited: a contended wait has ended. */
static int take_captured(struct flame_trace *trace, const struct optrail_event *event)
{
    struct flame_wait wait = {
        .source = FLAME_WAIT_CAPTURED,
        .pid = event->pid,
        .tid = event->tid,
        .lock = {.weight = 1, .point = LOCK_WAIT_NO_POINT, .holder_point = LOCK_WAIT_NO_POINT}};
    lock_wait_take(&wait.lock, event);
    if (!is_contention(&wait.lock))
        return flame_waits_skip(trace->waits, event);
    trace->counts.captured++;
    wait.op = current_op(trace, event->pid, event->tid);
    return flame_waits_begin(trace->waits, &wait);
}

static int take_sample(struct flame_trace *trace, const struct optrail_event *event)
{
    struct flame_wait wait;
    uint64_t op = current_op(trace, event->pid, event->tid);
    if (!flame_samples_begin(&trace->samples, event, op, &wait))
        return flame_waits_skip(trace->waits, event);
    return flame_waits_begin(trace->waits, &wait);
}

/* What else the thread tells of its last wait or sample. */
static int take_more(struct flame_trace *trace, const struct optrail_event *event)
{
    bool woken = event->point == POINT_sample_woken;
    struct flame_wait *wait =
        flame_waits_last(trace->waits, woken ? FLAME_WAIT_SAMPLE : FLAME_WAIT_CAPTURED, event);
    if (wait && woken)
        return flame_samples_woken(&trace->samples, event, wait);
    if (wait)
        lock_wait_take(&wait->lock, event);
    return 0;
}

static int take_event(void *context, const struct optrail_event *event)
{
    struct flame_trace *trace = context;
    int result;
    if ((++trace->events & PROGRESS_MASK) == 0 && trace->options.progress)
        trace->options.progress(trace->options.progress_context, trace->events);
    if (trace->first_ns == 0) {
        trace->first_ns = event->time_ns;
        if (trace->options.fold)
            flame_fold_origin(trace->options.fold, trace->options.side, event->time_ns);
        if (trace->options.told)
            flame_fold_origin(trace->options.told, trace->options.side, event->time_ns);
    }
    trace->now_ns = event->time_ns;
    switch (event->point) {
    case POINT_lock_waited:
        result = take_captured(trace, event);
        break;
    case POINT_sample_taken:
        result = take_sample(trace, event);
        break;
    case POINT_thread_named:
        return flame_threads_named(&trace->samples.threads, event);
    case POINT_lock_holder:
    case POINT_lock_meanwhile:
    case POINT_lock_chain:
    case POINT_lock_counted:
    case POINT_sample_woken:
        return take_more(trace, event);
    default:
        result = lock_table_event(trace->locks, event);
        break;
    }
    return result == 0 ? trail_builder_event(trace->builder, event) : result;
}

static int take_lost(void *context, uint64_t count, uint64_t begin_ns, uint64_t end_ns)
{
    struct flame_trace *trace = context;
    (void)count;
    return trail_builder_lost(trace->builder, begin_ns, end_ns);
}

int flame_trace_new(const struct flame_trace_options *options, struct flame_trace **trace)
{
    struct flame_trace *made = calloc(1, sizeof(*made));
    if (!made)
        return err_no_memory();
    const struct lock_listener listener = {.context = made, .waited = take_told};
    made->options = *options;
    made->consumer =
        (struct event_consumer){.context = made, .event = take_event, .lost = take_lost};
    int result = trail_builder_new(NULL, take_trail, made, &made->builder);
    if (result == 0)
        result = lock_table_new(NULL, &listener, &made->locks);
    if (result == 0)
        result = flame_waits_new(take_wait, made, &made->waits);
    if (result == 0 && options->timeline)
        result = flame_slowest_new(options->timeline_ops, &made->slowest);
    if (result < 0) {
        flame_trace_free(made);
        return result;
    }
    made->samples.fold = options->fold;
    made->samples.stacks = made->locks;
    made->samples.side = options->side;
    made->samples.idle = options->idle;
    made->samples.wakers = options->wakers;
    *trace = made;
    return 0;
}

void flame_trace_free(struct flame_trace *trace)
{
    if (!trace)
        return;
    if (trace->builder)
        trail_builder_free(trace->builder);
    lock_table_free(trace->locks);
    flame_waits_free(trace->waits);
    flame_slowest_free(trace->slowest);
    flame_op_free(&trace->op);
    flame_samples_free(&trace->samples);
    free(trace);
}

const struct event_consumer *flame_trace_consumer(struct flame_trace *trace)
{
    return &trace->consumer;
}

int flame_trace_end(struct flame_trace *trace)
{
    int result = trail_builder_end(trace->builder);
    if (result == 0)
        result = flame_waits_flush(trace->waits);
    trace->counts.unpaired = flame_waits_unpaired(trace->waits);
    trace->counts.samples = trace->samples.counts;
    trace->counts.samples.unnamed = trace->samples.threads.no_room;
    if (result == 0 && trace->slowest)
        result = flame_slowest_tell(trace->slowest, trace->options.timeline);
    return result;
}

struct flame_trace_counts flame_trace_counts(const struct flame_trace *trace)
{
    return trace->counts;
}
