/* SPDX-License-Identifier: MIT */
#include "tracer_group.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock_ns.h"
#include "err.h"
#include "in_parallel.h"
#include "tracer_group_internal.h"
#include "tracer_internal.h"

/* How often the rings are emptied, and ended daemons are looked for. */
#define LOOK_EVERY_NS 100000000ull
/* A slice of the duty cycle, at least. Putting the probes in and out costs as much as some 0.1 s
 * with them, so slices are longer than percentiles want them. */
#define SLICE_NS 500000000ull

void tracer_group_tell(struct tracer_group *group, enum tracer_notice notice, size_t index)
{
    if (group->options.notice)
        group->options.notice(group->options.context, notice, index);
}

/* Opening */

static int choose_map(struct tracer_member *member)
{
    probe_map_free(member->map);
    member->map = NULL;
    member->exact = true;
    if (member->target.usdt_probes)
        return 0;
    return probe_map_choose(probe_map_directory(), member->target.program, member->target.kind,
                            member->target.version, &member->map, &member->exact);
}

static int probe(struct tracer_group *group, struct member *member, bool held)
{
    struct tracer_options options = group->options.each;
    options.seconds = 0;
    options.stop = NULL;
    options.held = held;
    uint32_t *pids = realloc(member->pids, (member->pid_count + 1) * sizeof(*pids));
    if (!pids)
        return err_no_memory();
    member->pids = pids;
    struct daemon_identity identity;
    int error = daemon_identity_read(member->shown.target.pid, &identity);
    if (error)
        return error;
    error = choose_map(&member->shown);
    if (!error)
        error = tracer_open(&member->shown.target, member->shown.map, &options, &member->tracer);
    if (error) {
        daemon_identity_free(&identity);
        return error;
    }
    daemon_identity_free(&member->identity);
    member->identity = identity;
    pids[member->pid_count++] = (uint32_t)member->shown.target.pid;
    member->shown.absent = false;
    member->refusal_told = false;
    return 0;
}

static int begin(struct member *member)
{
    int error = tracer_begin(member->tracer);
    if (!error && member->begun_ns == 0)
        member->begun_ns = member->tracer->attached_ns;
    return error;
}

/* Each needs some 100 ms of the kernel's verifier. */
static int prepare_member(void *context, size_t index)
{
    struct tracer_group *group = context;
    return probe(group, &group->members[index], true);
}

static int begin_member(void *context, size_t index)
{
    struct tracer_group *group = context;
    return begin(&group->members[index]);
}

static void add_counts(struct tracer_counts *sum, const struct tracer_counts *more)
{
    sum->events += more->events;
    sum->lost += more->lost;
    sum->late += more->late;
    sum->unknown_text += more->unknown_text;
    sum->faults += more->faults;
    sum->hits += more->hits;
    sum->unset_stamps += more->unset_stamps;
}

/* Looks for a new process of a daemon whose last one has ended. */
static void look_for_successor(struct tracer_group *group, size_t index)
{
    struct member *member = &group->members[index];
    pid_t old = member->shown.target.pid;
    /* a process that became another program and back has its old number */
    pid_t pid = daemon_identity_find(&member->identity, 0);
    struct target target;
    if (!pid ||
        (pid == old && member->tracer && daemon_identity_same_image(&member->identity, pid)))
        return;
    int error = target_inspect(pid, &target);
    if (error)
        return; /* it is gone already */
    struct tracer *former = member->tracer;
    struct target former_target = member->shown.target;
    struct tracer_counts counts = former ? tracer_counts(former) : (struct tracer_counts){0};
    member->tracer = NULL;
    /* the old map must outlive the old tracer, which is closed only when there is a new one */
    struct probe_map *map = member->shown.map;
    member->shown.map = NULL;
    member->shown.target = target;
    error =
        target.obstacle[0] ? err_set(EPERM, "%s", target.obstacle) : probe(group, member, false);
    if (error) {
        probe_map_free(member->shown.map);
        member->shown.map = map;
        member->shown.target = former_target;
        member->tracer = former;
        if (!member->refusal_told)
            tracer_group_tell(group, TRACER_REFUSED, index);
        member->refusal_told = true;
        return;
    }
    tracer_close(former);
    probe_map_free(map);
    add_counts(&member->before, &counts);
    member->shown.restarts++;
    if (group->options.duty > 0 && !duty_cycle_in(&group->duty))
        tracer_stop(member->tracer); /* its turn comes with the others' */
    tracer_group_tell(group, TRACER_PROBED, index);
}

/* Waiting and looking */

static bool has_event(struct member *member)
{
    if (member->next < member->count)
        return true;
    member->next = 0;
    member->count = event_order_take(&member->tracer->order, member->buffer, MEMBER_BUFFER);
    member->tracer->delivered += member->count;
    return member->count > 0;
}

static void member_ended(struct tracer_group *group, size_t index)
{
    struct member *member = &group->members[index];
    member->tracer->exited = true;
    tracer_stop(member->tracer);
    member->shown.absent = true;
    tracer_group_tell(group, TRACER_ENDED, index);
}

static void look_at_processes(struct tracer_group *group)
{
    bool any = false;
    for (size_t i = 0; i < group->count; i++) {
        struct member *member = &group->members[i];
        pid_t pid = member->shown.target.pid;
        if (!member->shown.absent) {
            struct pollfd process = {.fd = member->tracer->process, .events = POLLIN};
            bool gone =
                process.fd >= 0 ? poll(&process, 1, 0) > 0 : kill(pid, 0) != 0 && errno == ESRCH;
            if (gone || !daemon_identity_same_image(&member->identity, pid))
                member_ended(group, i);
        } else if (group->options.follow && member->tracer->ended && !has_event(member) &&
                   !group->ending) {
            look_for_successor(group, i);
        }
        any = any || !member->shown.absent;
    }
    if (!any && !group->options.follow)
        group->ending = true;
}

static void wait_a_little(struct tracer_group *group)
{
    uint64_t now = monotonic_ns(), until = group->looked_ns + LOOK_EVERY_NS;
    if (group->deadline_ns && until > group->deadline_ns)
        until = group->deadline_ns;
    if (group->options.duty > 0 && until > duty_cycle_due_ns(&group->duty))
        until = duty_cycle_due_ns(&group->duty);
    size_t count = 0;
    for (size_t i = 0; i < group->count; i++)
        if (!group->members[i].shown.absent && group->members[i].tracer->process >= 0)
            group->processes[count++] =
                (struct pollfd){.fd = group->members[i].tracer->process, .events = POLLIN};
    struct timespec wait = {0};
    if (until > now)
        wait.tv_nsec = (long)(until - now > LOOK_EVERY_NS ? LOOK_EVERY_NS : until - now);
    ppoll(group->processes, count, &wait, NULL);
}

/* The time is up, or the user has had enough. With a duty cycle the ops that have begun are
 * followed to their end first. */
static void end_if_due(struct tracer_group *group)
{
    const volatile sig_atomic_t *stop = group->options.each.stop;
    uint64_t now = monotonic_ns();
    if ((stop && *stop) || (group->deadline_ns && now >= group->deadline_ns))
        group->ending = true;
    if (!group->ending)
        return;
    if (group->options.duty > 0 && group->duty.state == DUTY_TRACING)
        tracer_group_pause(group);
    if (group->options.duty > 0 && group->duty.state == DUTY_DRAINING &&
        now < duty_cycle_due_ns(&group->duty) && !(stop && *stop > 1))
        return;
    group->ended_ns = now; /* the way out takes a while */
    tracer_group_stop(group);
    group->ended = true;
}

static int look(struct tracer_group *group)
{
    bool more = false; /* in a ring that was not emptied */
    for (size_t i = 0; i < group->count; i++)
        more = more || group->members[i].tracer->drain_cut;
    if (!more)
        wait_a_little(group);
    group->looked_ns = monotonic_ns();
    look_at_processes(group);
    end_if_due(group);
    if (group->options.duty > 0 && !group->ending)
        tracer_group_turn(group);
    for (size_t i = 0; i < group->count; i++) {
        int error = group->members[i].tracer->ended ? 0 : tracer_drain(group->members[i].tracer);
        if (error)
            return error;
    }
    return 0;
}

/* The feed */

/* The member with the oldest event, if that is surely the oldest of all; else NULL. *told_ns: until
 * when everything is known. */
static struct member *oldest(struct tracer_group *group, uint64_t *told_ns)
{
    struct member *first = NULL;
    *told_ns = UINT64_MAX;
    for (size_t i = 0; i < group->count; i++) {
        struct member *member = &group->members[i];
        if (has_event(member)) {
            if (!first || member->buffer[member->next].time_ns < first->buffer[first->next].time_ns)
                first = member;
        } else if (member->tracer->told_ns < *told_ns) {
            *told_ns = member->tracer->told_ns;
        }
    }
    return first && first->buffer[first->next].time_ns <= *told_ns ? first : NULL;
}

static size_t merge(struct tracer_group *group, struct optrail_event *events, size_t capacity)
{
    size_t filled = 0;
    while (filled < capacity) {
        uint64_t told_ns;
        struct member *member = oldest(group, &told_ns);
        uint64_t time_ns = member ? member->buffer[member->next].time_ns : told_ns;
        if (group->marker_count && group->markers[0].time_ns <= time_ns)
            tracer_group_take_mark(group, &events[filled++]);
        else if (member)
            events[filled++] = member->buffer[member->next++];
        else
            break;
    }
    return filled;
}

static bool all_told(struct tracer_group *group)
{
    for (size_t i = 0; i < group->count; i++)
        if (!group->members[i].tracer->ended)
            return false;
    return true;
}

static int feed_next(void *context, struct optrail_event *events, size_t capacity)
{
    struct tracer_group *group = context;
    size_t count = merge(group, events, capacity);
    if (count == 0 && !(group->ended && all_told(group))) {
        int error = look(group);
        if (error)
            return error;
        count = merge(group, events, capacity);
    } else if (count == 0) {
        return 0;
    }
    return count > 0 ? (int)count : -EAGAIN;
}

static uint64_t feed_lost(void *context, uint64_t *begin_ns, uint64_t *end_ns)
{
    struct tracer_group *group = context;
    uint64_t sum = 0;
    for (size_t i = 0; i < group->count; i++) {
        struct event_feed *feed = tracer_feed(group->members[i].tracer);
        uint64_t begin, end, lost = feed->lost(feed->context, &begin, &end);
        if (lost == 0)
            continue;
        if (sum == 0 || begin < *begin_ns)
            *begin_ns = begin;
        if (sum == 0 || end > *end_ns)
            *end_ns = end;
        sum += lost;
    }
    return sum;
}

/* Life */

static int check_duty(const struct tracer_group *group)
{
    if (group->options.duty <= 0)
        return 0;
    for (size_t i = 0; i < group->count; i++)
        if (!group->members[i].tracer->trial.multi)
            return err_set(ENOTSUP, "--duty needs uprobe_multi links (Linux 6.6): without them "
                                    "the way out takes 0.1 s a probe");
    return 0;
}

int tracer_group_open(const struct target *targets, size_t count,
                      const struct tracer_group_options *options, struct tracer_group **result)
{
    *result = NULL;
    struct tracer_group *group = calloc(1, sizeof(*group));
    if (!group)
        return err_no_memory();
    group->options = *options;
    group->feed = (struct event_feed){.context = group, .next = feed_next, .lost = feed_lost};
    group->members = calloc(count, sizeof(*group->members));
    group->tracers = calloc(count, sizeof(struct tracer *));
    group->processes = calloc(count, sizeof(*group->processes));
    int error = group->members && group->tracers && group->processes ? 0 : err_no_memory();
    for (size_t i = 0; !error && i < count; i++)
        group->members[i].shown.target = targets[i];
    group->count = error ? 0 : count;
    if (!error)
        error = in_parallel(count, prepare_member, group);
    if (!error)
        error = check_duty(group);
    if (!error && !options->each.held)
        error = tracer_group_begin(group);
    if (error) {
        tracer_group_close(group);
        return error;
    }
    *result = group;
    return 0;
}

int tracer_group_begin(struct tracer_group *group)
{
    const struct tracer_group_options *options = &group->options;
    int error = in_parallel(group->count, begin_member, group);
    if (error)
        return error;
    group->begun_ns = group->looked_ns = monotonic_ns();
    if (options->each.seconds > 0)
        group->deadline_ns = group->begun_ns + (uint64_t)(options->each.seconds * 1e9);
    if (options->duty > 0) {
        duty_cycle_begin(&group->duty, options->duty, SLICE_NS, group->begun_ns);
        for (size_t i = 0; i < group->count; i++)
            group->members[i].tracer->starts_from_ns = group->begun_ns;
        group->attached_ns = group->begun_ns;
        group->slices.count = 1;
        /* before everything: what was seen while the others were still opened is at an edge */
        tracer_group_mark(group, 1, true);
    }
    return 0;
}

void tracer_group_close(struct tracer_group *group)
{
    if (!group)
        return;
    if (group->members && group->tracers) {
        size_t count = 0;
        for (size_t i = 0; i < group->count; i++)
            if (group->members[i].tracer)
                group->tracers[count++] = group->members[i].tracer;
        tracers_stop(group->tracers, count);
    }
    for (size_t i = 0; group->members && i < group->count; i++) {
        struct member *member = &group->members[i];
        tracer_close(member->tracer);
        probe_map_free(member->shown.map);
        daemon_identity_free(&member->identity);
        free(member->pids);
    }
    free(group->members);
    free(group->tracers);
    free(group->processes);
    free(group);
}

struct event_feed *tracer_group_feed(struct tracer_group *group)
{
    return &group->feed;
}

size_t tracer_group_size(const struct tracer_group *group)
{
    return group->count;
}

const struct tracer_member *tracer_group_member(const struct tracer_group *group, size_t member)
{
    return &group->members[member].shown;
}

struct tracer *tracer_group_tracer(struct tracer_group *group, size_t member)
{
    return group->members[member].tracer;
}

struct tracer_counts tracer_group_counts(struct tracer_group *group, size_t member)
{
    struct tracer_counts sum = group->members[member].before;
    struct tracer_counts now = tracer_counts(group->members[member].tracer);
    add_counts(&sum, &now);
    return sum;
}

int tracer_group_find(const struct tracer_group *group, uint32_t pid)
{
    for (size_t i = 0; i < group->count; i++)
        for (size_t j = group->members[i].pid_count; j-- > 0;)
            if (group->members[i].pids[j] == pid)
                return (int)i;
    return -1;
}

void tracer_group_span(const struct tracer_group *group, size_t member, uint64_t *begin_ns,
                       uint64_t *end_ns)
{
    const struct member *its = &group->members[member];
    *begin_ns = its->begun_ns;
    if (its->tracer->exited && its->tracer->cut_ns)
        *end_ns = its->tracer->cut_ns;
    else
        *end_ns = group->ended_ns ?: monotonic_ns();
}

struct tracer_group_slices tracer_group_slices(const struct tracer_group *group)
{
    struct tracer_group_slices slices = group->slices;
    slices.wall_ns = monotonic_ns() - group->begun_ns;
    return slices;
}
