/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analysis.h"
#include "common_options.h"
#include "err.h"
#include "inputs.h"
#include "interrupt.h"
#include "recorded_path.h"
#include "report_output.h"
#include "report_traces.h"
#include "run_data.h"
#include "supervise.h"

static struct report_output output;
static const char *path;

static const struct option_row options[] = {
    REPORT_OUTPUT_ROWS(output),
    SAVE_OPTION_ROW(output),
    PATH_OPTION_ROW(path),
    {.name = "tails",
     .type = OPTION_FLAG,
     .value = &output.tails,
     .text = "tell more of slow operations: which stages make them slow, what they have in common, "
             "the slowest ones step by step"},
    {0},
};

static void show_progress(void *terminal, uint64_t events)
{
    fprintf(terminal, "\r%.1f million events ", (double)events / 1e6);
    fflush(terminal);
}

/* A trace without anything of ours is most likely recorded wrongly: say how it is done right. */
static int nothing_found(const struct read_counts *counts, char **traces)
{
    if (counts->unknown + counts->malformed > 0)
        return err_set(ENODATA,
                       "%s: none of its events can be used: %" PRIu64 " are of points that this "
                       "optrail does not know, %" PRIu64
                       " lack the fields they must have: was it recorded by another version?",
                       traces[0], counts->unknown, counts->malformed);
    if (counts->ceph.events > 0)
        return err_set(
            ENODATA,
            "%s: of its %" PRIu64 " events of Ceph's own tracepoints no op can be made: "
            "enable 'osd:*' and 'oprequest:*', for clients 'librbd:*', with the contexts "
            "vpid and vtid",
            traces[0], counts->ceph.events);
    if (counts->foreign > 0)
        return err_set(ENODATA,
                       "%s: none of its %" PRIu64 " events is optrail's: record with `lttng "
                       "enable-event --userspace 'optrail:*'` a daemon that is built with probes",
                       traces[0], counts->foreign);
    return err_set(ENODATA,
                   "%s: holds no events: was the daemon running, with probes, and the session "
                   "started and stopped?",
                   traces[0]);
}

/* Saves the profile, unless none is wanted. */
static int save(struct analysis *analysis, const struct run_data *data, const struct report *report,
                const struct report_output *to)
{
    return to->save ? analysis_save(analysis, &data->counts, *data->damage ? data->damage : NULL,
                                    report, to->save)
                    : 0;
}

/* Reads and analyses the runs. *report is made also when a part of the data is damaged, which the
 * negative result and its message tell. */
static int analyse(char **runs, int count, struct analysis *analysis,
                   struct supervision *supervision, const struct report_output *to,
                   struct report **report)
{
    const volatile int *stop = interrupt_install();
    struct run_data data = {.counts = {.tracer = ""}};

    int read = run_data_read(runs, count, analysis, supervision, stop, &data);
    supervision->past_the_data = 1;
    if (supervision->terminal) {
        fputs("\r                              \r", supervision->terminal);
        fflush(supervision->terminal);
    }
    if (read < 0 && (data.counts.damaged == 0 || data.counts.events == 0))
        return read;
    if (data.counts.events == 0 && !*stop)
        return nothing_found(&data.counts, runs);
    int result = analysis_report(analysis, &data.counts, *data.damage ? data.damage : NULL, report);
    if (result == 0)
        result = save(analysis, &data, *report, to);
    if (result < 0)
        return result;
    return read < 0 ? err_set(-read, "%s", data.damage) : 0;
}

struct arguments {
    int count;
    char **traces;                      /* weak: and profiles */
    const char *path;                   /* weak */
    const struct report_output *output; /* weak */
};

static int work(void *context, struct supervision *supervision)
{
    const struct arguments *arguments = context;
    struct analysis_options analysis_options = {
        .path = arguments->path,
        .windows = report_output_windows(arguments->output),
        .progress = supervision->terminal ? show_progress : NULL,
        .progress_context = supervision->terminal,
    };
    struct analysis *analysis = NULL;
    struct report *report = NULL;
    char damage[1024], path_file[PATH_MAX];

    if (!arguments->path)
        analysis_options.path = recorded_path(arguments->traces, arguments->count, supervision,
                                              path_file, sizeof(path_file));
    int result = analysis_new(&analysis_options, &analysis);
    if (result == 0)
        result = analyse(arguments->traces, arguments->count, analysis, supervision,
                         arguments->output, &report);
    if (report) {
        snprintf(damage, sizeof(damage), "%s", err_message());
        int written = report_output_write(arguments->output, report);
        if (written < 0)
            result = written;
        else if (result < 0)
            err_set(-result, "%s", damage);
    }
    report_free(report);
    analysis_free(analysis);
    return result;
}

int report_traces(int count, char **traces, const char *path_file,
                  const struct report_output *report_output)
{
    struct arguments arguments = {count, traces, path_file, report_output};
    const struct supervisor_options supervisor_options = {
        .data_name = count == 1 ? traces[0] : "one of the traces"};
    int result = supervise(work, &arguments, &supervisor_options);
    /* wrong use was ruled out before: from here on it is the data */
    return result == -EINVAL ? -EBADMSG : result;
}

static int run(int argc, char **argv)
{
    int result = report_output_check(&output, path, argc, argv);
    if (result == 0)
        result = inputs_count_once(argc, argv);
    return result < 0 ? result : report_traces(argc, argv, path, &output);
}

const struct command command_report = {
    .name = "report",
    .arguments = "TRACE|PROFILE...",
    .summary = "stage breakdown of recorded traces and saved profiles",
    .text =
        "Reads CTF traces (LTTng, or recorded by optrail) below each directory TRACE, joins their "
        "events to operations, and reports how the time of the operations of each type is shared "
        "out among their stages. Several traces are merged by time.\n\n"
        "A PROFILE is a file that --save has written: all that a report needs, without the events. "
        "Profiles of many daemons and hosts, and traces among them, become one report: the same "
        "that their traces would have given.\n\n"
        "What was lost or could not be joined is counted at the end. A trace that is damaged is "
        "read as far as it goes; the report then has what there was, and the exit status is 1. "
        "Interrupted (Ctrl-C), it reports what it has read so far.",
    .examples = "optrail report ~/lttng-traces/my-session\tprint where the time goes\n"
                "optrail report --json report.json trace1 trace2\ttwo traces in one report, kept "
                "as JSON too\n"
                "optrail report --save osd0.profile osd0-trace\tkeep what a report needs\n"
                "optrail report *.profile\tone report of many daemons",
    .options = options,
    .minimum_arguments = 1,
    .maximum_arguments = -1,
    .run = run,
};
