/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "err.h"
#include "escape.h"
#include "scale_render.h"
#include "text_out.h"
#include "units.h"

#define DEFAULT_WIDTH  100
#define SMALLEST_WIDTH 60
#define BAR_CELLS      20

static void heading(const struct scaling_series *series, FILE *out)
{
    char group[TEXT_NAME], name[TEXT_NAME];
    escape_for_terminal(series->group, group, sizeof(group));
    escape_for_terminal(series->name, name, sizeof(name));
    fprintf(out, "%s%s%s%s", group, *group && *name ? ", " : "", name, *group || *name ? "\n" : "");
}

static void point_row(const struct scaling_point *point, double highest, FILE *out)
{
    char rate[24], fitted[24] = "", latency[24] = "", in_flight[24] = "";
    unit_rate(point->rate, rate, sizeof(rate));
    if (point->fitted > 0)
        unit_rate(point->fitted, fitted, sizeof(fitted));
    if (point->latency_ns > 0) {
        unit_duration((uint64_t)point->latency_ns, latency, sizeof(latency));
        unit_rate(point->in_flight, in_flight, sizeof(in_flight));
    }
    char depth[24];
    snprintf(depth, sizeof(depth), point->depth == floor(point->depth) ? "%.0f" : "%.1f",
             point->depth);
    fprintf(out, "  %8s %12s %10s ", depth, rate, fitted);
    text_cell(out, latency, text_columns(latency), 10, 1);
    fprintf(out, " %10s%s  ", in_flight, point->against_littles ? "!" : " ");
    for (int i = 0; i < (int)lround(BAR_CELLS * point->rate / highest); i++)
        fputs("█", out);
    fputc('\n', out);
}

static void series_text(const struct scaling_series *series, int width, FILE *out)
{
    double highest = 0;
    heading(series, out);
    for (size_t i = 0; i < series->sentence_count; i++)
        text_paragraph(out, 2, width, series->sentences[i]);
    for (size_t i = 0; i < series->point_count; i++)
        highest = fmax(highest, series->points[i].rate);
    fprintf(out, "\n  %8s %12s %10s %10s %10s\n", "depth", "op/s", "fit", "latency", "in flight");
    for (size_t i = 0; i < series->point_count; i++)
        point_row(&series->points[i], highest, out);
    if (series->cause_count > 0)
        fprintf(out, "\n  %-32s %10s %12s\n", "what could be serial", "busy", "an op");
    for (size_t i = 0; i < series->cause_count; i++) {
        const struct scaling_cause *cause = &series->causes[i];
        char name[TEXT_NAME];
        snprintf(name, sizeof(name), "%s %.64s", cause->kind, cause->name);
        fputs("  ", out);
        text_name(out, name, 32);
        fprintf(out, " %8.0f %% ", 100 * cause->busy);
        text_duration(out, (uint64_t)cause->demand_ns, 12);
        fputc('\n', out);
    }
}

int render_scale_text(const struct scaling *scaling, int width, FILE *out)
{
    width = width > 0 ? width : DEFAULT_WIDTH;
    if (width < SMALLEST_WIDTH)
        width = SMALLEST_WIDTH;
    errno = 0;
    for (size_t i = 0; i < scaling->note_count; i++)
        text_paragraph(out, 0, width, scaling->notes[i]);
    for (size_t i = 0; i < scaling->series_count; i++) {
        if (i > 0 || scaling->note_count > 0)
            fputc('\n', out);
        series_text(&scaling->series[i], width, out);
    }
    if (fflush(out) == EOF || ferror(out))
        return err_set(errno ? errno : EIO, "the report cannot be written: %s",
                       strerror(errno ? errno : EIO));
    return 0;
}
