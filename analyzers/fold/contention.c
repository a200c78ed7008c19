/* SPDX-License-Identifier: MIT */
/* Locks, queues and what threads do: gathers it from the events, beside the trails. */
#include "contention.h"
#include "contention_saved.h"

#include <stdlib.h>

#include "err.h"
#include "fold.h"

static bool current_op(void *context, uint32_t pid, uint32_t tid, uint64_t *op, uint16_t *point)
{
    struct contention *contention = context;
    return contention->trails && trail_builder_current(contention->trails, pid, tid, op, point);
}

static int waited(void *context, const struct lock_ended_wait *wait)
{
    return flows_waited(&((struct contention *)context)->flows, wait);
}

static int acquired(void *context, uint32_t pid, uint32_t tid, uint16_t group, uint64_t time_ns)
{
    return flows_acquired(&((struct contention *)context)->flows, pid, tid, group, time_ns);
}

static int released(void *context, uint32_t pid, uint32_t tid, uint16_t group, uint64_t time_ns)
{
    return flows_released(&((struct contention *)context)->flows, pid, tid, group, time_ns);
}

static void forgotten(void *context, uint32_t pid, uint32_t tid, uint16_t group)
{
    flows_forgotten(&((struct contention *)context)->flows, pid, tid, group);
}

static void destroy(void *state)
{
    struct contention *contention = state;
    lock_table_free(contention->locks);
    flows_free(&contention->flows);
    free(contention);
}

static int create(const struct fold_options *options, void **state)
{
    struct contention *contention = calloc(1, sizeof(*contention));
    if (!contention)
        return err_no_memory();
    contention->paths = options->paths;
    contention->trails = options->trails;
    const struct lock_view view = {contention, current_op};
    const struct lock_listener listener = {contention, waited, acquired, released, forgotten};
    int rc = flows_init(&contention->flows, options->paths);
    if (rc == 0)
        rc = lock_table_new(&view, &listener, &contention->locks);
    if (rc < 0) {
        destroy(contention);
        return rc;
    }
    *state = contention;
    return 0;
}

static int add_event(void *state, const struct optrail_event *event)
{
    struct contention *contention = state;
    if (event->point >= POINT_COUNT)
        return 0; /* the trail builder refuses it */
    int rc = lock_table_event(contention->locks, event);
    return rc < 0 ? rc : flows_event(&contention->flows, event);
}

static int add_trail(void *state, const struct trail *trail, const struct op_division *division)
{
    (void)division;
    flows_trail(&((struct contention *)state)->flows, trail);
    return 0;
}

struct contention_window contention_window(const struct contention *contention)
{
    const struct flows *flows = &contention->flows;
    if (flows->end_ns > flows->begin_ns)
        return (struct contention_window){flows->begin_ns, flows->end_ns};
    if (contention->looked.end_ns > contention->looked.begin_ns)
        return contention->looked;
    uint64_t begin = lock_table_begin_ns(contention->locks);
    uint64_t end = lock_table_end_ns(contention->locks);
    return (struct contention_window){begin, end > begin ? end : begin};
}

uint64_t contention_window_ns(const struct contention *contention)
{
    struct contention_window window = contention_window(contention);
    return window.end_ns - window.begin_ns;
}

static void fill_load(const struct contention *contention, struct report *report)
{
    double seconds = (double)contention_window_ns(contention) / 1e9, total = 0;
    for (size_t i = 0; i < report->op_count; i++)
        total += (double)report->ops[i].total_ns;
    if (report->source.clock_jumps > 0) /* of what time the ops are is not known */
        seconds = 0;
    report->load.seconds = seconds;
    report->load.known = seconds > 0 && contention->flows.end_ns > contention->flows.begin_ns;
    report->load.locks_known = lock_table_counts(contention->locks).events > 0;
    if (seconds <= 0)
        return;
    report->load.rate = (double)report->counts.ops / seconds;
    report->load.in_flight = total / 1e9 / seconds;
    report->load.peak = flow_levels_quantile(&contention->flows.levels, 0.95);
    report->load.steady = flow_levels_middle(&contention->flows.levels);
}

static int fill_losses(const struct contention *contention, struct report *report)
{
    struct lock_counts locks = lock_table_counts(contention->locks);
    const struct {
        const char *name;
        uint64_t value;
    } losses[] = {{"lock_events_unpaired", locks.unpaired},
                  {"locks_without_room", locks.no_instance},
                  {"lock_threads_without_room", locks.no_thread + contention->flows.no_thread},
                  {"lock_waits_without_stack", locks.no_stack},
                  {"stacks_without_room", locks.stacks_dropped},
                  {"nested_locks_not_followed", locks.nested},
                  {"thread_steps_without_room", contention->flows.no_step}};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof(losses) / sizeof(*losses); i++)
        if (losses[i].value > 0)
            rc = report_add_other(report, losses[i].name, losses[i].value);
    return rc;
}

static int fill(void *state, struct report *report)
{
    struct contention *contention = state;
    struct stage_labels *labels = malloc(sizeof(*labels));
    if (!labels)
        return err_no_memory();
    contention->looked = (struct contention_window){report->source.begin_ns, report->source.end_ns};
    stage_labels_init(labels, report, contention->paths, &contention->flows);
    fill_load(contention, report);
    int rc = lock_table_flush(contention->locks);
    if (rc == 0)
        rc = contention_fill_locks(contention, labels, report);
    if (rc == 0)
        rc = contention_fill_queues(contention, labels, report);
    if (rc == 0)
        rc = fill_losses(contention, report);
    free(labels);
    return rc;
}

const struct fold_class fold_contention = {.name = "contention",
                                           .create = create,
                                           .event = add_event,
                                           .trail = add_trail,
                                           .fill = fill,
                                           .save = contention_save,
                                           .load = contention_load,
                                           .free = destroy};
