/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "err.h"
#include "import.h"
#include "inputs.h"
#include "report_output.h"
#include "verbs.h"

/* A pasted text is small; a dump of a whole cluster has a few MB. */
#define LARGEST ((size_t)256 << 20)

static const char *from;
static struct report_output output;

static const struct option_row options[] = {
    {.name = "from",
     .type = OPTION_STRING,
     .argument = "TOOL",
     .value = &from,
     .text = "read the files as this tool's output alone: auto (whatever is found), optracker, "
             "rados-bench, rbd-bench, fio, slow-requests, perf-dump, osd-perf, osdtrace, "
             "radostrace, perf or stated (without it: auto)"},
    REPORT_OUTPUT_ROWS(output),
    {0},
};

/* The whole stream; *bytes is the caller's. */
static int read_all(FILE *in, const char *name, char **bytes, size_t *size)
{
    size_t room = 0;

    *bytes = NULL;
    *size = 0;
    do {
        if (*size == room) {
            room = room ? 2 * room : 65536;
            char *grown = room <= 2 * LARGEST ? realloc(*bytes, room) : NULL;
            if (!grown)
                return room > LARGEST ? err_set(EFBIG,
                                                "%s: is larger than %zu MiB: cut it into "
                                                "pieces",
                                                name, LARGEST >> 20)
                                      : err_no_memory();
            *bytes = grown;
        }
        *size += fread(*bytes + *size, 1, room - *size, in);
        if (ferror(in))
            return err_set(EIO, "%s: cannot be read", name);
    } while (!feof(in));
    return 0;
}

static const char *last_part(const char *file)
{
    const char *slash = strrchr(file, '/');

    return slash && slash[1] ? slash + 1 : file;
}

/* What a report calls the file at `index`: a path would fill the line. Devices, and files whose
 * last parts are equal, keep theirs. */
static const char *short_name(int index, int count, char *const *files)
{
    const char *name = last_part(files[index]);
    struct stat status;

    if (stat(files[index], &status) == 0 && !S_ISREG(status.st_mode))
        return files[index];
    for (int i = 0; i < count; i++)
        if (i != index && strcmp(last_part(files[i]), name) == 0)
            return files[index];
    return name;
}

/* `name` is what it is called in the report. */
static int take(struct import *import, const struct import_format *format, const char *file,
                const char *name)
{
    struct stat status;
    char *bytes = NULL;
    size_t size = 0;
    int standard = strcmp(file, "-") == 0;
    FILE *in = standard ? stdin : fopen(file, "re");

    if (!in)
        return err_set(errno, "%s: %s", file, strerror(errno));
    int result = fstat(fileno(in), &status) == 0 && S_ISDIR(status.st_mode)
                     ? err_set(EISDIR, "%s: is a directory: name a file", file)
                     : read_all(in, standard ? "standard input" : file, &bytes, &size);
    if (result == 0) {
        result = import_take(import, format, standard ? "standard input" : name, bytes, size);
        if (result < 0)
            err_prefix(result, "%s", standard ? "standard input" : file);
    }
    if (!standard)
        fclose(in);
    free(bytes);
    return result;
}

static int answer(int argc, char **argv, const struct import_format *format)
{
    struct report *report = NULL;
    struct import *import = NULL;
    int result = report_new(&report);

    if (result == 0)
        result = import_new(report, &import);
    for (int i = 0; result == 0 && i < argc; i++)
        result = take(import, format, argv[i], short_name(i, argc, argv));
    if (result == 0)
        result = import_finish(import);
    if (result == 0)
        result = report_output_write(&output, report);
    /* what was lost is told by then */
    if (result == 0 && report->op_count == 0 && report->figure_count == 0 &&
        report->verdict_count == 0)
        result = err_set(EBADMSG, "%s: nothing in it could be used", argv[0]);
    import_free(import);
    report_free(report);
    return result;
}

/* A form that has nothing to show looks like an answer. */
static int check_form(void)
{
    static const struct {
        const char *form, *needs;
    } rows[] = {{"locks", "locks are seen in running daemons and in traces"},
                {"perfetto", "of ops it keeps the sum of each stage, not when each step was"}};

    for (size_t i = 0; output.format && i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(output.format, rows[i].form) == 0)
            return err_set(EINVAL,
                           "--format %s cannot be made of imported evidence: %s; choose another "
                           "form",
                           rows[i].form, rows[i].needs);
    return 0;
}

static int run(int argc, char **argv)
{
    const struct import_format *format = NULL;
    int result = report_output_check(&output, NULL, argc, argv);

    if (result == 0)
        result = check_form();
    if (result == 0)
        result = inputs_differ(argc, argv);
    if (result < 0)
        return result;
    if (from && strcmp(from, "auto") != 0) {
        format = import_format_by_name(from);
        if (!format)
            return -EINVAL;
    }
    return answer(argc, argv, format);
}

const struct command command_import = {
    .name = "import",
    .arguments = "FILE...",
    .summary = "what OpTracker, benches, logs and other tools say",
    .text = "Reads what other tools printed, as people paste it: cut off, quoted, wrapped. Says "
            "what it shows, what is missing, and what contradicts itself. A file may hold the "
            "output of several tools; several files of one benchmark are compared. -: standard "
            "input.",
    .examples = "optrail import historic.json\twhere the ops of a dump_historic_ops spent their "
                "time\noptrail import before.txt after.txt\ttwo runs of a benchmark",
    .options = options,
    .minimum_arguments = 1,
    .maximum_arguments = -1,
    .run = run,
};
