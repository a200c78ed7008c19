/* SPDX-License-Identifier: MIT */
#include "render.h"

#include <errno.h>
#include <string.h>

#include "err.h"
#include "renderers.h"

const struct renderer renderers[] = {
    {"text", "for people: a table that fits 100 columns", render_text, false},
    {"locks", "for people: every lock that was waited for, at length", render_locks, false},
    {"json", "for programs: schema optrail.report/1", render_json, false},
    {"html", "a page with plots, in one file that needs nothing else", render_html, true},
    {"prometheus", "Prometheus' text format: histograms and counters", render_prometheus, false},
    {"otlp", "OpenTelemetry spans of the slowest ops, as JSON", render_otlp, false},
    {"perfetto", "the slowest ops as tracks of ui.perfetto.dev", render_perfetto, false},
    {"csv", "the figures as a table (RFC 4180)", render_csv, false},
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
