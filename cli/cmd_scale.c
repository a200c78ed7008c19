/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common_options.h"
#include "err.h"
#include "inputs.h"
#include "output_width.h"
#include "profile_rows.h"
#include "report_traces.h"
#include "scale_judge.h"
#include "scale_render.h"
#include "scale_runs.h"
#include "scale_table.h"

static const char *format, *path;

static const struct option_row options[] = {
    {.name = "format",
     .type = OPTION_STRING,
     .argument = "NAME",
     .value = &format,
     .text = "the form of the answer: text or json (without it: text)"},
    PATH_OPTION_ROW(path),
    {0},
};

/* DEPTH:FILE, or a file's name alone. */
struct argument {
    double depth; /* 0: not told */
    char *file;   /* weak: into argv */
};

static int parse(char *text, struct argument *argument)
{
    char *end;
    double depth = strtod(text, &end);

    *argument = (struct argument){0, text};
    /* a file may have a colon in its name */
    if (access(text, F_OK) == 0 || end == text || *end != ':' || !end[1])
        return 0;
    if (!(depth > 0 && depth <= 1e9))
        return err_set(EINVAL, "%s: a depth of %.*s: it must be above 0, and at most 1e9", text,
                       (int)(end - text), text);
    *argument = (struct argument){depth, end + 1};
    return 0;
}

/* A trace or a saved profile is analysed as `optrail report` does it, and its report read. */
static int take_run(struct scale_runs *runs, char *name, double depth)
{
    char file[] = "/tmp/optrail-scale.XXXXXX";
    const struct report_output output = {.file = "/dev/null", .json = file};
    int descriptor = mkstemp(file);
    if (descriptor < 0)
        return err_set(errno, "/tmp: no file can be made there: %s", strerror(errno));
    close(descriptor);
    int result = report_traces(1, &name, path, &output);
    if (result == 0)
        result = scale_runs_read(runs, file, name, depth);
    unlink(file);
    return result;
}

/* JSON begins with a brace, and no table does. */
static bool is_report(FILE *in)
{
    int first = fgetc(in);
    rewind(in);
    return first == '{';
}

static int take_argument(const struct argument *argument, struct scale_runs *runs,
                         struct scaling *scaling)
{
    char *file = argument->file;
    struct stat status;
    if (strcmp(file, "-") == 0)
        return argument->depth > 0
                   ? err_set(EBADMSG, "a depth stands before -: standard input is read as a table")
                   : scale_table_read(stdin, "standard input", scaling);
    if (stat(file, &status) < 0)
        return err_set(errno, "%s: %s", file, strerror(errno));
    if (S_ISDIR(status.st_mode) || profile_is_one(file))
        return take_run(runs, file, argument->depth);
    FILE *in = fopen(file, "re");
    if (!in)
        return err_set(errno, "%s: %s", file, strerror(errno));
    int result =
        is_report(in) ? scale_runs_read(runs, file, file, argument->depth)
        : argument->depth > 0
            ? err_set(EBADMSG,
                      "%s: a depth stands before it, but it is no run: no report, profile or trace",
                      file)
            : scale_table_read(in, file, scaling);
    fclose(in);
    return result;
}

static int write_answer(const struct scaling *scaling)
{
    if (format && strcmp(format, "json") == 0)
        return render_scale_json(scaling, stdout);
    return render_scale_text(scaling, output_width(), stdout);
}

static int answer(int count, const struct argument *arguments)
{
    struct scale_runs *runs = NULL;
    struct scaling *scaling = NULL;
    int result = scale_runs_new(&runs);
    if (result == 0)
        result = scaling_new(&scaling);
    for (int i = 0; result == 0 && i < count; i++)
        result = take_argument(&arguments[i], runs, scaling);
    if (result == 0)
        result = scale_runs_add(runs, scaling);
    for (size_t i = 0; result == 0 && i < scaling->series_count; i++)
        result = scale_judge(&scaling->series[i]);
    if (result == 0)
        result = scale_judge_together(scaling);
    if (result == 0)
        result = write_answer(scaling);
    scaling_free(scaling);
    scale_runs_free(runs);
    /* the arguments were understood: it is the data */
    return result == -EINVAL ? -EBADMSG : result;
}

static int run(int argc, char **argv)
{
    if (format && strcmp(format, "text") != 0 && strcmp(format, "json") != 0)
        return err_set(EINVAL, "no form is called '%.32s': text or json", format);
    struct argument *arguments = calloc((size_t)argc, sizeof(*arguments));
    char **files = calloc((size_t)argc, sizeof(*files));
    int result = arguments && files ? 0 : err_no_memory();
    for (int i = 0; result == 0 && i < argc; i++) {
        result = parse(argv[i], &arguments[i]);
        files[i] = arguments[i].file;
    }
    if (result == 0)
        result = inputs_differ(argc, files);
    if (result == 0)
        result = answer(argc, arguments);
    free(files);
    free(arguments);
    return result;
}

const struct command command_scale = {
    .name = "scale",
    .arguments = "TABLE|[DEPTH:]RUN...",
    .summary = "throughput against depth: the scaling law and its ceiling",
    .text =
        "Reads how throughput goes with depth (or threads, or clients) and says where it stops, at "
        "what, and why. A TABLE is a text or CSV file (-: standard input) with a row for each "
        "measurement: depth, operations a second, and perhaps the mean latency, in ms or as its "
        "column title says. A RUN is a trace, a saved profile or a report as JSON, of one load at "
        "one depth; without DEPTH the operations in flight are counted. Runs also tell which lock, "
        "queue or "
        "stage is the serial part.\n\n"
        "The answer has the ceiling and the serial stage behind it, the universal scalability law "
        "(Gunther) fitted with 95 % intervals, and whether the figures obey Little's law.",
    .examples = "optrail scale sweep.txt\tthe law behind a table\n"
                "optrail scale 1:one.json 8:eight.json 64:sixty-four.json\tof reports of runs at "
                "three depths, and what is serial in them",
    .options = options,
    .minimum_arguments = 1,
    .maximum_arguments = -1,
    .run = run,
};
