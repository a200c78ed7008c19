/* SPDX-License-Identifier: MIT */
#include "trace_facts.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *text_of(const bt_trace *trace, const char *name)
{
    const bt_value *value = bt_trace_borrow_environment_entry_value_by_name_const(trace, name);

    return value && bt_value_get_type(value) == BT_VALUE_TYPE_STRING ? bt_value_string_get(value)
                                                                     : "";
}

/* The first trace's, or `otherwise` when this one's is another. */
static void agree(char *field, size_t size, const char *text, bool first, const char *otherwise)
{
    if (first)
        snprintf(field, size, "%s", text);
    else if (strcmp(field, text) != 0)
        snprintf(field, size, "%s", otherwise);
}

static void add_count(struct read_told *told, const char *name, uint64_t value, bool same)
{
    for (size_t i = 0; i < told->count_count; i++) {
        uint64_t *sum = &told->counts[i].value;
        if (strcmp(told->counts[i].name, name) != 0)
            continue;
        if (!same)
            *sum += value;
        else if (value > *sum)
            *sum = value;
        return;
    }
    if (told->count_count == READ_TOLD_COUNTS)
        return; /* more names than optrail has */
    snprintf(told->counts[told->count_count].name, sizeof(told->counts[0].name), "%s", name);
    told->counts[told->count_count++].value = value;
}

static void add_note(struct read_told *told, const char *text)
{
    for (size_t i = 0; i < told->note_count; i++)
        if (strncmp(told->notes[i], text, sizeof(told->notes[i]) - 1) == 0)
            return;
    if (told->note_count < READ_TOLD_NOTES)
        snprintf(told->notes[told->note_count++], sizeof(told->notes[0]), "%s", text);
    else
        snprintf(told->notes[READ_TOLD_NOTES - 1], sizeof(told->notes[0]),
                 "There are more notes than fit here: `babeltrace2 -c sink.text.details TRACE` "
                 "shows all.");
}

/* "0,1" */
static void add_id(struct read_told *told, const char *id, size_t length)
{
    size_t used = strlen(told->id);

    for (const char *at = told->id; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == length && strncmp(at, id, length) == 0)
            return;
    snprintf(told->id + used, sizeof(told->id) - used, "%s%.*s", used ? "," : "", (int)length, id);
}

static uint64_t number_of(const bt_trace *trace, const char *name)
{
    const bt_value *value = bt_trace_borrow_environment_entry_value_by_name_const(trace, name);
    int64_t number = value && bt_value_get_type(value) == BT_VALUE_TYPE_SIGNED_INTEGER
                         ? bt_value_integer_signed_get(value)
                         : 0;

    return number > 0 ? (uint64_t)number : 0;
}

/* Of several snapshots of one recording the longest has the others' time in it. */
static void add_cpu(struct read_cpu *cpu, const struct read_cpu *added, bool first, bool same)
{
    bool one = same && !cpu->several && !added->several && cpu->pid == added->pid;

    if (first || (one && added->seconds_ns > cpu->seconds_ns))
        *cpu = *added;
    else if (!one)
        cpu->several = true;
}

static void read_cpu(const bt_trace *trace, struct read_told *told, bool first, bool same)
{
    const struct read_cpu cpu = {
        .told = number_of(trace, "cpu_run_ns") > 0 && number_of(trace, "cpu_seconds_ns") > 0,
        .pid = number_of(trace, "daemon_pid"),
        .seconds_ns = number_of(trace, "cpu_seconds_ns"),
        .run_ns = number_of(trace, "cpu_run_ns"),
        .wait_ns = number_of(trace, "cpu_wait_ns"),
        .cpus = number_of(trace, "cpu_count"),
        .busy_millionths = number_of(trace, "cpu_busy_millionths"),
        .threads = number_of(trace, "cpu_threads"),
        .ended = number_of(trace, "cpu_threads_ended"),
    };

    add_cpu(&told->cpu, &cpu, first, same);
}

void trace_facts_read(const bt_trace *trace, struct read_told *told)
{
    const bt_value *complete =
        bt_trace_borrow_environment_entry_value_by_name_const(trace, "complete");
    uint64_t count = bt_trace_get_environment_entry_count(trace);
    bool first = !told->recorded;
    const char *id = text_of(trace, "daemon_id");
    bool same;

    /* without it, it is none of `optrail record`: of another version, or a test's */
    if (strcmp(text_of(trace, "tracer_name"), "optrail") != 0 || !*text_of(trace, "daemon"))
        return;
    told->recorded = true;
    agree(told->daemon, sizeof(told->daemon), text_of(trace, "daemon"), first, "several");
    agree(told->version, sizeof(told->version), text_of(trace, "daemon_version"), first, "several");
    agree(told->store, sizeof(told->store), text_of(trace, "store"), first, "several");
    agree(told->detail, sizeof(told->detail), text_of(trace, "detail"), first, "several");
    if (*id)
        add_id(told, id, strlen(id));
    same = !first && strcmp(told->recording, text_of(trace, "recording")) == 0;
    snprintf(told->recording, sizeof(told->recording), "%s", text_of(trace, "recording"));
    told->unfinished += complete == NULL;
    read_cpu(trace, told, first, same);
    for (uint64_t i = 0; i < count; i++) {
        const char *name;
        const bt_value *value;
        bt_trace_borrow_environment_entry_by_index_const(trace, i, &name, &value);
        if (strncmp(name, "count_", 6) == 0 &&
            bt_value_get_type(value) == BT_VALUE_TYPE_SIGNED_INTEGER)
            add_count(told, name + 6, (uint64_t)bt_value_integer_signed_get(value), same);
        if (strncmp(name, "note_", 5) == 0 && bt_value_get_type(value) == BT_VALUE_TYPE_STRING)
            add_note(told, bt_value_string_get(value));
    }
}

static void add_told(struct read_told *to, const struct read_told *from)
{
    bool first = !to->recorded;
    bool same = !first && strcmp(to->recording, from->recording) == 0;

    if (!from->recorded)
        return;
    to->recorded = true;
    agree(to->daemon, sizeof(to->daemon), from->daemon, first, "several");
    agree(to->version, sizeof(to->version), from->version, first, "several");
    agree(to->store, sizeof(to->store), from->store, first, "several");
    agree(to->detail, sizeof(to->detail), from->detail, first, "several");
    for (const char *id = from->id; *id; id += strcspn(id, ","), id += *id == ',')
        add_id(to, id, strcspn(id, ","));
    snprintf(to->recording, sizeof(to->recording), "%s", from->recording);
    to->unfinished += from->unfinished;
    add_cpu(&to->cpu, &from->cpu, first, same);
    for (size_t i = 0; i < from->count_count; i++)
        add_count(to, from->counts[i].name, from->counts[i].value, same);
    for (size_t i = 0; i < from->note_count; i++)
        add_note(to, from->notes[i]);
}

static void add_ceph(struct read_ceph *to, const struct read_ceph *from)
{
    to->events += from->events;
    to->not_needed += from->not_needed;
    to->unmapped += from->unmapped;
    to->without_request += from->without_request;
    to->without_thread += from->without_thread;
    to->forgotten += from->forgotten;
    to->seen |= from->seen;
    to->without_process = to->without_process || from->without_process;
    to->beside_ours = to->beside_ours || from->beside_ours;
}

static void add_frames(struct read_frames *to, const struct read_frames *from)
{
    to->told += from->told;
    to->named += from->named;
    to->missing += from->missing;
    to->other_build += from->other_build;
    to->ambiguous += from->ambiguous;
    if (!to->example[0])
        memcpy(to->example, from->example, sizeof(to->example));
}

void read_counts_add(struct read_counts *to, const struct read_counts *from)
{
    add_ceph(&to->ceph, &from->ceph);
    add_frames(&to->frames, &from->frames);
    to->foreign += from->foreign;
    to->unknown += from->unknown;
    to->malformed += from->malformed;
    to->lost += from->lost;
    to->lost_packets += from->lost_packets;
    to->damaged += from->damaged;
    if (from->late > 0 && (to->late == 0 || from->late_after_ns < to->late_after_ns))
        to->late_after_ns = from->late_after_ns;
    to->late += from->late;
    if (from->jumps > 0 && (to->jumps == 0 || from->jump_after_ns < to->jump_after_ns))
        to->jump_after_ns = from->jump_after_ns;
    to->jumps += from->jumps;
    to->jumped_ns += from->jumped_ns;
    if (from->events > 0) {
        if (to->events == 0 || from->begin_ns < to->begin_ns)
            to->begin_ns = from->begin_ns;
        if (to->events == 0 || from->end_ns > to->end_ns)
            to->end_ns = from->end_ns;
        if (to->events == 0)
            to->pid = from->pid;
        to->several_pids = to->several_pids || from->several_pids || to->pid != from->pid;
        if (to->several_pids)
            to->pid = 0;
    }
    to->events += from->events;
    if (!to->tracer || !*to->tracer)
        to->tracer = from->tracer;
    else if (*from->tracer && strcmp(to->tracer, from->tracer) != 0)
        to->tracer = "mixed";
    add_told(&to->told, &from->told);
}
