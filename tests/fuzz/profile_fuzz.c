/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis.h"
#include "profile_rows.h"
#include "render.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Writes what came out in both forms. */
static void write_all(struct analysis *analysis, const struct read_counts *counts)
{
    const struct render_options plain = {0};
    struct report *report = NULL;
    FILE *out = fopen("/dev/null", "we");

    if (!out || analysis_report(analysis, counts, NULL, &report) < 0)
        abort();
    if (renderer_by_name("json")->render(report, &plain, out) < 0 ||
        renderer_by_name("text")->render(report, &plain, out) < 0)
        abort();
    report_free(report);
    fclose(out);
}

/* The rows of a profile, without the seal that would keep a search outside: they are refused, or
 * become a report. $OPTRAIL_PATHS must name a directory of path files. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct analysis_options options = {.windows = true};
    struct profile_reader *reader = NULL;
    struct analysis *analysis = NULL;
    struct read_counts counts;
    char damage[256] = "";

    if (profile_reader_memory("rows", (const char *)data, size, false, &reader) < 0)
        return 0;
    if (analysis_new(&options, &analysis) < 0)
        abort();
    if (analysis_load(analysis, reader, &counts, damage, sizeof(damage)) == 0)
        write_all(analysis, &counts);
    analysis_free(analysis);
    profile_reader_free(reader);
    return 0;
}
