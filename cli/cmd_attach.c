/* SPDX-License-Identifier: MIT */
#include <babeltrace2/babeltrace.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analysis.h"
#include "err.h"
#include "interrupt.h"
#include "live_source.h"
#include "report_output.h"
#include "top.h"
#include "tracer.h"

static struct report_output output;
static const char *path;
static int64_t pid;
static const char *osd;
static double seconds;
static bool allow_slow;
static bool live;
static double interval = 1;
static bool interval_given;

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
    {.name = "top",
     .type = OPTION_FLAG,
     .value = &live,
     .text = "a live screen meanwhile; plain lines where standard output is no terminal"},
    {.name = "interval",
     .type = OPTION_SECONDS,
     .argument = "SECONDS",
     .value = &interval,
     .minimum = 0.2,
     .maximum = 3600,
     .given = &interval_given,
     .text = "how often --top shows new figures (without it: 1)"},
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

/* The path file of a Ceph daemon's store: the points alone do not tell the stores apart. For other
 * daemons all installed paths. */
static const char *choose_path(const struct target *target, char *file, size_t size)
{
    if (path || strncmp(target->kind, "ceph-", 5) != 0 || strchr(target->store, '/'))
        return path;
    int length = snprintf(file, size, "%s/ceph-%s.yaml", path_default_directory(), target->store);
    return length < (int)size && access(file, R_OK) == 0 ? file : NULL;
}

static int check_live(void)
{
    if (interval_given && !live)
        return err_set(EINVAL, "--interval is for --top");
    if (live && output.format && strcmp(output.format, "text") != 0 && !output.file)
        return err_set(EINVAL, "--top writes to standard output meanwhile: say with -o FILE where "
                               "the report shall go");
    return 0;
}

/* What a snapshot for the live screen needs. */
struct live_view {
    struct analysis *analysis;
    const struct target *target;
    struct tracer *tracer;
};

static int take_snapshot(void *context, enum analysis_span span, double lasted,
                         struct report **report)
{
    const struct live_view *view = context;
    int error = analysis_snapshot(view->analysis, span, lasted, report);
    return error ? error : live_source_describe(*report, view->target, view->tracer);
}

/* Reads the tracer's events until they end, and makes the report. */
static int analyse(const struct target *target, struct tracer *tracer, struct analysis *analysis,
                   struct report **report)
{
    const struct bt_component_class_source *source = event_source_class_create();
    struct read_counts counts = {0};
    if (!source)
        return -ENOMEM; /* the message is set */
    struct live_view view = {analysis, target, tracer};
    struct top_options showing = {interval, &view, take_snapshot};
    struct event_feed *feed = tracer_feed(tracer);
    struct top *top = NULL;
    int error = live ? top_open(&showing, &top) : 0;
    if (!error)
        error = reader_run_source(source, top ? top_feed(top, feed) : feed,
                                  analysis_consumer(analysis), NULL, &counts);
    top_close(top);
    bt_component_class_source_put_ref(source);
    if (error)
        return error;
    error = analysis_report(analysis, &counts, NULL, report);
    return error ? error : live_source_describe(*report, target, tracer);
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
    live_source_announce(target, tracer, exact, map ? map->version : "");
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
        error = check_live();
    if (!error)
        error = choose_target(&target);
    if (error == -EINVAL)
        return error; /* wrong use; what follows is the data's and the system's */
    if (!error)
        error = live_source_map(&target, &map, &exact);
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
                "optrail attach --osd 0 --top\ta live screen\n"
                "optrail attach -p 4711 --json out.json\tuntil Ctrl-C; the report as JSON too",
    .options = options,
    .run = run,
};
