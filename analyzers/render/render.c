/* SPDX-License-Identifier: MIT */
#include "render.h"

#include <errno.h>
#include <string.h>

#include "err.h"
#include "renderers.h"

const struct renderer renderers[] = {
    {"text", "for people: a table that fits 100 columns", render_text},
    {"locks", "for people: every lock that was waited for, at length", render_locks},
    {"json", "for programs: schema optrail.report/1", render_json},
    {"prometheus", "Prometheus' text format: histograms and counters", render_prometheus},
    {"otlp", "OpenTelemetry spans of the slowest ops, as JSON", render_otlp},
    {"perfetto", "the slowest ops as tracks of ui.perfetto.dev", render_perfetto},
    {"csv", "the figures as a table (RFC 4180)", render_csv},
    {0},
};

const struct renderer *renderer_by_name(const char *name)
{
    char names[256] = "";

    for (const struct renderer *row = renderers; row->name; row++) {
        if (strcmp(row->name, name) == 0)
            return row;
        strncat(names, row == renderers ? "" : ", ", sizeof(names) - strlen(names) - 1);
        strncat(names, row->name, sizeof(names) - strlen(names) - 1);
    }
    err_set(EINVAL, "there is no format '%s': choose one of %s", name, names);
    return NULL;
}
