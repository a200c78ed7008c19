/* SPDX-License-Identifier: MIT */
/* The profile of live_group.h: what the daemons are, as a recording tells it of itself, and the
 * analysis of all of them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "live_group_private.h"

/* The counters and notes that live_group_describe() has put into the report. */
static void tell_described(const struct report *report, struct read_told *told)
{
    for (size_t i = 0; i < report->counts.other_count && told->count_count < READ_TOLD_COUNTS;
         i++) {
        const struct report_count *count = &report->counts.others[i];
        snprintf(told->counts[told->count_count].name, sizeof(told->counts[0].name), "%s",
                 count->name);
        told->counts[told->count_count++].value = count->value;
    }
    for (size_t i = 0; i < report->note_count && told->note_count < READ_TOLD_NOTES; i++)
        snprintf(told->notes[told->note_count++], sizeof(told->notes[0]), "%s", report->notes[i]);
}

/* One daemon's facts, added to those of the others. */
static int tell_one(struct live_group *group, size_t index, struct read_counts *counts)
{
    const struct target *target = &tracer_group_member(group->tracers, index)->target;
    struct read_counts one = {.tracer = "bpf", .told = {.recorded = true}};
    struct report *described = NULL;
    int error = report_new(&described);

    if (!error)
        error = live_group_describe(group, index, described);
    if (!error)
        tell_described(described, &one.told);
    report_free(described);
    snprintf(one.told.recording, sizeof(one.told.recording), "%d-%llu", (int)target->pid,
             (unsigned long long)counts->begin_ns);
    snprintf(one.told.daemon, sizeof(one.told.daemon), "%s", target->kind);
    snprintf(one.told.version, sizeof(one.told.version), "%s", target->version);
    snprintf(one.told.store, sizeof(one.told.store), "%s", target->store);
    snprintf(one.told.id, sizeof(one.told.id), "%s", target->id);
    snprintf(one.told.detail, sizeof(one.told.detail), "%s",
             probe_detail_names[group->options.tracing.each.detail]);
    if (!error)
        read_counts_add(counts, &one);
    return error;
}

/* Of all of them together, as the report has it. */
static void tell_cpus(const struct report_cpu *cpu, uint64_t pid, struct read_cpu *told)
{
    *told = (struct read_cpu){0};
    if (!cpu->known)
        return;
    *told = (struct read_cpu){
        .told = true,
        .pid = pid,
        .seconds_ns = (uint64_t)llround(cpu->seconds * 1e9),
        .run_ns = cpu->run_ns,
        .wait_ns = cpu->wait_ns,
        .cpus = cpu->cpus,
        .busy_millionths = (uint64_t)llround(cpu->busy * 1e6),
        .threads = cpu->threads,
        .ended = cpu->ended,
    };
}

int live_group_save(struct live_group *group, const struct report *report, const char *file)
{
    struct read_counts counts = group->read;
    uint32_t pid = (uint32_t)tracer_group_member(group->tracers, 0)->target.pid;
    int error = 0;

    counts.several_pids = group->count > 1;
    counts.pid = counts.several_pids ? 0 : pid;
    for (size_t i = 0; !error && i < group->count; i++)
        error = tell_one(group, i, &counts);
    tell_cpus(&report->cpu, pid, &counts.told.cpu);
    return error ? error : analysis_save(group->all, &counts, NULL, report, file);
}
