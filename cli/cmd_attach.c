/* SPDX-License-Identifier: MIT */
#include <babeltrace2/babeltrace.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis.h"
#include "common_options.h"
#include "duty_option.h"
#include "err.h"
#include "interrupt.h"
#include "knob_values.h"
#include "live_group.h"
#include "path.h"
#include "report_output.h"
#include "target_options.h"
#include "top.h"
#include "tracer.h"

static struct report_output output;
static const char *path;
static struct target_options chosen;
static bool each;
static bool follow;
static const char *duty;
static const char *detail;
static double seconds;
static bool allow_slow;
static const char *fold;
static bool live;
static double interval = 1;
static bool interval_given;

static const struct option_row options[] = {
    TARGET_OPTION_ROWS(chosen),
    DURATION_OPTION_ROW(seconds, "trace"),
    REPORT_OUTPUT_ROWS(output),
    SAVE_OPTION_ROW(output),
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
    PATH_OPTION_ROW(path),
    {.name = "detail",
     .type = OPTION_STRING,
     .argument = "LEVEL",
     .value = &detail,
     .text = "of a ceph-osd: basic (queue and service time, three probes an op), standard (every "
             "stage; without the option) or deep (every event of its op tracker too)"},
    {.name = "each",
     .type = OPTION_FLAG,
     .value = &each,
     .text = "of several daemons, also the tables of each"},
    {.name = "follow",
     .type = OPTION_FLAG,
     .value = &follow,
     .text = "when a daemon is restarted, go on with its new process"},
    {.name = "duty",
     .type = OPTION_STRING,
     .argument = "PART",
     .value = &duty,
     .text = "trace for this part of the time only (10%), in slices longer than the slowest ops"},
    {.name = "fold",
     .type = OPTION_STRING,
     .argument = "WHERE",
     .value = &fold,
     .text = "where ops are summed up: kernel or user (without it: in the kernel where it can)"},
    {.name = "allow-slow",
     .type = OPTION_FLAG,
     .value = &allow_slow,
     .text = "also probe where the kernel must single-step: some 20 microseconds a hit"},
    {0},
};

static int check_live(void)
{
    if (interval_given && !live)
        return err_set(EINVAL, "--interval is for --top");
    if (live && output.format && strcmp(output.format, "text") != 0 && !output.file)
        return err_set(EINVAL, "--top writes to standard output meanwhile: say with -o FILE where "
                               "the report shall go");
    return 0;
}

static int read_fold(enum live_fold_choice *choice)
{
    *choice = LIVE_FOLD_AUTO;
    if (!fold)
        return 0;
    if (strcmp(fold, "kernel") == 0)
        *choice = LIVE_FOLD_KERNEL;
    else if (strcmp(fold, "user") == 0)
        *choice = LIVE_FOLD_USER;
    else
        return err_set(EINVAL, "--fold: '%s' is neither kernel nor user", fold);
    return 0;
}

/* What --detail says. At basic detail the stages are of the same few points, whatever the store. */
static int read_detail(struct live_group_options *tracing, char *file, size_t size)
{
    int level = detail ? probe_detail_by_name(detail) : DETAIL_STANDARD;
    if (level < 0)
        return err_prefix(level, "--detail");
    tracing->tracing.each.detail = (enum probe_detail)level;
    if (level != DETAIL_BASIC || path)
        return 0;
    snprintf(file, size, "%s/ceph-basic.yaml", path_default_directory());
    tracing->path = file;
    return 0;
}

static int take_snapshot(void *context, enum analysis_span span, double lasted,
                         struct report **report)
{
    return live_group_snapshot(context, span, lasted, report);
}

/* Reads the events until they end, and makes the report. */
static int analyse(struct live_group *group, struct report **report)
{
    const struct bt_component_class_source *source = event_source_class_create();
    struct read_counts counts = {0};
    if (!source)
        return -ENOMEM; /* the message is set */
    struct top_options showing = {interval, group, take_snapshot};
    struct event_feed *feed = live_group_feed(group);
    struct top *top = NULL;
    int error = live ? top_open(&showing, &top) : 0;
    if (!error)
        error = reader_run_source(source, top ? top_feed(top, feed) : feed,
                                  live_group_consumer(group), NULL, &counts);
    top_close(top);
    bt_component_class_source_put_ref(source);
    return error ? error : live_group_report(group, &counts, report);
}

static int trace(const struct live_group_options *tracing)
{
    struct live_group *group;
    struct report *report = NULL;
    int error = live_group_open(tracing, &group);
    if (error)
        return error;
    error = analyse(group, &report);
    if (!error && output.save)
        error = live_group_save(group, report, output.save);
    if (!error)
        error = knob_values_add(report, tracing->targets, tracing->count);
    if (!error)
        error = report_output_write(&output, report);
    report_free(report);
    live_group_close(group);
    return error;
}

static int run(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    struct target *targets = NULL;
    struct live_group_options tracing = {
        .path = path,
        .each = each,
        .windows = report_output_windows(&output),
        .save = output.save != NULL,
        .tracing = {.each = {.allow_slow = allow_slow, .seconds = seconds}, .follow = follow},
    };
    char basic_path[PATH_MAX];
    int error = report_output_check(&output, path, 0, NULL);
    if (!error)
        error = check_live();
    if (!error)
        error = read_detail(&tracing, basic_path, sizeof(basic_path));
    if (!error)
        error = duty_option_read(duty, 0.9, &tracing.tracing.duty);
    if (!error)
        error = read_fold(&tracing.fold);
    if (!error)
        error = target_options_check(&chosen);
    if (!error && !tracer_supported())
        error =
            tracer_open(NULL, NULL, NULL, &(struct tracer *){NULL}); /* it says what is missing */
    if (!error)
        error = target_options_choose(&chosen, &targets, &tracing.count);
    if (error == -EINVAL)
        return error; /* wrong use; what follows is the data's and the system's */
    tracing.targets = targets;
    tracing.tracing.each.stop = error ? NULL : interrupt_install();
    if (!error)
        error = trace(&tracing);
    free(targets);
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
        "How much of a ceph-osd is probed is a choice (--detail): what an op takes at each level "
        "is "
        "in docs/costs-ceph.md.\n\n"
        "Several daemons are traced at once: the report has a line about each, and tables of all "
        "together. With --follow a daemon that is restarted meanwhile is probed again; without, "
        "the report has what there was.\n\n"
        "With --duty the probes are in for a part of the time only. Each slice lasts twice as "
        "long as the slowest ops, half a second at least, and ops that have begun in it are "
        "followed to their end; so slow "
        "ops are not missing, percentiles are those of all ops, and rates are per traced "
        "second.\n\n"
        "With --save the sums are kept in a profile: `optrail report` merges those of many hosts "
        "into one report.\n\n"
        "Needs root, or CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE.",
    .examples = "optrail attach --osd 0 -d 10\tten seconds of osd.0\n"
                "optrail attach --all -d 10\tof all OSDs of this host, each and together\n"
                "optrail attach --all --duty 10% -d 600\tten minutes, at a tenth of the price\n"
                "optrail attach --osd 0 --top\ta live screen\n"
                "optrail attach -p 4711 --json out.json\tuntil Ctrl-C; the report as JSON too\n"
                "optrail attach --all -d 60 --save host1.profile\tto be merged: optrail report "
                "*.profile",
    .options = options,
    .run = run,
};
