/* SPDX-License-Identifier: MIT */
/* Tracing for a part of the time: pauses and resumes, as the duty cycle says. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "err.h"
#include "clock_ns.h"
#include "in_parallel.h"
#include "tracer_group_internal.h"
#include "tracer_internal.h"

static void turns(struct tracer_group *group, enum tracer_turn turn)
{
    if (group->options.turns && group->options.duty > 0)
        group->options.turns(group->options.context, turn);
}

static size_t list_tracers(struct tracer_group *group)
{
    size_t count = 0;
    for (size_t i = 0; i < group->count; i++)
        if (!group->members[i].shown.absent)
            group->tracers[count++] = group->members[i].tracer;
    return count;
}

void tracer_group_mark(struct tracer_group *group, uint64_t time_ns, bool resume)
{
    if (group->options.duty <= 0)
        return;
    if (group->marker_count < sizeof(group->markers) / sizeof(group->markers[0]))
        group->markers[group->marker_count++] =
            (struct marker){time_ns, resume, resume ? 0 : duty_cycle_last_ns(&group->duty), 0};
}

/* The event of the oldest marker for the next member. */
void tracer_group_take_mark(struct tracer_group *group, struct optrail_event *event)
{
    struct marker *marker = &group->markers[0];
    uint32_t pid = (uint32_t)group->members[marker->member].shown.target.pid;
    *event = (struct optrail_event){
        .time_ns = marker->time_ns,
        .arg0 = marker->traced_ns,
        .arg1 = marker->resume ? 0 : group->count,
        .pid = pid,
        .tid = pid,
        .point = (uint16_t)(marker->resume ? POINT_tracer_resume : POINT_tracer_pause),
    };
    if (++marker->member < group->count)
        return;
    group->marker_count--;
    memmove(group->markers, group->markers + 1, group->marker_count * sizeof(group->markers[0]));
}

void tracer_group_pause(struct tracer_group *group)
{
    size_t count = list_tracers(group);
    uint64_t now = monotonic_ns();
    duty_cycle_paused(&group->duty, now);
    group->slices.traced_ns += duty_cycle_last_ns(&group->duty);
    tracer_group_mark(group, now, false);
    turns(group, TRACER_PAUSES);
    tracers_pause(group->tracers, count);
}

void tracer_group_stop(struct tracer_group *group)
{
    tracers_stop(group->tracers, list_tracers(group));
    uint64_t now = monotonic_ns();
    if (group->attached_ns)
        group->slices.probed_ns += now - group->attached_ns;
    group->attached_ns = 0;
    duty_cycle_stopped(&group->duty, now, group->slices.probed_ns);
    turns(group, TRACER_IS_OUT);
}

static int resume_member(void *context, size_t index)
{
    struct tracer_group *group = context;
    struct member *member = &group->members[index];
    member->refusal[0] = '\0';
    if (!member->shown.absent && tracer_resume(member->tracer))
        snprintf(member->refusal, sizeof(member->refusal), "%s", err_message());
    return 0;
}

static void resume_all(struct tracer_group *group)
{
    turns(group, TRACER_GOES_IN);
    group->attached_ns = monotonic_ns();
    in_parallel(group->count, resume_member, group);
    uint64_t now = monotonic_ns();
    for (size_t i = 0; i < group->count; i++) {
        struct member *member = &group->members[i];
        if (member->refusal[0]) {
            member->shown.absent = true;
            err_set(ESTALE, "%s", member->refusal);
            tracer_group_tell(group, TRACER_REFUSED, i);
        }
        if (!member->shown.absent)
            member->tracer->starts_from_ns = now;
    }
    duty_cycle_resumed(&group->duty, now);
    group->slices.count++;
    tracer_group_mark(group, now, true);
    turns(group, TRACER_IS_IN);
}

/* What is due by the duty cycle. Slices change only when everything before has been told. */
void tracer_group_turn(struct tracer_group *group)
{
    uint64_t slowest =
        group->options.slowest_ns ? group->options.slowest_ns(group->options.context) : 0;
    duty_cycle_slowest(&group->duty, slowest);
    uint64_t now = monotonic_ns();
    if (now < duty_cycle_due_ns(&group->duty) || group->marker_count > 2)
        return;
    switch (group->duty.state) {
    case DUTY_TRACING:
        tracer_group_pause(group);
        break;
    case DUTY_DRAINING:
        tracer_group_stop(group);
        break;
    case DUTY_RESTING:
        for (size_t i = 0; i < group->count; i++)
            if (!group->members[i].shown.absent && !group->members[i].tracer->ended)
                return;
        resume_all(group);
        break;
    }
}
