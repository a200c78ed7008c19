/* SPDX-License-Identifier: MIT */
#include <babeltrace2/babeltrace.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analysis.h"
#include "err.h"
#include "interrupt.h"
#include "report_output.h"
#include "tracer.h"

static struct report_output output;
static const char *path;
static int64_t pid;
static const char *osd;
static double seconds;
static bool allow_slow;

static const struct option_row options[] = {
    {.name = "pid",
     .letter = 'p',
     .type = OPTION_NUMBER,
     .argument = "PID",
     .value = &pid,
     .minimum = 1,
     .maximum = INT_MAX,
     .text = "the daemon with this process number"},
    {.name = "osd",
     .type = OPTION_STRING,
     .argument = "ID",
     .value = &osd,
     .text = "the ceph-osd with this id"},
    {.name = "duration",
     .letter = 'd',
     .type = OPTION_SECONDS,
     .argument = "SECONDS",
     .value = &seconds,
     .minimum = 0.1,
     .maximum = 86400,
     .text = "trace for so long (without it: until Ctrl-C)"},
    REPORT_OUTPUT_ROWS(output),
    {.name = "path",
     .type = OPTION_STRING,
     .argument = "FILE",
     .value = &path,
     .text = "take the stages from this path file, or from the files of this directory, in place "
             "of the installed ones"},
    {.name = "allow-slow",
     .type = OPTION_FLAG,
     .value = &allow_slow,
     .text = "also probe where the kernel must single-step: some 20 microseconds a hit"},
    {0},
};

static int choose_target(struct target *target)
{
    if ((pid != 0) + (osd != NULL) != 1)
        return err_set(EINVAL, "say which daemon: -p PID or --osd ID (optrail list shows them)");
    struct tracer *none;
    if (!tracer_supported())
        return tracer_open(target, NULL, NULL, &none); /* it says what is missing */
    int error = osd ? target_find_osd(osd, target) : target_inspect((pid_t)pid, target);
    if (error)
        return error;
    if (target->obstacle[0])
        return err_set(EPERM, "pid %d cannot be traced: %s", target->pid, target->obstacle);
    if (!target->kind[0])
        return err_set(ENOENT,
                       "pid %d is no storage daemon that optrail knows, nor does it carry "
                       "optrail's probes: optrail list shows those that do",
                       target->pid);
    return 0;
}

/* The map for a daemon without probes of its own; NULL for one with. */
static int choose_map(const struct target *target, struct probe_map **map, bool *exact)
{
    *map = NULL;
    *exact = true;
    if (target->usdt_probes)
        return 0;
    return probe_map_find(probe_map_directory(), target->kind, target->version, map, exact);
}

/* The path file of a Ceph daemon's store: the points alone do not tell the stores apart. For other
 * daemons all installed paths. */
static const char *choose_path(const struct target *target, char *file, size_t size)
{
    if (path || strncmp(target->kind, "ceph-", 5) != 0 || strchr(target->store, '/'))
        return path;
    int length = snprintf(file, size, "%s/ceph-%s.yaml", path_default_directory(), target->store);
    return length < (int)size && access(file, R_OK) == 0 ? file : NULL;
}

static void target_name(const struct target *target, char *name, size_t size)
{
    if (strcmp(target->kind, "ceph-osd") == 0)
        snprintf(name, size, "osd.%s (%s %s%s%s, pid %d)", target->id, target->kind,
                 target->version, target->store[0] ? ", " : "", target->store, target->pid);
    else
        snprintf(name, size, "%s (pid %d)", target->kind, target->pid);
}

/* The sites that are left out: " osd.reply (reason)". Returns how many there are. */
static size_t left_out(const struct tracer_site *sites, size_t count, char *text, size_t size)
{
    size_t missing = 0, used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        if (sites[i].attached)
            continue;
        if (used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s (%s)", missing ? ", " : "",
                                     sites[i].name, sites[i].reason);
        missing++;
    }
    return missing;
}

static void announce(const struct target *target, struct tracer *tracer, bool exact,
                     const char *map_version)
{
    char name[256], missing[512];
    size_t count;
    const struct tracer_site *sites = tracer_sites(tracer, &count);
    target_name(target, name, sizeof(name));
    size_t out = left_out(sites, count, missing, sizeof(missing));
    fprintf(stderr, "optrail: %s: %zu probes by %s", name, count - out, tracer_method(tracer));
    if (!exact)
        fprintf(stderr, ", with the map of %s", map_version);
    if (out)
        fprintf(stderr, "; left out: %s", missing);
    fputc('\n', stderr);
}

static int add_losses(struct report *report, struct tracer *tracer)
{
    struct tracer_counts counts = tracer_counts(tracer);
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {
        {"moved_events", counts.late},
        {"unknown_texts", counts.unknown_text},
        {"unreadable_arguments", counts.faults},
        {"unset_stamps", counts.unset_stamps},
    };
    int error = 0;
    for (size_t i = 0; !error && i < sizeof(rows) / sizeof(rows[0]); i++)
        error = report_add_other(report, rows[i].name, rows[i].value);
    return error;
}

/* What the report says of its source beyond the events. */
static int describe(struct report *report, const struct target *target, struct tracer *tracer)
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
        error = add_losses(report, tracer);
    if (!error && left_out(sites, count, missing, sizeof(missing)))
        error = report_add_note(report, "Not probed: %s.", missing);
    if (!error && tracer_target_exited(tracer))
        error = report_add_note(report, "The daemon ended while it was traced: this is what there "
                                        "was until then.");
    return error;
}

/* Reads the tracer's events until they end, and makes the report. */
static int analyse(const struct target *target, struct tracer *tracer, struct analysis *analysis,
                   struct report **report)
{
    const struct bt_component_class_source *source = event_source_class_create();
    struct read_counts counts = {0};
    if (!source)
        return -ENOMEM; /* the message is set */
    int error =
        reader_run_source(source, tracer_feed(tracer), analysis_consumer(analysis), NULL, &counts);
    bt_component_class_source_put_ref(source);
    if (error)
        return error;
    error = analysis_report(analysis, &counts, NULL, report);
    return error ? error : describe(*report, target, tracer);
}

static int trace(const struct target *target, const struct probe_map *map, bool exact,
                 struct analysis *analysis)
{
    struct tracer *tracer = NULL;
    struct report *report = NULL;
    struct tracer_options tracing = {
        .allow_slow = allow_slow, .seconds = seconds, .stop = interrupt_install()};
    int error = tracer_open(target, map, &tracing, &tracer);
    if (error)
        return error;
    announce(target, tracer, exact, map ? map->version : "");
    error = analyse(target, tracer, analysis, &report);
    if (!error && tracer_target_exited(tracer))
        fprintf(stderr, "optrail: pid %d has ended: the report has what there was\n", target->pid);
    if (!error)
        error = report_output_write(&output, report);
    report_free(report);
    tracer_close(tracer);
    return error;
}

static int run(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    struct target target = {0};
    struct probe_map *map = NULL;
    struct analysis *analysis = NULL;
    bool exact = true;
    char path_file[PATH_MAX];
    int error = report_output_check(&output);
    if (!error)
        error = choose_target(&target);
    if (error == -EINVAL)
        return error; /* wrong use; what follows is the data's and the system's */
    if (!error)
        error = choose_map(&target, &map, &exact);
    if (!error) {
        struct analysis_options analysing = {
            .path = choose_path(&target, path_file, sizeof(path_file))};
        error = analysis_new(&analysing, &analysis);
    }
    if (!error)
        error = trace(&target, map, exact, analysis);
    analysis_free(analysis);
    probe_map_free(map);
    return error == -EINVAL ? -EBADMSG : error;
}

extern const struct command command_attach;
const struct command command_attach = {
    .name = "attach",
    .arguments = "",
    .summary = "probe a running daemon and report where its operations spend their time",
    .text =
        "Attaches eBPF programs to a running storage daemon, follows its operations for a while, "
        "and prints their stage breakdown. The daemon is neither restarted nor changed: a "
        "ceph-osd is probed at functions that a probe map knows (one per version), a daemon that "
        "is built with optrail's probes at those.\n\n"
        "Probes go only where the kernel emulates the instruction, some 0.7 microseconds a hit; a "
        "point that has no such place is left out, and named. No return probes are used: they "
        "would end a C++ program that throws through them. However optrail ends, the kernel "
        "removes the probes.\n\n"
        "Needs root, or CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE.",
    .examples = "optrail attach --osd 0 -d 10\tten seconds of osd.0\n"
                "optrail attach -p 4711 --json out.json\tuntil Ctrl-C; the report as JSON too",
    .options = options,
    .run = run,
};
