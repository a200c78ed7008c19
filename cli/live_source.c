/* SPDX-License-Identifier: MIT */
#include "live_source.h"

#include <stdio.h>
#include <string.h>

#include "escape.h"
#include "target_options.h"

int live_source_map(const struct target *target, struct probe_map **map, bool *exact)
{
    *map = NULL;
    *exact = true;
    if (target->usdt_probes)
        return 0;
    return probe_map_choose(probe_map_directory(), target->program, target->kind, target->version,
                            map, exact);
}

/* Whether the point is told by another site as well: of other ops, say. */
static bool is_told_elsewhere(const struct tracer_site *sites, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (sites[i].attached && strcmp(sites[i].name, name) == 0)
            return true;
    return false;
}

/* The sites that are left out: "osd.reply (reason)", with the function where the point is still
 * told by others. Returns how many there are. */
static size_t left_out(const struct tracer_site *sites, size_t count, char *text, size_t size)
{
    size_t missing = 0, used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        if (sites[i].attached || sites[i].replaced)
            continue;
        const char *function =
            is_told_elsewhere(sites, count, sites[i].name) ? sites[i].function : NULL;
        if (used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s%s%.*s (%s)",
                                     missing ? ", " : "", sites[i].name, function ? " at " : "",
                                     function ? (int)strcspn(function, "(") : 0,
                                     function ? function : "", sites[i].reason);
        missing++;
    }
    return missing;
}

void live_source_announce(const struct target *target, struct tracer *tracer, bool exact,
                          const struct probe_map *map)
{
    char name[256], missing[512], shown[512];
    size_t places = 0;
    size_t count;
    const struct tracer_site *sites = tracer_sites(tracer, &count);
    target_full_name(target, name, sizeof(name));
    size_t out = left_out(sites, count, missing, sizeof(missing));
    for (size_t i = 0; i < count; i++)
        places += sites[i].attached && !sites[i].shares_hit;
    fprintf(stderr, "optrail: %s: %zu probes by %s", name, places, tracer_method(tracer));
    if (map && !exact)
        fprintf(stderr, ", with the map of %s", map->version);
    if (map && !map->verified)
        fprintf(stderr, ", which was never tried on a program of that version");
    if (out) {
        /* names of the traced program's own points: nothing that a terminal would act upon */
        escape_for_terminal(missing, shown, sizeof(shown));
        fprintf(stderr, "; left out: %s", shown);
    }
    fputc('\n', stderr);
}

static int add_losses(struct report *report, const struct tracer_counts *counts)
{
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {
        {"moved_events", counts->late},
        {"unknown_texts", counts->unknown_text},
        {"unreadable_arguments", counts->faults},
        {"unset_stamps", counts->unset_stamps},
        {"probe_hits", counts->hits},
    };
    int error = 0;
    for (size_t i = 0; !error && i < sizeof(rows) / sizeof(rows[0]); i++)
        error = report_add_other(report, rows[i].name, rows[i].value);
    return error;
}

int live_source_describe_with(struct report *report, const struct target *target,
                              struct tracer *tracer, const struct tracer_counts *counts)
{
    char missing[512];
    size_t count;
    const struct tracer_site *sites = tracer_sites(tracer, &count);
    report->source.pid = target->pid;
    int error = report_set_string(&report->source.kind, "bpf");
    if (!error)
        error = report_set_string(&report->source.daemon, target->kind);
    if (!error)
        error = report_set_string(&report->source.id, target->id);
    if (!error)
        error = report_set_string(&report->source.version, target->version);
    if (!error && target->store[0])
        error = report_set_string(&report->source.store, target->store);
    if (!error)
        error = add_losses(report, counts);
    if (!error && left_out(sites, count, missing, sizeof(missing)))
        error = report_add_note(report, "Not probed: %s.", missing);
    if (!error && tracer_target_exited(tracer))
        error = report_add_note(report, "The daemon ended while it was traced: this is what there "
                                        "was until then.");
    return error;
}

int live_source_describe(struct report *report, const struct target *target, struct tracer *tracer)
{
    struct tracer_counts counts = tracer_counts(tracer);

    return live_source_describe_with(report, target, tracer, &counts);
}
