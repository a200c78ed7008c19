/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_REPORT_OUTPUT_H
#define OPTRAIL_REPORT_OUTPUT_H

#include "command.h"
#include "render.h"

/* Where a report goes: the options that all verbs which make one have in common. */
struct report_output {
    const char *format; /* NULL: text */
    const char *file;   /* NULL: standard output */
    const char *json;   /* a file that gets the JSON form besides; NULL: none */
    const char *save;   /* a file that gets a profile besides; NULL: none */
    bool all_locks;     /* also those that hardly anybody waits for */
    bool tails;         /* all about slow ops */
};

/* The rows of these options, for a verb's table; `output` is a struct report_output. */
#define REPORT_OUTPUT_ROWS(output)                                                                 \
    {.name = "format",                                                                             \
     .type = OPTION_STRING,                                                                        \
     .argument = "NAME",                                                                           \
     .value = &(output).format,                                                                    \
     .text = "the form of the report: text, locks, json, html, prometheus, otlp, perfetto or csv " \
             "(without it: text)"},                                                                \
        {.name = "output",                                                                         \
         .letter = 'o',                                                                            \
         .type = OPTION_STRING,                                                                    \
         .argument = "FILE",                                                                       \
         .value = &(output).file,                                                                  \
         .text = "write the report to FILE (-: to standard output)"},                              \
    {                                                                                              \
        .name = "json", .type = OPTION_STRING, .argument = "FILE", .value = &(output).json,        \
        .text = "write it as JSON to FILE besides (-: to standard output, in place of the report)" \
    }

/* Where a verb that analyses itself saves its profile, into output.save. */
#define SAVE_OPTION_ROW(output)                                                                    \
    {                                                                                              \
        .name = "save", .type = OPTION_STRING, .argument = "FILE", .value = &(output).save,        \
        .text = "save a profile to FILE besides: small, can be merged with others by `optrail "    \
                "report` and compared by `optrail diff`"                                           \
    }

/* Checks format and files before any work is done. `path` (NULL: none) and the `count` inputs are
 * read, and must not be written to. -EINVAL for wrong use; any other negative errno for a file that
 * cannot be written. */
int report_output_check(const struct report_output *output, const char *path, int count,
                        char *const *inputs);

/* Whether ops by windows of time are wanted: for the profile, or by the form. */
bool report_output_windows(const struct report_output *output);

/* Writes the report. Negative errno with the message that names the file. */
int report_output_write(const struct report_output *output, const struct report *report);

#endif
